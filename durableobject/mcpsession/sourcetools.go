package mcpsession

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/proto/props"
)

// maxLookedUp is how many tools of sources a program's run remembers.
const maxLookedUp = 256

// lookedUp remembers the tools of sources that one program has asked for. A program that asks for none costs nothing.
type lookedUp struct {
	// mu guards tools.
	mu    sync.Mutex
	tools map[string]*tool
}

func (l *lookedUp) get(path string) *tool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools[path]
}

func (l *lookedUp) add(t *tool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tools) >= maxLookedUp || l.tools == nil {
		l.tools = map[string]*tool{}
	}
	l.tools[t.Path] = t
}

// find returns the tool with this path: one of every program's, or one of the organization's sources. Its errors are
// *toolError, with suggestions where there is no such tool.
func (r *run) find(ctx context.Context, path string) (*tool, error) {
	catalog := r.e.env.catalog
	if t, ok := catalog.byPath[path]; ok {
		return t, nil
	}
	if t := r.lookedUp.get(path); t != nil {
		return t, nil
	}
	var found props.SourceFound
	if mayBeSources(path) {
		var err error
		if found, err = callSources[props.SourceFound](ctx, r, props.MethodSourcesLookup, props.SourceLookup{Path: path}); err != nil {
			return nil, err
		}
	}
	if found.Tool == nil {
		suggestions := append(found.Suggestions, catalog.suggest(path)...)
		return nil, &toolError{
			Code: codeNotFound, Message: fmt.Sprintf("there is no tool %.200q", path),
			Suggestions: suggestions[:min(len(suggestions), maxSuggestions)],
		}
	}
	t := r.sourceTool(found.Tool)
	r.lookedUp.add(t)
	return t, nil
}

// mayBeSources reports whether a path may be a tool of a source.
func mayBeSources(path string) bool {
	first, rest, _ := strings.Cut(path, ".")
	return len(path) <= maxPatternBytes && first != "" && rest != "" && first != "executor" && first != "describe"
}

// sourceTool returns a tool of a source. A schema that cannot be checked leaves the judgement to the source.
func (r *run) sourceTool(t *props.SourceTool) *tool {
	schema, err := r.e.env.schemas.Compile(t.InputSchema)
	if err != nil {
		r.e.env.Log.Debug("schema of a source's tool not checked", "tool", t.Path, "err", err)
	}
	return &tool{
		Path: t.Path, Description: t.Description, InputSchema: json.RawMessage(t.InputSchema),
		OutputSchema: t.OutputSchema, validate: schema.Check,
		run: func(ctx context.Context, r *run, arguments []byte) (any, error) {
			return r.callSource(ctx, t.Path, arguments)
		},
	}
}

// callSource calls a tool of a source.
func (r *run) callSource(ctx context.Context, path string, arguments []byte) (any, error) {
	result, err := callSources[props.SourceResult](ctx, r, props.MethodSourcesCall,
		props.SourceCall{Path: path, Arguments: argumentsOrEmpty(arguments)})
	switch {
	case err != nil:
		return nil, err
	case result.Error != nil:
		return nil, &toolError{Code: result.Error.Code, Message: result.Error.Message, Details: result.Error.Details}
	}
	return json.RawMessage(result.Data), nil
}

// search returns a page of the tools that a program can call: those of every program first.
func (r *run) search(ctx context.Context, query string, limit, offset int) (searchResult, error) {
	result := r.e.env.catalog.search(query, limit, offset)
	found, err := callSources[props.SourceToolPage](ctx, r, props.MethodSourcesSearch, props.SourceSearch{
		Query: query, Limit: limit - len(result.Items), Offset: max(0, offset-result.Total),
	})
	if err != nil {
		return searchResult{}, err
	}
	for _, i := range found.Items {
		result.Items = append(result.Items, searchItem{i.Path, i.Description})
	}
	result.Total += found.Total
	if next := offset + len(result.Items); next < result.Total && len(result.Items) > 0 {
		result.NextOffset = &next
	}
	return result, nil
}

// callSources runs a method of the organization's sources object, from outside a turn. Its error is a *toolError, or the
// cause of ctx's end.
func callSources[R any](ctx context.Context, r *run, method string, arg any) (R, error) {
	stub := r.e.state.Namespace(props.NamespaceSources).GetByName(r.owner.OrganizationID)
	result, err := durableobject.Call[R](ctx, stub.WithProps(r.owner.Encode()), method, arg)
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	r.e.env.Log.Warn("sources not available", "object_id", r.e.state.ID().String(), "method", method, "err", err)
	message := "the organization's sources of tools cannot be reached at the moment"
	if method == props.MethodSourcesCall {
		message += "; the call may have taken effect"
	}
	return result, &toolError{Code: upstream.CodeUnavailable, Message: message}
}
