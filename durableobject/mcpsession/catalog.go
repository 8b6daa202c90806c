package mcpsession

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/google/jsonschema-go/jsonschema"
)

// Limits of discovery.
const (
	defaultSearchLimit = 20
	maxSearchLimit     = 100
	maxSuggestions     = 3
	// minSimilarity is how alike, from 0 to 1, a path must be to be suggested.
	minSimilarity = 0.5
	// maxFaultChars bounds what is said of wrong arguments, in characters.
	maxFaultChars = 2000
)

// tool is one tool that programs can call.
type tool struct {
	// Path is the property path below `tools`.
	Path string `json:"path"`
	// Description says what it does.
	Description string `json:"description"`
	// InputSchema is the JSON Schema of its argument, OutputSchema that of its data if it is known: a *jsonschema.Schema, or
	// JSON as a source wrote it.
	InputSchema  any             `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// validate checks arguments against InputSchema.
	validate func(arguments any) error
	// discovery tools read the catalog only; no policy applies to them.
	discovery bool
	// readOnly tools have no effect: a call that was cut off by the loss of its host is made again. A call of any other
	// tool is never made twice.
	readOnly bool
	// run runs it with checked arguments, outside turns, and returns the data of its result.
	run func(ctx context.Context, r *run, arguments []byte) (any, error)
}

// check checks arguments. Its error is a *toolError.
func (t *tool) check(arguments []byte) error {
	var value any
	if err := json.Unmarshal(argumentsOrEmpty(arguments), &value); err != nil {
		return invalidArguments(t.Path, "not JSON")
	}
	if err := t.validate(value); err != nil {
		return invalidArguments(t.Path, err.Error())
	}
	return nil
}

func invalidArguments(path, what string) error {
	// What is wrong may quote the arguments, and the schema with them.
	return &toolError{Code: codeInvalidArguments, Message: fmt.Sprintf("arguments of %s: %.*s", path, maxFaultChars, what)}
}

// argumentsOrEmpty returns the arguments, or an empty object where the program gave none.
func argumentsOrEmpty(arguments []byte) []byte {
	if trimmed := bytes.TrimSpace(arguments); len(trimmed) == 0 || string(trimmed) == "null" {
		return []byte("{}")
	}
	return arguments
}

// catalog is the set of tools that every program can call, fixed once made. Those of its organization's sources are found
// by the program's run.
type catalog struct {
	// byPath has all tools; listed has those that search finds, by path.
	byPath map[string]*tool
	listed []*tool
}

func newCatalog() *catalog {
	c := &catalog{byPath: map[string]*tool{}}
	for _, t := range coreTools() {
		c.add(t)
		c.listed = append(c.listed, t)
	}
	slices.SortFunc(c.listed, func(a, b *tool) int { return strings.Compare(a.Path, b.Path) })
	c.add(c.searchTool())
	c.add(c.describeTool())
	return c
}

func (c *catalog) add(t *tool) {
	t.resolve()
	c.byPath[t.Path] = t
}

// resolve makes the schema ready for check.
func (t *tool) resolve() {
	schema, ok := t.InputSchema.(*jsonschema.Schema)
	if !ok {
		panic(fmt.Sprintf("mcpsession: %s has no schema", t.Path)) // schemas are literals of this package
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("mcpsession: schema of %s: %v", t.Path, err)) // as above
	}
	t.validate = resolved.Validate
}

// suggest returns the paths that are most like an unknown one.
func (c *catalog) suggest(path string) []string {
	if len(path) > maxPatternBytes {
		return nil
	}
	type candidate struct {
		path  string
		score float64
	}
	var found []candidate
	for p := range c.byPath {
		score := levenshtein.Match(strings.ToLower(path), strings.ToLower(p), nil)
		if strings.EqualFold(lastSegment(path), lastSegment(p)) {
			score = max(score, minSimilarity)
		}
		if score >= minSimilarity {
			found = append(found, candidate{p, score})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.path, b.path))
	})
	var paths []string
	for _, f := range found[:min(len(found), maxSuggestions)] {
		paths = append(paths, f.path)
	}
	return paths
}

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// searchResult is a page of what search found.
type searchResult struct {
	Items []searchItem `json:"items"`
	// Total is how many tools match in all; NextOffset is where the next page begins, absent on the last one.
	Total      int  `json:"total"`
	NextOffset *int `json:"nextOffset,omitempty"`
}

type searchItem struct {
	Path        string `json:"path"`
	Description string `json:"description"`
}

func (c *catalog) searchTool() *tool {
	return &tool{
		Path:        "search",
		Description: "Find tools whose path or description has the words of a query.",
		discovery:   true,
		InputSchema: object(map[string]*jsonschema.Schema{
			"query": {
				Type: "string", MaxLength: jsonschema.Ptr(1000), Description: "Words to look for; empty lists all tools.",
			},
			"limit":  {Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(maxSearchLimit))},
			"offset": {Type: "integer", Minimum: jsonschema.Ptr(0.0)},
		}),
		run: func(ctx context.Context, r *run, arguments []byte) (any, error) {
			in := struct {
				Query         string
				Limit, Offset int
			}{Limit: defaultSearchLimit}
			if err := json.Unmarshal(argumentsOrEmpty(arguments), &in); err != nil {
				return nil, invalidArguments("search", "limit and offset must be integers")
			}
			return r.search(ctx, in.Query, in.Limit, in.Offset)
		},
	}
}

// search returns a page of the tools that have all words of a query.
func (c *catalog) search(query string, limit, offset int) searchResult {
	words := strings.Fields(strings.ToLower(query))
	result := searchResult{Items: []searchItem{}}
	for _, t := range c.listed {
		text := strings.ToLower(t.Path + " " + t.Description)
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		if result.Total >= offset && len(result.Items) < limit {
			result.Items = append(result.Items, searchItem{t.Path, t.Description})
		}
		result.Total++
	}
	return result
}

func (c *catalog) describeTool() *tool {
	return &tool{
		Path:        "describe.tool",
		Description: "Describe one tool: what it does and the JSON Schemas of its argument and, if known, of its data.",
		discovery:   true,
		InputSchema: object(map[string]*jsonschema.Schema{"path": {Type: "string"}}, "path"),
		run: func(ctx context.Context, r *run, arguments []byte) (any, error) {
			var in struct{ Path string }
			if err := json.Unmarshal(arguments, &in); err != nil {
				return nil, fmt.Errorf("arguments of describe.tool: %w", err)
			}
			return r.find(ctx, in.Path)
		},
	}
}

// object returns the schema of an object with these properties and no others.
func object(properties map[string]*jsonschema.Schema, required ...string) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Properties: properties, Required: required,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}
