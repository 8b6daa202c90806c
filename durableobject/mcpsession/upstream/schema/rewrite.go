package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// Limits of a rewritten schema.
const (
	// maxWeight bounds its size: one for each schema in it, and for each value that it names or 64 bytes of one.
	maxWeight = 10_000
	// maxDepth is how deeply schemas may be nested in it.
	maxDepth = 64
	// maxSteps bounds the instructions of its patterns; those beyond are left out.
	maxSteps = 20_000
)

var errTooLarge = errors.New("the schema is too large once its references are put in place")

// rewriter puts references in place.
type rewriter struct {
	root any
	// draft7 is how older drafts read what stands beside a reference.
	draft7 bool
	// left is the weight that may still come; inside has the references that are being put in place.
	left int
	// steps is how many instructions its patterns have, compiled.
	steps  int
	depth  int
	inside map[string]bool
}

// rewrite returns a schema without references, for draft 2020-12, and what each value of the arguments may take: its
// weight, and one for each instruction of its patterns.
func rewrite(root any) (flat any, work int, err error) {
	r := &rewriter{root: root, left: maxWeight, inside: map[string]bool{}}
	if m, ok := root.(map[string]any); ok {
		draft, _ := m["$schema"].(string)
		r.draft7 = strings.Contains(draft, "draft-0")
	}
	flat, err = r.schema(root)
	return flat, maxWeight - r.left + r.steps, err
}

func (r *rewriter) schema(v any) (any, error) {
	if r.left--; r.left < 0 {
		return nil, errTooLarge
	}
	m, ok := v.(map[string]any)
	if b, isBool := v.(bool); isBool {
		return b, nil
	}
	if !ok {
		return nil, fmt.Errorf("a schema is an object or a boolean, not %T", v)
	}
	if r.depth >= maxDepth {
		return true, nil
	}
	r.depth++
	defer func() { r.depth-- }()
	ref, ok := m["$ref"].(string)
	if !ok {
		return r.keywords(m)
	}
	target, err := r.reference(ref)
	if err != nil || r.draft7 {
		return target, err
	}
	beside, err := r.keywords(m)
	if err != nil || len(beside) == 0 {
		return target, err
	}
	return map[string]any{"allOf": []any{target, beside}}, nil
}

// reference returns the schema that a reference stands for.
func (r *rewriter) reference(ref string) (any, error) {
	if r.inside[ref] {
		return true, nil
	}
	target, ok := resolve(r.root, ref)
	if !ok {
		return true, nil
	}
	r.inside[ref] = true
	defer delete(r.inside, ref)
	return r.schema(target)
}

// resolve finds what a JSON pointer in a fragment points at.
func resolve(root any, ref string) (any, bool) {
	if ref == "#" {
		return root, true
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~", "%25", "%", "%7B", "{", "%7D", "}", "%20", " ")
	for _, token := range strings.Split(pointer, "/") {
		token = unescape.Replace(token)
		switch at := root.(type) {
		case map[string]any:
			if root, ok = at[token]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			root = at[i]
		default:
			return nil, false
		}
	}
	return root, true
}

// keywords rewrites what a schema says beside a reference. What only describes is left out.
func (r *rewriter) keywords(m map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(m)) { // sorted, so that equal schemas become equal
		var err error
		switch kindOf(key) {
		case isValue:
			err = r.value(out, key, m[key])
		case isSchema:
			out[key], err = r.schema(m[key])
		case isList:
			out[key], err = r.list(m[key])
		case isMap:
			out[key], err = r.named(m[key], key == "patternProperties")
		case isOld:
			err = r.old(out, key, m)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// kind says how a keyword's value is read.
type kind int

const (
	isNothing kind = iota
	isValue
	isSchema
	isList
	isMap
	// isOld keywords meant something else in earlier drafts.
	isOld
)

func kindOf(key string) kind {
	switch key {
	case "type", "enum", "const", "multipleOf", "maximum", "minimum", "maxLength", "minLength", "pattern", "maxItems",
		"minItems", "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties", "required",
		"dependentRequired":
		return isValue
	case "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else", "unevaluatedItems",
		"unevaluatedProperties":
		return isSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return isList
	case "properties", "patternProperties", "dependentSchemas":
		return isMap
	case "items", "additionalItems", "dependencies", "exclusiveMaximum", "exclusiveMinimum":
		return isOld
	}
	return isNothing
}

func (r *rewriter) value(out map[string]any, key string, v any) error {
	if r.left -= weight(v); r.left < 0 {
		return errTooLarge
	}
	switch key {
	case "pattern":
		text, ok := v.(string)
		if !ok || !r.pattern(text) {
			return nil
		}
	case "required": // a boolean in draft 3, and in what people write
		if _, ok := v.([]any); !ok {
			return nil
		}
	}
	out[key] = v
	return nil
}

// pattern reports whether a regular expression can be used, and counts what it takes. A few bytes of one can say a
// million instructions.
func (r *rewriter) pattern(text string) bool {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return false
	}
	steps := instructions(parsed)
	if steps > maxSteps-r.steps {
		return false
	}
	r.steps += steps
	_, err = regexp.Compile(text)
	return err == nil
}

// instructions returns about how many instructions a regular expression is compiled to, at most a little over maxSteps.
func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n = min(n+instructions(sub), maxSteps+1)
	}
	if re.Op == syntax.OpRepeat {
		n = min(n*max(re.Min, re.Max, 1), maxSteps+1)
	}
	return n
}

func (r *rewriter) list(v any) (any, error) {
	in, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("a list of schemas is needed, not %T", v)
	}
	out := make([]any, len(in))
	for i := range in {
		var err error
		if out[i], err = r.schema(in[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *rewriter) named(v any, patterns bool) (any, error) {
	in, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("named schemas are needed, not %T", v)
	}
	out := make(map[string]any, len(in))
	for name, s := range in {
		if patterns {
			if !r.pattern(name) {
				continue
			}
		}
		var err error
		if out[name], err = r.schema(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// old rewrites keywords that earlier drafts read in another way.
func (r *rewriter) old(out map[string]any, key string, m map[string]any) (err error) {
	switch v := m[key].(type) {
	case []any: // items, one for each place; additionalItems are the rest
		if out["prefixItems"], err = r.list(v); err == nil && m["additionalItems"] != nil {
			out["items"], err = r.schema(m["additionalItems"])
		}
	case bool:
		bound := map[string]string{"exclusiveMaximum": "maximum", "exclusiveMinimum": "minimum"}[key]
		if bound == "" && key == "items" {
			out[key] = v
		}
		if _, ok := m[bound].(json.Number); ok && v {
			out[key] = m[bound]
		}
	case json.Number:
		out[key] = v
	case map[string]any:
		switch key {
		case "items":
			out[key], err = r.schema(v)
		case "dependencies":
			return r.dependencies(out, v)
		}
	}
	return err
}

// dependencies are names or a schema for each property.
func (r *rewriter) dependencies(out, m map[string]any) error {
	schemas, required := map[string]any{}, map[string]any{}
	for name, v := range m {
		if list, ok := v.([]any); ok {
			r.left -= weight(v)
			required[name] = list
			continue
		}
		s, err := r.schema(v)
		if err != nil {
			return err
		}
		schemas[name] = s
	}
	if len(schemas) > 0 {
		out["dependentSchemas"] = schemas
	}
	if len(required) > 0 {
		out["dependentRequired"] = required
	}
	return nil
}

// weight counts the values in v, and a long text as several.
func weight(v any) int {
	const bytes = 64
	switch v := v.(type) {
	case string:
		return 1 + len(v)/bytes
	case json.Number:
		return 1 + len(v)/bytes
	case []any:
		n := 1
		for _, e := range v {
			n += weight(e)
		}
		return n
	case map[string]any:
		n := 1
		for k, e := range v {
			n += 1 + len(k)/bytes + weight(e)
		}
		return n
	}
	return 1
}
