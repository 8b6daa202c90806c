package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"
)

// maxMediaTypeBytes bounds a media type.
const maxMediaTypeBytes = 200

// bodyKind is how a body's argument becomes bytes.
type bodyKind int

const (
	bodyJSON bodyKind = iota
	bodyForm
	bodyText
)

// body is how an operation's body is written.
type body struct {
	kind      bodyKind
	mediaType string
	required  bool
	// raw is the body as the document has it; schema the part of it that is its schema.
	raw    map[string]any
	schema any
	// fields has the parameters that tell how members of a form are written, of those that the document tells of.
	fields map[string]parameter
}

// baseType returns a media type without its parameters, in lower case; "" for one that is none.
func baseType(mediaType string) string {
	if len(mediaType) > maxMediaTypeBytes {
		return ""
	}
	base, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return ""
	}
	return base
}

func isJSON(mediaType string) bool {
	base := baseType(mediaType)
	return base == "application/json" || base == "text/json" ||
		strings.HasPrefix(base, "application/") && strings.HasSuffix(base, "+json")
}

func isForm(mediaType string) bool { return baseType(mediaType) == "application/x-www-form-urlencoded" }
func isText(mediaType string) bool { return baseType(mediaType) == "text/plain" }

// readBody reads an operation's body: as JSON if that is offered, else as a form, else as text.
func (im *importer) readBody(op *operation, s site) error {
	if s.op["requestBody"] == nil {
		return nil
	}
	raw, err := im.doc.follow(s.op["requestBody"])
	if err != nil {
		return fmt.Errorf("its body: %w", err)
	}
	content := object(raw["content"])
	if len(content) == 0 {
		return nil
	}
	for kind, wanted := range []func(string) bool{isJSON, isForm, isText} {
		mediaType, media := choose(content, wanted)
		if media == nil {
			continue
		}
		op.body = &body{
			kind: bodyKind(kind), mediaType: mediaType, required: flag(raw["required"]), raw: raw, schema: media["schema"],
		}
		if op.body.kind == bodyForm {
			op.body.fields, err = readFields(object(media["encoding"]))
		}
		return err
	}
	return fmt.Errorf("its body is %s; JSON, forms and plain text can be sent", mediaTypes(content))
}

// mediaTypes names some of a body's media types.
func mediaTypes(content map[string]any) string {
	if len(content) > maxResponses {
		return "of many media types, none of them plain"
	}
	names := slices.Sorted(maps.Keys(content))
	names = names[:min(len(names), 5)]
	for i := range names {
		names[i] = cut(names[i], maxWordBytes)
	}
	return strings.Join(names, ", ")
}

// readFields reads how a form's members are written.
func readFields(encoding map[string]any) (map[string]parameter, error) {
	if len(encoding) > maxParameters {
		return nil, fmt.Errorf("its body tells of more than %d fields", maxParameters)
	}
	fields := map[string]parameter{}
	for _, name := range slices.Sorted(maps.Keys(encoding)) {
		e := object(encoding[name])
		p := parameter{name: name, in: inQuery, style: text(e["style"])}
		if p.style == "" {
			p.json = isJSON(text(e["contentType"]))
			p.style = "form"
		}
		if !slices.Contains(styles(inQuery), p.style) {
			return nil, fmt.Errorf("its body's field %.100q has the style %.40q, which is not supported", name, p.style)
		}
		explode, told := e["explode"].(bool)
		p.explode = explode || !told && p.style == "form"
		fields[name] = p
	}
	return fields, nil
}

func (b *body) argumentSchema(t *translator) (map[string]any, error) {
	raw := b.schema
	if b.kind == bodyText {
		raw = map[string]any{"type": "string"}
	}
	schema, err := t.asObject(raw)
	if err != nil {
		return nil, err
	}
	schema = maps.Clone(schema)
	if b.kind == bodyForm && schema["type"] == nil && schema["$ref"] == nil {
		schema["type"] = "object"
	}
	if note := text(b.raw["description"]); note != "" && t.detail < detailPlain && t.fits(note, maxNoteBytes) {
		schema["description"] = note
	}
	return schema, nil
}

// write makes a request's body of the argument.
func (b *body) write(argument json.RawMessage) ([]byte, error) {
	if b.kind == bodyJSON {
		return argument, nil
	}
	value, err := decode(argument)
	if err != nil {
		return nil, err
	}
	if b.kind == bodyText {
		s, ok := value.(string)
		if !ok {
			return nil, errors.New("it is sent as text and must be a string")
		}
		return []byte(s), nil
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is sent as a form and must be an object")
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name] == nil {
			continue
		}
		written, err := b.field(name, fields[name])
		if err != nil {
			return nil, fmt.Errorf("its field %.100q: %w", name, err)
		}
		pairs = append(pairs, written...)
	}
	return []byte(strings.Join(pairs, "&")), nil
}

// field writes one member of a form. An object of which the document tells no style is JSON text, as OpenAPI has it.
func (b *body) field(name string, value any) ([]string, error) {
	p, told := b.fields[name]
	if !told {
		p = parameter{name: name, style: "form", explode: true, json: object(value) != nil}
	}
	if !p.json {
		return p.query(value)
	}
	encoded, err := compact(value)
	return []string{escape(name) + "=" + escape(encoded)}, err
}

// compact writes a value as JSON text.
func compact(value any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "", fmt.Errorf("write as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// decode reads JSON with its numbers as they are written.
func decode(encoded json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(encoded))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, errors.New("it is not JSON")
	}
	return value, nil
}
