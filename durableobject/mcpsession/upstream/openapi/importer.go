package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// Limits of an import.
const (
	// maxParameters is how many parameters an operation has.
	maxParameters = 200
	// maxResponses is how many answers an operation has, and how many media types one of those or a body.
	maxResponses = 100
	// maxNameBytes bounds a tool's name.
	maxNameBytes = 64
	// maxAddressBytes bounds what a request's path and query grow to.
	maxAddressBytes = 64 << 10
	// maxSchemasBytes bounds all schemas of arguments, and likewise all of results, with what was tried and did not fit.
	maxSchemasBytes = 16 << 20
)

// importer makes tools of a document's operations.
type importer struct {
	doc     *document
	options Options
	server  *url.URL

	tools      []upstream.Tool
	operations map[string]*operation
	skipped    []Skipped
	// names has the tools' names, each with the number of the last one that wanted it.
	names map[string]int
	// inputBytes and outputBytes are about how large the schemas so far were, with what was tried and did not fit.
	inputBytes, outputBytes int
}

// site is where an operation stands in the document.
type site struct {
	path, method string
	item, op     map[string]any
}

// label is how a site is called in Skipped.
func (s site) label() string {
	if id := text(s.op["operationId"]); id != "" {
		return cut(id, 200)
	}
	return s.method + " " + cut(s.path, 200)
}

func (im *importer) run() error {
	sites, err := im.sites()
	if err != nil {
		return err
	}
	im.operations = make(map[string]*operation, len(sites))
	for _, s := range sites {
		if err := im.add(s); err != nil {
			im.skip(s.label(), err)
		}
	}
	if len(im.tools) > 0 {
		return nil
	}
	if len(im.skipped) == 0 {
		return errors.New("the document has no operations")
	}
	first := im.skipped[0]
	return fmt.Errorf("none of the document's operations can be called; the first, %s: %s", first.Operation, first.Reason)
}

func (im *importer) skip(label string, err error) {
	im.skipped = append(im.skipped, Skipped{Operation: label, Reason: cut(err.Error(), 500)})
}

// sites lists the operations by path and method.
func (im *importer) sites() ([]site, error) {
	paths := object(im.doc.root["paths"])
	var sites []site
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		item, err := im.doc.follow(paths[path])
		if err != nil {
			im.skip(cut(path, 200), err)
		}
		for _, method := range []string{"get", "put", "post", "patch", "delete", "head", "options", "trace"} {
			if op, ok := item[method].(map[string]any); ok {
				sites = append(sites, site{path: path, method: strings.ToUpper(method), item: item, op: op})
			}
		}
		if len(sites)+len(im.skipped) > upstream.MaxTools {
			return nil, fmt.Errorf("the document has more than %d operations; cut it down to those that are wanted",
				upstream.MaxTools)
		}
	}
	return sites, nil
}

// add makes one operation a tool. Its error says why it is none.
func (im *importer) add(s site) error {
	if s.method == "OPTIONS" || s.method == "TRACE" {
		return fmt.Errorf("the method %s is not called", s.method)
	}
	server, err := im.serverOf(s)
	if err != nil {
		return err
	}
	op := &operation{method: s.method, server: server}
	if err := im.readParameters(op, s); err != nil {
		return err
	}
	if err := im.readBody(op, s); err != nil {
		return err
	}
	if im.inputBytes > maxSchemasBytes {
		return fmt.Errorf("the document's schemas are larger than %d MiB in all", maxSchemasBytes>>20)
	}
	t := newTranslator(im.doc, forArguments)
	input, err := t.build(op.argumentSchema)
	im.inputBytes += t.spent()
	if err != nil {
		return fmt.Errorf("the schema of its arguments: %w", err)
	}
	tool := upstream.Tool{Name: im.name(s), Description: describe(s), InputSchema: input, OutputSchema: im.output(s)}
	op.tool = tool.Name
	im.tools = append(im.tools, tool)
	im.operations[tool.Name] = op
	return nil
}

// serverOf returns where an operation's requests go.
func (im *importer) serverOf(s site) (*url.URL, error) {
	servers := s.op["servers"]
	if len(list(servers)) == 0 {
		servers = s.item["servers"]
	}
	if len(list(servers)) == 0 || im.options.BaseURL != "" {
		return im.server, nil
	}
	u, err := im.doc.firstServer(servers, im.options.DocumentURL)
	if err != nil {
		return nil, fmt.Errorf("its server: %w", err)
	}
	if im.options.Auth.Scheme != SchemeNone && !sameOrigin(u, im.server) {
		return nil, fmt.Errorf("its server %.200s is another origin than the source's, to which the credentials belong; "+
			"add it as a source of its own", u)
	}
	return u, nil
}

// name returns a name that is free: the operation's id or its method and path, as one identifier.
func (im *importer) name(s site) string {
	base := identifier(text(s.op["operationId"]))
	if base == "" {
		base = identifier(strings.ToLower(s.method) + "_" + s.path)
	}
	name := base
	for im.names[name] > 0 {
		im.names[base]++
		suffix := fmt.Sprintf("_%d", im.names[base])
		name = base[:min(len(base), maxNameBytes-len(suffix))] + suffix
	}
	im.names[name]++
	return name
}

// identifier makes a name of letters, digits and single underscores, not beginning with a digit.
func identifier(s string) string {
	var b strings.Builder
	for _, c := range []byte(cut(s, 4*maxNameBytes)) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9' && b.Len() > 0:
			b.WriteByte(c)
		case c >= '0' && c <= '9':
			b.WriteString("_" + string(c))
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		if b.Len() >= maxNameBytes {
			break
		}
	}
	return strings.TrimRight(cut(b.String(), maxNameBytes), "_")
}

// describe words an operation for a model, ending with its method and path.
func describe(s site) string {
	var parts []string
	if flag(s.op["deprecated"]) {
		parts = append(parts, "Deprecated.")
	}
	call := s.method + " " + cut(s.path, 500)
	for _, part := range []string{text(s.op["summary"]), text(s.op["description"])} {
		part = strings.TrimSpace(cut(part, upstream.MaxDescriptionBytes))
		if part != "" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return call
	}
	return cut(strings.Join(parts, "\n\n"), upstream.MaxDescriptionBytes-len(call)-2) + "\n\n" + call
}

// output returns the schema of the first successful answer that is JSON, nil where there is none that fits.
func (im *importer) output(s site) json.RawMessage {
	raw := im.doc.result(s.op)
	if raw == nil || im.outputBytes > maxSchemasBytes {
		return nil
	}
	t := newTranslator(im.doc, forResults)
	schema, err := t.build(func(t *translator) (map[string]any, error) { return t.asObject(raw) })
	im.outputBytes += t.spent()
	if err != nil {
		return nil // a result's schema is a hint only
	}
	return schema
}

// result returns the schema of an operation's first successful answer that is JSON.
func (d *document) result(op map[string]any) any {
	responses := object(op["responses"])
	if len(responses) > maxResponses {
		return nil
	}
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		if len(status) != 3 || status[0] != '2' {
			continue
		}
		response, err := d.follow(responses[status])
		if err != nil {
			continue
		}
		if _, media := choose(object(response["content"]), isJSON); media != nil {
			return media["schema"]
		}
	}
	return nil
}

// choose returns the first of some media types that is wanted.
func choose(content map[string]any, wanted func(mediaType string) bool) (string, map[string]any) {
	if len(content) > maxResponses {
		return "", nil
	}
	for _, mediaType := range slices.Sorted(maps.Keys(content)) {
		if wanted(mediaType) {
			return mediaType, object(content[mediaType])
		}
	}
	return "", nil
}
