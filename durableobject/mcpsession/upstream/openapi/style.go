package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// pair is a name and a value, not escaped.
type pair struct{ name, value string }

// primitive writes a text, number or bool. Anything else has no form in a parameter.
func primitive(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		if v {
			return "true", nil
		}
		return "false", nil
	default:
		return "", fmt.Errorf("only text, numbers and booleans can be written within it")
	}
}

// items writes the items of an array.
func items(array []any) ([]string, error) {
	texts := make([]string, 0, len(array))
	for _, item := range array {
		s, err := primitive(item)
		if err != nil {
			return nil, err
		}
		texts = append(texts, s)
	}
	return texts, nil
}

// members writes an object's members by name; those that are null are left out.
func members(o map[string]any) ([]pair, error) {
	var pairs []pair
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if o[name] == nil {
			continue
		}
		s, err := primitive(o[name])
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair{name, s})
	}
	return pairs, nil
}

// escape escapes everything but letters, digits and - . _ ~.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// verbatim is the escape of headers, which have none.
func verbatim(s string) string { return s }

// joined writes values with a separator between them: a,b for arrays; k,v or k=v for objects.
func joined(v any, separator string, explode bool, esc func(string) string) (string, error) {
	switch v := v.(type) {
	case []any:
		texts, err := items(v)
		for i := range texts {
			texts[i] = esc(texts[i])
		}
		return strings.Join(texts, separator), err
	case map[string]any:
		pairs, err := members(v)
		between := separator
		if explode {
			between = "="
		}
		texts := make([]string, 0, len(pairs))
		for _, p := range pairs {
			texts = append(texts, esc(p.name)+between+esc(p.value))
		}
		return strings.Join(texts, separator), err
	default:
		s, err := primitive(v)
		return esc(s), err
	}
}

// inPathStyle writes a value into a path, escaped.
func (p parameter) inPathStyle(v any) (string, error) {
	switch {
	case p.style == "label" && p.explode:
		s, err := joined(v, ".", true, escape)
		return "." + s, err
	case p.style == "label":
		s, err := joined(v, ",", false, escape)
		return "." + s, err
	case p.style == "matrix":
		return p.matrix(v)
	default:
		return joined(v, ",", p.explode, escape)
	}
}

func (p parameter) matrix(v any) (string, error) {
	name := ";" + escape(p.name)
	switch {
	case p.explode && list(v) != nil:
		texts, err := items(list(v))
		var b strings.Builder
		for _, s := range texts {
			b.WriteString(name + "=" + escape(s))
		}
		return b.String(), err
	case p.explode && object(v) != nil:
		s, err := joined(v, ";", true, escape)
		return ";" + s, err
	default:
		s, err := joined(v, ",", false, escape)
		return name + "=" + s, err
	}
}

// query writes a value as pairs of a query, escaped.
func (p parameter) query(v any) ([]string, error) {
	if p.style == "deepObject" && object(v) != nil {
		var out []string
		err := deep(escape(p.name), object(v), &out)
		return out, err
	}
	if p.explode && p.style != "deepObject" {
		return exploded(p.name, v)
	}
	separator := ","
	switch p.style {
	case "spaceDelimited":
		separator = "%20"
	case "pipeDelimited":
		separator = "%7C"
	}
	s, err := joined(v, separator, false, escape)
	return []string{escape(p.name) + "=" + s}, err
}

// exploded writes k=a&k=b for an array, and an object's members as if each was a parameter.
func exploded(name string, v any) ([]string, error) {
	var out []string
	switch v := v.(type) {
	case []any:
		texts, err := items(v)
		for _, s := range texts {
			out = append(out, escape(name)+"="+escape(s))
		}
		return out, err
	case map[string]any:
		pairs, err := members(v)
		for _, m := range pairs {
			out = append(out, escape(m.name)+"="+escape(m.value))
		}
		return out, err
	default:
		s, err := primitive(v)
		return append(out, escape(name)+"="+escape(s)), err
	}
}

// deep writes name[k]=v, name[k][l]=v for objects within, and repeats name[k] for the items of an array.
func deep(name string, o map[string]any, out *[]string) error {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		at := name + "%5B" + escape(key) + "%5D"
		switch v := o[key].(type) {
		case nil:
		case map[string]any:
			if err := deep(at, v, out); err != nil {
				return err
			}
		case []any:
			texts, err := items(v)
			if err != nil {
				return err
			}
			for _, s := range texts {
				*out = append(*out, at+"="+escape(s))
			}
		default:
			s, err := primitive(v)
			if err != nil {
				return err
			}
			*out = append(*out, at+"="+escape(s))
		}
	}
	return nil
}
