package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Limits of a document's values. A document of MaxDocumentBytes as people write them stays far below.
const (
	// maxDepth is how deeply arrays and objects nest.
	maxDepth = 128
	// maxValues is how many values a document has, each alias's target counted anew.
	maxValues = 1 << 20
	// maxMarks is how many characters of a YAML document may begin a value: what bounds the parser's memory.
	maxMarks = 400_000
)

var (
	errTooDeep  = fmt.Errorf("the document nests deeper than %d levels", maxDepth)
	errTooMany  = fmt.Errorf("the document has more than %d values, those of its aliases counted each time", maxValues)
	errNoObject = errors.New("the document is not an object")
)

// parse reads JSON or YAML as encoding/json would have it, with json.Number for numbers. Values under several aliases are
// shared, so nobody may change what it returns.
func parse(document []byte) (map[string]any, error) {
	if len(document) > MaxDocumentBytes {
		return nil, fmt.Errorf("the document is larger than %d MiB", MaxDocumentBytes>>20)
	}
	document = bytes.TrimSpace(bytes.TrimPrefix(document, []byte("\xef\xbb\xbf")))
	if !utf8.Valid(document) {
		return nil, errors.New("the document is not UTF-8")
	}
	var root any
	var err error
	if bytes.HasPrefix(document, []byte("{")) {
		root, err = parseJSON(document)
	} else {
		root, err = parseYAML(document)
	}
	if err != nil {
		return nil, err
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, errNoObject
	}
	return object, nil
}

// jsonReader builds values from tokens, counting them.
type jsonReader struct {
	dec  *json.Decoder
	left int
}

func parseJSON(document []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	r := &jsonReader{dec: dec, left: maxValues}
	root, err := r.value(0)
	if err != nil {
		if errors.Is(err, errTooDeep) || errors.Is(err, errTooMany) {
			return nil, err
		}
		return nil, fmt.Errorf("the document is not JSON at byte %d: %w", dec.InputOffset(), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the document goes on after its end")
	}
	return root, nil
}

func (r *jsonReader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if r.left--; r.left < 0 {
		return nil, errTooMany
	}
	token, err := r.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return r.object(depth)
	case json.Delim('['):
		return r.array(depth)
	}
	return token, nil
}

func (r *jsonReader) object(depth int) (any, error) {
	object := map[string]any{}
	for r.dec.More() {
		key, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errors.New("a key is not a string")
		}
		if object[name], err = r.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := r.dec.Token()
	return object, err
}

func (r *jsonReader) array(depth int) (any, error) {
	array := []any{}
	for r.dec.More() {
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := r.dec.Token()
	return array, err
}

// yamlValue is one node's value with what it counts for where an alias repeats it.
type yamlValue struct {
	value  any
	values int
	depth  int
}

// yamlReader turns nodes into values. done has the nodes with anchors; nil while such a node is being read.
type yamlReader struct{ done map[*yaml.Node]*yamlValue }

func parseYAML(document []byte) (any, error) {
	if marks(document) > maxMarks {
		return nil, errors.New("the document has too many values for YAML; give it as JSON")
	}
	var root yaml.Node
	err := yaml.Load(document, &root, yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, fmt.Errorf("the document is neither JSON nor YAML: %.300w", err)
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return nil, errNoObject
	}
	r := &yamlReader{done: map[*yaml.Node]*yamlValue{}}
	v, err := r.read(root.Content[0])
	if err != nil {
		return nil, err
	}
	return v.value, nil
}

// marks counts the characters that may begin a value.
func marks(document []byte) int {
	n := 0
	for _, c := range document {
		switch c {
		case '\n', ',', '[', '{', ':', '-', '?':
			n++
		}
	}
	return n
}

func (r *yamlReader) read(n *yaml.Node) (*yamlValue, error) {
	if n.Kind == yaml.AliasNode {
		if n.Alias == nil {
			return nil, fmt.Errorf("line %d: an alias names nothing", n.Line)
		}
		return r.read(n.Alias)
	}
	if n.Anchor == "" {
		return r.fresh(n)
	}
	v, ok := r.done[n]
	if ok && v == nil {
		return nil, fmt.Errorf("line %d: an anchor contains itself", n.Line)
	}
	if ok {
		return v, nil
	}
	r.done[n] = nil
	v, err := r.fresh(n)
	if err == nil {
		r.done[n] = v
	}
	return v, err
}

func (r *yamlReader) fresh(n *yaml.Node) (*yamlValue, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		value, err := scalar(n)
		return &yamlValue{value: value, values: 1}, err
	case yaml.SequenceNode:
		v, array := &yamlValue{values: 1}, make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			value, err := r.part(v, item)
			if err != nil {
				return nil, err
			}
			array = append(array, value)
		}
		v.value = array
		return v, nil
	case yaml.MappingNode:
		return r.mapping(n)
	default:
		return nil, fmt.Errorf("line %d: a value is not understood", n.Line)
	}
}

// part reads a value within v and counts it there.
func (r *yamlReader) part(v *yamlValue, n *yaml.Node) (any, error) {
	part, err := r.read(n)
	if err != nil {
		return nil, err
	}
	v.values += part.values
	v.depth = max(v.depth, part.depth+1)
	if v.values > maxValues {
		return nil, errTooMany
	}
	if v.depth > maxDepth {
		return nil, errTooDeep
	}
	return part.value, nil
}

func (r *yamlReader) mapping(n *yaml.Node) (*yamlValue, error) {
	v, object := &yamlValue{values: 1}, make(map[string]any, len(n.Content)/2)
	merged := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, node := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key == nil || key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: a key is not a scalar", n.Content[i].Line)
		}
		value, err := r.part(v, node)
		if err != nil {
			return nil, err
		}
		if key.ShortTag() != "!!merge" {
			object[key.Value] = value
		} else if err := merge(merged, value); err != nil {
			return nil, fmt.Errorf("line %d: %w", key.Line, err)
		}
	}
	for name, value := range merged {
		if _, own := object[name]; !own {
			object[name] = value
		}
	}
	v.value = object
	return v, nil
}

// merge adds what a key << brings: an object, or several of which the first ones count.
func merge(into map[string]any, value any) error {
	objects, several := value.([]any)
	if !several {
		objects = []any{value}
	}
	for _, each := range objects {
		object, ok := each.(map[string]any)
		if !ok {
			return errors.New("<< merges objects only")
		}
		for name, value := range object {
			if _, earlier := into[name]; !earlier {
				into[name] = value
			}
		}
	}
	return nil
}

// scalar returns a scalar as JSON knows it; what JSON has no type for (times, for instance) is its text.
func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	case "!!int", "!!float":
		return number(n)
	default:
		return n.Value, nil
	}
}

func number(n *yaml.Node) (any, error) {
	if json.Valid([]byte(n.Value)) {
		return json.Number(n.Value), nil
	}
	var f float64
	if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("line %d: %.40q is not a number that JSON has", n.Line, n.Value)
	}
	text, err := json.Marshal(f)
	return json.Number(text), err
}
