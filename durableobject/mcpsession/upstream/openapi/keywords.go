package openapi

import (
	"encoding/json"
	"maps"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
)

// Limits of a schema's parts. What is longer is left out, or cut where it is text for people.
const (
	maxNoteBytes    = 1 << 10
	maxPatternBytes = 512
	maxPatternSize  = 2000
	maxLiteralBytes = 1 << 10
	maxEnumBytes    = 16 << 10
	maxWordBytes    = 100
	maxExamples     = 2
	maxKinds        = 7
)

// annotate copies what does not validate.
func (t *translator) annotate(in, out map[string]any) {
	if t.detail >= detailPlain {
		return
	}
	for _, keyword := range []string{"title", "description"} {
		if s := text(in[keyword]); s != "" {
			out[keyword] = cut(s, maxNoteBytes)
			t.left -= min(len(s), maxNoteBytes)
		}
	}
	for _, keyword := range []string{"readOnly", "writeOnly", "deprecated"} {
		if flag(in[keyword]) {
			out[keyword] = true
		}
	}
	if value, ok := in["default"]; ok && t.fits(value, maxLiteralBytes) {
		out["default"] = value
	}
	examples := list(in["examples"])
	if value, ok := in["example"]; ok {
		examples = []any{value}
	}
	examples = examples[:min(len(examples), maxExamples)]
	if len(examples) > 0 && t.fits(examples, maxLiteralBytes) {
		out["examples"] = examples
	}
}

// assert copies what validates and holds no other schema. What is not of its keyword's kind is left out, as is a pattern
// that Go's syntax does not have: a schema that accepts more is better than a tool that cannot be called.
func (t *translator) assert(in, out map[string]any) {
	for _, keyword := range []string{"format", "contentEncoding", "contentMediaType"} {
		if s := text(in[keyword]); s != "" && t.fits(s, maxWordBytes) {
			out[keyword] = s
		}
	}
	if s := text(in["pattern"]); s != "" {
		if t.pattern(s) {
			out["pattern"] = s
		} else {
			t.dropped = true
		}
	}
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		n, ok := in[keyword].(json.Number)
		if f, err := n.Float64(); ok && err == nil && len(n) <= maxWordBytes && (keyword != "multipleOf" || f > 0) {
			out[keyword] = n
		}
	}
	t.assertCounts(in, out)
	t.assertValues(in, out)
	kinds := kindsOf(in["type"])
	switch {
	case len(kinds) == 1:
		out["type"] = kinds[0]
	case len(kinds) > 1:
		out["type"] = kinds
	case in["type"] != nil:
		t.dropped = true
	}
}

func (t *translator) assertCounts(in, out map[string]any) {
	for _, keyword := range []string{
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
	} {
		if n, ok := count(in[keyword]); ok {
			out[keyword] = n
		}
	}
	if flag(in["uniqueItems"]) {
		out["uniqueItems"] = true
	}
}

func (t *translator) assertValues(in, out map[string]any) {
	if value, ok := in["const"]; ok {
		if t.fits(value, maxLiteralBytes) {
			out["const"] = value
		} else {
			t.dropped = true
		}
	}
	if enum := list(in["enum"]); len(enum) > 0 {
		if t.fits(enum, maxEnumBytes) {
			out["enum"] = enum
		} else {
			t.dropped = true
		}
	}
}

// kindsOf reads the keyword type. A name that is no kind of JSON makes it absent.
func kindsOf(v any) []any {
	names := list(v)
	if name, ok := v.(string); ok {
		names = []any{name}
	}
	var kinds []any
	for _, name := range names[:min(len(names), 2*maxKinds)] {
		switch name {
		case "null", "boolean", "object", "array", "number", "string", "integer":
			if !slices.Contains(kinds, name) {
				kinds = append(kinds, name)
			}
		default:
			return nil
		}
	}
	return kinds
}

// apply translates the schemas within a schema.
func (t *translator) apply(in, out map[string]any) error {
	for _, keyword := range []string{
		"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
		"unevaluatedProperties",
	} {
		if t.lenient && depends(keyword, in) {
			continue
		}
		switch in[keyword].(type) {
		case map[string]any, bool:
			schema, err := t.schema(in[keyword])
			if err != nil {
				return err
			}
			out[keyword] = schema
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		var schemas []any
		for _, raw := range list(in[keyword]) {
			schema, err := t.schema(raw)
			if err != nil {
				return err
			}
			schemas = append(schemas, schema)
			if t.left < 0 {
				break
			}
		}
		if len(schemas) > 0 {
			t.combine(keyword, schemas, out)
		}
	}
	for _, keyword := range []string{"properties", "patternProperties", "dependentSchemas"} {
		if err := t.applyNamed(keyword, in, out); err != nil {
			return err
		}
	}
	return nil
}

// depends says whether a keyword of a schema refuses what a schema within or beside it does not refuse or name.
func depends(keyword string, in map[string]any) bool {
	switch keyword {
	case "not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems":
		return true
	case "additionalProperties":
		return in["patternProperties"] != nil
	}
	return false
}

// combine puts alternatives in place, exclusive ones only where they are as exact as the document's.
func (t *translator) combine(keyword string, schemas []any, out map[string]any) {
	if keyword != "oneOf" || !t.lenient {
		out[keyword] = schemas
		return
	}
	alternatives := map[string]any{"anyOf": schemas}
	all, _ := out["allOf"].([]any)
	out["allOf"] = append(all, alternatives)
}

// applyNamed translates schemas by name.
func (t *translator) applyNamed(keyword string, in, out map[string]any) error {
	named := object(in[keyword])
	if t.left -= schemaCost * len(named); t.left < 0 {
		return nil
	}
	schemas := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if keyword == "properties" && t.hidden(named[name]) {
			continue
		}
		if keyword == "patternProperties" && !t.pattern(name) {
			t.dropped = true
			continue
		}
		schema, err := t.schema(named[name])
		if err != nil {
			return err
		}
		schemas[name] = schema
		if t.left -= len(name); t.left < 0 {
			break
		}
	}
	if len(schemas) > 0 {
		out[keyword] = schemas
	}
	return nil
}

// require copies the names of required properties, less those that are left out.
func (t *translator) require(in, out map[string]any) {
	properties := object(in["properties"])
	if names := t.required(in["required"], properties); len(names) > 0 {
		out["required"] = names
	}
	raw := object(in["dependentRequired"])
	if !t.fits(raw, maxEnumBytes) {
		return
	}
	dependent := map[string]any{}
	for name, raw := range raw {
		if names := t.required(raw, properties); len(names) > 0 {
			dependent[name] = names
		}
	}
	if len(dependent) > 0 {
		out["dependentRequired"] = dependent
	}
}

func (t *translator) required(raw any, properties map[string]any) []any {
	if !t.fits(raw, maxEnumBytes) {
		return nil
	}
	var names []any
	seen := map[string]bool{}
	for _, v := range list(raw) {
		name, ok := v.(string)
		if !ok || seen[name] || t.hidden(properties[name]) {
			continue
		}
		seen[name] = true
		names = append(names, name)
	}
	return names
}

// pattern says whether a regular expression is one that validators of this program take and is cheap to compile. If so it
// counts it.
func (t *translator) pattern(s string) bool {
	if t.left -= schemaCost; len(s) > maxPatternBytes {
		return false
	}
	cost, known := t.doc.patterns[s]
	if !known {
		cost = maxPatternSize + 1
		if parsed, err := syntax.Parse(s, syntax.Perl); err == nil {
			cost = size(parsed)
		}
		t.doc.patterns[s] = cost
	}
	if cost > maxPatternSize {
		return false
	}
	t.left -= len(s) + cost
	return true
}

// size is about how many instructions an expression compiles to, repetitions written out.
func size(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n = min(n+size(sub), 2*maxPatternSize)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 2*maxPatternSize)
}

// count reads a whole number from 0.
func count(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok || len(n) > maxWordBytes {
		return 0, false
	}
	if i, err := strconv.Atoi(string(n)); err == nil {
		return i, i >= 0
	}
	f, err := n.Float64()
	if err != nil || f < 0 || f >= 1<<31 || f != math.Trunc(f) {
		return 0, false
	}
	return int(f), true
}

// fits says whether a value is at most about this long in JSON, and counts it if so. It reads no more than that much of it.
func (t *translator) fits(v any, limit int) bool {
	left := room(v, limit)
	if left < 0 {
		return false
	}
	t.left -= limit - left
	return true
}

// room returns what is left of limit after v.
func room(v any, limit int) int {
	if limit -= 1; limit < 0 {
		return limit
	}
	switch v := v.(type) {
	case string:
		return limit - len(v) - 2
	case json.Number:
		return limit - len(v)
	case []any:
		for _, item := range v {
			if limit = room(item, limit); limit < 0 {
				return limit
			}
		}
	case map[string]any:
		for name, item := range v {
			if limit = room(item, limit-len(name)-3); limit < 0 {
				return limit
			}
		}
	default:
		return limit - 4
	}
	return limit
}
