package openapi

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Where parameters go.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inCookie = "cookie"
)

// bodyArgument is the argument that holds a request's body.
const bodyArgument = "body"

// operation is how one tool is called.
type operation struct {
	// tool is the tool's name.
	tool, method string
	// server is where requests go, and path what follows there, a template.
	server     *url.URL
	path       string
	parameters []parameter
	// body is nil where requests have none.
	body *body
}

// parameter is one parameter of an operation.
type parameter struct {
	// argument is the name of the tool's argument, unique; name is the one on the wire.
	argument, name, in string
	style              string
	explode, required  bool
	// json says that the value is sent as JSON text.
	json bool
	// raw is the parameter as the document has it; schema the part of it that is its schema.
	raw    map[string]any
	schema any
}

// styles are the ways of writing a parameter that each place has; the first is the default.
func styles(in string) []string {
	switch in {
	case inPath:
		return []string{"simple", "label", "matrix"}
	case inQuery:
		return []string{"form", "spaceDelimited", "pipeDelimited", "deepObject"}
	case inHeader:
		return []string{"simple"}
	case inCookie:
		return []string{"form"}
	default:
		return nil
	}
}

// ownHeader says whether a header is the client's to set, or forges the connection.
func ownHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Content-Type", "Authorization", "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade",
		"Te", "Trailer", "Keep-Alive", "Expect", "Accept-Encoding", "User-Agent", "Cookie", "Referer", "Origin":
		return true
	}
	return strings.HasPrefix(http.CanonicalHeaderKey(name), "Proxy-")
}

// readParameters reads an operation's parameters and its path.
func (im *importer) readParameters(op *operation, s site) error {
	raw, err := im.parametersOf(s)
	if err != nil {
		return err
	}
	for _, r := range raw {
		p, err := readParameter(r)
		if err != nil {
			return err
		}
		if p.in == inHeader && ownHeader(p.name) || im.options.Auth.covers(p.in, p.name) {
			continue
		}
		op.parameters = append(op.parameters, p)
	}
	if err := op.readPath(s.path); err != nil {
		return err
	}
	op.nameArguments()
	return nil
}

// parametersOf returns the parameters of an operation and those of its path that it does not replace.
func (im *importer) parametersOf(s site) ([]map[string]any, error) {
	var all []map[string]any
	at := map[[2]string]int{}
	for _, raw := range slices.Concat(first(s.item["parameters"]), first(s.op["parameters"])) {
		p, err := im.doc.follow(raw)
		if err != nil {
			return nil, fmt.Errorf("a parameter: %w", err)
		}
		key := [2]string{text(p["in"]), text(p["name"])}
		if i, replaces := at[key]; replaces {
			all[i] = p
			continue
		}
		at[key] = len(all)
		all = append(all, p)
	}
	if len(all) > maxParameters {
		return nil, fmt.Errorf("it has more than %d parameters", maxParameters)
	}
	return all, nil
}

// first returns one more of a list's items than are allowed, so that a longer one is seen to be too long.
func first(v any) []any {
	l := list(v)
	return l[:min(len(l), maxParameters+1)]
}

func readParameter(raw map[string]any) (parameter, error) {
	p := parameter{name: text(raw["name"]), in: text(raw["in"]), required: flag(raw["required"]), raw: raw}
	allowed := styles(p.in)
	if p.name == "" || len(p.name) > maxWordBytes || allowed == nil {
		return p, fmt.Errorf("a parameter %.100q in %.20q is not one that OpenAPI has", p.name, p.in)
	}
	if p.in == inHeader && !httpguts.ValidHeaderFieldName(p.name) || p.in == inCookie && !httpguts.ValidHeaderFieldName(p.name) {
		return p, fmt.Errorf("its parameter %.100q cannot be the name of a %s", p.name, p.in)
	}
	p.schema = raw["schema"]
	if content := object(raw["content"]); content != nil {
		_, media := choose(content, isJSON)
		if len(content) != 1 || media == nil {
			return p, fmt.Errorf("its parameter %.100q has another media type than JSON", p.name)
		}
		p.json, p.schema = true, media["schema"]
	}
	if p.style = text(raw["style"]); p.style == "" {
		p.style = allowed[0]
	}
	if !slices.Contains(allowed, p.style) {
		return p, fmt.Errorf("its parameter %.100q has the style %.40q, which is not supported in %s", p.name, p.style, p.in)
	}
	explode, told := raw["explode"].(bool)
	p.explode = explode || !told && p.style == "form"
	p.required = p.required || p.in == inPath
	return p, nil
}

// readPath checks a path and keeps the path's parameters that are in it. One that is in it and nowhere described is text.
func (op *operation) readPath(path string) error {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#\\") || len(path) > maxAddressBytes {
		return errors.New("its path does not begin with /, or has a query")
	}
	within := map[string]bool{}
	var undescribed []string
	plain, err := expand(path, func(name string) (string, error) {
		if name == "" || len(name) > maxWordBytes {
			return "", errors.New("a {} names nothing")
		}
		described := slices.ContainsFunc(op.parameters, func(p parameter) bool { return p.in == inPath && p.name == name })
		if !described && !within[name] {
			undescribed = append(undescribed, name)
		}
		within[name] = true
		return "x", nil
	})
	if err != nil {
		return fmt.Errorf("its path: %w", err)
	}
	if len(within) > maxParameters {
		return fmt.Errorf("its path has more than %d parameters", maxParameters)
	}
	// EscapedPath keeps a path only if it is escaped well. Were it to escape it anew, an argument's %2F would become a slash.
	u, err := url.Parse(plain)
	if err != nil || u.EscapedPath() != plain || slices.ContainsFunc(strings.Split(u.Path, "/"), dots) {
		return errors.New("its path is not one that a URL can have, or holds . or ..")
	}
	op.path = path
	op.parameters = slices.DeleteFunc(op.parameters, func(p parameter) bool { return p.in == inPath && !within[p.name] })
	for _, name := range undescribed {
		op.parameters = append(op.parameters, parameter{
			name: name, in: inPath, style: "simple", required: true, schema: map[string]any{"type": "string"},
		})
	}
	return nil
}

// nameArguments gives each parameter an argument: its own name, or with its place before it where a parameter of an earlier
// place or the body has that.
func (op *operation) nameArguments() {
	rank := func(p parameter) int { return slices.Index([]string{inPath, inQuery, inHeader, inCookie}, p.in) }
	slices.SortStableFunc(op.parameters, func(a, b parameter) int { return rank(a) - rank(b) })
	taken := map[string]bool{bodyArgument: true}
	for i := range op.parameters {
		p := &op.parameters[i]
		name := p.name
		for n := 0; taken[name]; n++ {
			name = p.in + strings.Repeat("_", n+1) + p.name
		}
		p.argument, taken[name] = name, true
	}
}

// argumentSchema makes the schema of a tool's argument.
func (op *operation) argumentSchema(t *translator) (map[string]any, error) {
	properties, required := map[string]any{}, []string(nil)
	for _, p := range op.parameters {
		schema, err := p.argumentSchema(t)
		if err != nil {
			return nil, fmt.Errorf("parameter %.100q: %w", p.name, err)
		}
		properties[p.argument] = schema
		if p.required {
			required = append(required, p.argument)
		}
	}
	if op.body != nil {
		schema, err := op.body.argumentSchema(t)
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		properties[bodyArgument] = schema
		if op.body.required {
			required = append(required, bodyArgument)
		}
	}
	root := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		root["required"] = required
	}
	return root, nil
}

func (p parameter) argumentSchema(t *translator) (map[string]any, error) {
	schema, err := t.asObject(p.schema)
	if err != nil {
		return nil, err
	}
	notes := map[string]any{}
	t.annotate(p.raw, notes)
	delete(notes, "examples")
	schema = maps.Clone(schema)
	maps.Copy(schema, notes)
	return schema, nil
}
