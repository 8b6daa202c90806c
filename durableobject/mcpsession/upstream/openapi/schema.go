package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// schemaCost is what one schema counts for, beside its texts, against upstream.MaxSchemaBytes.
const schemaCost = 16

// Whose schema it is: what a server alone sets is no argument, and what it never tells is no result.
type direction string

const (
	forArguments direction = "readOnly"
	forResults   direction = "writeOnly"
)

// detail is how much of a schema is kept.
type detail int

const (
	// detailAll keeps all.
	detailAll detail = iota
	// detailPlain drops what does not validate: descriptions, examples, defaults.
	detailPlain
	// detailCut also replaces what is referred to, and does not fit, by the schema that all fits.
	detailCut
)

// errTooLarge says that a schema does not fit at this detail.
var errTooLarge = fmt.Errorf("it is larger than %d KiB", upstream.MaxSchemaBytes>>10)

// translator makes one JSON Schema 2020-12 of one or more of a document's schemas. What those refer to goes below $defs, once
// each, so that recursion is no special case; the nearest to the root come first, so that a cut costs the farthest.
type translator struct {
	doc *document
	// hide is the keyword whose properties are left out.
	hide   direction
	detail detail
	// left is how many more bytes may be made, roughly; below 0 nothing more is translated. It bounds the work, since a small
	// document can stand for a large schema.
	left int
	// work is how many schemas were begun; each is at most about upstream.MaxSchemaBytes of work.
	work int
	// dropped says that a schema accepts more than the document's; lenient that it may, so nothing depends on what a schema
	// within does not accept: not and if are left out, and oneOf is anyOf.
	dropped, lenient bool
	// names has the name below $defs of each reference; taken has the names; queue has the references to translate.
	names map[string]string
	taken map[string]bool
	queue []string
	// reserved is how many bytes $defs has if it is cut to nothing but names.
	reserved int
}

func newTranslator(doc *document, hide direction) *translator {
	return &translator{doc: doc, hide: hide, detail: detailAll}
}

// build makes the schema whose root compose makes, in as much detail as fits.
func (t *translator) build(compose func(*translator) (map[string]any, error)) (json.RawMessage, error) {
	for {
		schema, err := t.assemble(compose)
		switch {
		case err == nil && (!t.dropped || t.lenient):
			return schema, nil
		case err == nil:
			t.lenient = true
		case errors.Is(err, errTooLarge) && t.detail < detailCut:
			t.detail++
			t.lenient = t.lenient || t.detail == detailCut
		default:
			return nil, err
		}
	}
}

func (t *translator) assemble(compose func(*translator) (map[string]any, error)) (json.RawMessage, error) {
	t.work++
	t.reserved = len(`{"$defs":{}}`)
	t.left, t.dropped = upstream.MaxSchemaBytes, false
	t.names, t.taken, t.queue = map[string]string{}, map[string]bool{}, nil
	root, err := compose(t)
	if err != nil {
		return nil, err
	}
	size, err := t.sizeOf(root)
	if err != nil {
		return nil, err
	}
	defs := map[string]any{}
	for i := 0; i < len(t.queue); i++ {
		ref := t.queue[i]
		raw, err := t.doc.lookup(ref)
		if err != nil {
			return nil, err
		}
		name, def := t.names[ref], any(true)
		if t.left >= 0 {
			if def, err = t.schema(raw); err != nil {
				return nil, err
			}
		}
		n, err := t.sizeOf(def)
		if err != nil || size+n > upstream.MaxSchemaBytes-t.reserved {
			if t.detail < detailCut {
				return nil, errTooLarge
			}
			def, n = true, len("true")
		}
		size += n
		defs[name] = def
	}
	if len(defs) > 0 {
		root["$defs"] = defs
	}
	schema, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("marshal a schema: %w", err)
	}
	if len(schema) > upstream.MaxSchemaBytes || t.left < 0 && t.detail < detailCut {
		return nil, errTooLarge
	}
	return schema, nil
}

// sizeOf returns how long a translated schema is.
func (t *translator) sizeOf(schema any) (int, error) {
	encoded, err := json.Marshal(schema)
	if err != nil {
		return 0, fmt.Errorf("marshal a schema: %w", err)
	}
	if len(encoded) > upstream.MaxSchemaBytes {
		return 0, errTooLarge
	}
	return len(encoded), nil
}

// spent is about how many bytes were made, those of schemas that did not fit included.
func (t *translator) spent() int {
	return t.work*upstream.MaxSchemaBytes - max(t.left, 0)
}

// asObject translates a schema and returns it as an object, where true would do.
func (t *translator) asObject(raw any) (map[string]any, error) {
	schema, err := t.schema(raw)
	if err != nil {
		return nil, err
	}
	switch s := schema.(type) {
	case map[string]any:
		return s, nil
	case bool:
		if !s {
			return map[string]any{"not": map[string]any{}}, nil
		}
	}
	return map[string]any{}, nil
}

// schema translates one schema: an object, or a bool.
func (t *translator) schema(raw any) (any, error) {
	if t.left -= schemaCost; t.left < 0 {
		return true, nil
	}
	if b, ok := raw.(bool); ok {
		return b, nil
	}
	in, ok := raw.(map[string]any)
	if !ok {
		return true, nil
	}
	out := map[string]any{}
	if ref, ok := in["$ref"].(string); ok {
		name, err := t.define(ref)
		if err != nil {
			return nil, err
		}
		out["$ref"] = "#/$defs/" + name
		if t.doc.nullable {
			t.annotate(in, out) // 3.0 ignores what stands beside a reference; its description is useful all the same
			return out, nil
		}
	}
	t.annotate(in, out)
	t.assert(in, out)
	if err := t.apply(in, out); err != nil {
		return nil, err
	}
	t.require(in, out)
	if t.doc.nullable {
		return modernize(in, out), nil
	}
	return out, nil
}

// define gives what a reference points at a name below $defs.
func (t *translator) define(ref string) (string, error) {
	if _, err := t.doc.lookup(ref); err != nil {
		return "", err
	}
	if name, ok := t.names[ref]; ok {
		return name, nil
	}
	base := identifier(ref[strings.LastIndexByte(ref, '/')+1:])
	if base == "" {
		base = "schema"
	}
	name := base
	for n := len(t.taken) + 1; t.taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	t.left -= len(name)
	t.reserved += len(name) + len(`"":true,`)
	t.names[ref], t.taken[name] = name, true
	t.queue = append(t.queue, ref)
	return name, nil
}

// hidden says whether a property is left out in this direction.
func (t *translator) hidden(property any) bool {
	o := object(property)
	if flag(o[string(t.hide)]) {
		return true
	}
	ref, ok := o["$ref"].(string)
	if !ok {
		return false
	}
	target, err := t.doc.lookup(ref)
	return err == nil && flag(object(target)[string(t.hide)])
}

// modernize turns what 3.0 says otherwise than JSON Schema into the latter.
func modernize(in, out map[string]any) any {
	for keyword, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if flag(in[keyword]) && out[limit] != nil {
			out[keyword] = out[limit]
			delete(out, limit)
		}
	}
	if !flag(in["nullable"]) {
		return out
	}
	if enum := list(out["enum"]); enum != nil && !slices.Contains(enum, nil) {
		out["enum"] = append(append([]any{}, enum...), nil)
	}
	if name, ok := out["type"].(string); ok {
		out["type"] = []any{name, "null"}
		return out
	}
	for _, combined := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
		if out[combined] != nil {
			return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
		}
	}
	return out
}
