package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Limits of references.
const (
	// maxHops is how many are followed from one to the next.
	maxHops = 16
	// maxRefBytes bounds one.
	maxRefBytes = 1 << 10
)

// document is a parsed document of a version that is understood.
type document struct {
	root map[string]any
	// nullable says that schemas are those of 3.0, which are not quite JSON Schema; from 3.1 on they are.
	nullable bool
	// targets has what each reference was found to point at.
	targets map[string]any
	// patterns has what each regular expression was found to cost.
	patterns map[string]int
}

func newDocument(root map[string]any) (*document, error) {
	version := text(root["openapi"])
	if n, ok := root["openapi"].(interface{ String() string }); ok {
		version = n.String() // YAML makes a number of 3.1
	}
	switch {
	case version == "3.0" || strings.HasPrefix(version, "3.0."):
		return &document{root: root, nullable: true, targets: map[string]any{}, patterns: map[string]int{}}, nil
	case version == "3.1" || strings.HasPrefix(version, "3.1."):
		return &document{root: root, targets: map[string]any{}, patterns: map[string]int{}}, nil
	case root["swagger"] != nil:
		return nil, errors.New("the document is Swagger 2.0; convert it to OpenAPI 3 first, for instance with swagger2openapi")
	case version == "":
		return nil, errors.New("the document is no OpenAPI document: it has no field openapi")
	default:
		return nil, fmt.Errorf("the document is OpenAPI %.20q; 3.0 and 3.1 are understood", version)
	}
}

func (d *document) title() string { return cut(text(object(d.root["info"])["title"]), 200) }

// lookup returns what a reference within the document points at.
func (d *document) lookup(ref string) (any, error) {
	if len(ref) > maxRefBytes {
		return nil, fmt.Errorf("a reference is longer than %d bytes", maxRefBytes)
	}
	if target, ok := d.targets[ref]; ok {
		return target, nil
	}
	target, err := d.find(ref)
	if err == nil {
		d.targets[ref] = target
	}
	return target, err
}

func (d *document) find(ref string) (any, error) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, fmt.Errorf("it refers to another document, %.100q, and those are not fetched: bundle them into one", ref)
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil || pointer != "" && pointer[0] != '/' {
		return nil, fmt.Errorf("its reference %.100q is not a pointer like #/components/schemas/Name", ref)
	}
	var at any = d.root
	if pointer == "" {
		return at, nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch container := at.(type) {
		case map[string]any:
			next, ok := container[token]
			if !ok {
				return nil, fmt.Errorf("its reference %.100q points at nothing", ref)
			}
			at = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(container) {
				return nil, fmt.Errorf("its reference %.100q points at nothing", ref)
			}
			at = container[i]
		default:
			return nil, fmt.Errorf("its reference %.100q points at nothing", ref)
		}
	}
	return at, nil
}

// follow returns the object that v is or refers to.
func (d *document) follow(v any) (map[string]any, error) {
	for range maxHops {
		o, ok := v.(map[string]any)
		if !ok {
			return nil, errors.New("a part of it is not an object")
		}
		ref, ok := o["$ref"].(string)
		if !ok {
			return o, nil
		}
		var err error
		if v, err = d.lookup(ref); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("its references lead to others more than %d times", maxHops)
}

// Readers of values whose kind is not known. What is of another kind counts as absent.

func text(v any) string {
	s, _ := v.(string)
	return s
}

func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func flag(v any) bool {
	b, _ := v.(bool)
	return b
}

// cut returns at most n bytes of s, ending before a rune that would be split.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
