package sources

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/worker/api"
)

// operation returns what a method does at a path, nil and the methods allowed if it does nothing.
func operation(method string, elements []string) (api.Operation, string) {
	type methods map[string]api.Operation
	var at methods
	allow := ""
	switch {
	case len(elements) == 0:
		at, allow = methods{http.MethodGet: list, http.MethodPost: create}, "GET, POST"
	case len(elements) == 1:
		at = methods{http.MethodGet: get, http.MethodPatch: update, http.MethodDelete: remove}
		allow = "GET, PATCH, DELETE"
	case len(elements) == 2 && elements[1] == "refresh":
		at, allow = methods{http.MethodPost: refresh}, "POST"
	case len(elements) == 2 && elements[1] == "tools":
		at, allow = methods{http.MethodGet: tools}, "GET"
	}
	return at[method], allow
}

func list(ctx context.Context, r api.Request) (any, error) {
	all, err := api.Call[[]props.Source](ctx, r.Stub, props.MethodSourcesList, props.SourceQuery{})
	if all == nil {
		all = []props.Source{} // an array, never null
	}
	return all, err
}

func get(ctx context.Context, r api.Request) (any, error) {
	return api.Call[props.Source](ctx, r.Stub, props.MethodSourcesGet, props.SourceQuery{ID: r.Elements[0]})
}

// authInput is how a request gives credentials.
type authInput struct {
	Kind   string `json:"kind"`
	Header string `json:"header"`
	Secret string `json:"secret"`
}

func (a *authInput) credentials() *props.SourceCredentials {
	if a == nil {
		return nil
	}
	return &props.SourceCredentials{Kind: a.Kind, Header: a.Header, Secret: a.Secret}
}

func create(ctx context.Context, r api.Request) (any, error) {
	var in struct {
		Name     *string    `json:"name"`
		Kind     *string    `json:"kind"`
		URL      string     `json:"url"`
		BaseURL  string     `json:"baseUrl"`
		Document string     `json:"document"`
		Auth     *authInput `json:"auth"`
		Enabled  *bool      `json:"enabled"`
	}
	if err := api.Decode(r.Body, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Name == nil:
		return nil, api.BadInput("name is missing")
	case in.Kind == nil:
		return nil, api.BadInput("kind is missing")
	}
	unverified, err := flag(r.Query, "unverified")
	if err != nil {
		return nil, err
	}
	c := props.SourceCreate{
		AccountID: r.Identity.AccountID, Name: *in.Name, Kind: *in.Kind, URL: in.URL, BaseURL: in.BaseURL,
		Document: in.Document, Disabled: in.Enabled != nil && !*in.Enabled, Unverified: unverified,
	}
	if a := in.Auth.credentials(); a != nil {
		c.Auth = *a
	}
	return api.Call[props.Source](ctx, r.Stub, props.MethodSourcesCreate, c)
}

func update(ctx context.Context, r api.Request) (any, error) {
	var in struct {
		Name    *string    `json:"name"`
		Enabled *bool      `json:"enabled"`
		Auth    *authInput `json:"auth"`
	}
	if err := api.Decode(r.Body, &in); err != nil {
		return nil, err
	}
	if in.Name == nil && in.Enabled == nil && in.Auth == nil {
		return nil, api.BadInput("nothing to change: set name, enabled or auth")
	}
	unverified, err := flag(r.Query, "unverified")
	if err != nil {
		return nil, err
	}
	return api.Call[props.Source](ctx, r.Stub, props.MethodSourcesUpdate, props.SourceUpdate{
		ID: r.Elements[0], Name: in.Name, Enabled: in.Enabled, Auth: in.Auth.credentials(), Unverified: unverified,
	})
}

func remove(ctx context.Context, r api.Request) (any, error) {
	return api.Call[props.SourceRemoved](ctx, r.Stub, props.MethodSourcesRemove, props.SourceQuery{ID: r.Elements[0]})
}

func refresh(ctx context.Context, r api.Request) (any, error) {
	return api.Call[props.Source](ctx, r.Stub, props.MethodSourcesRefresh, props.SourceQuery{ID: r.Elements[0]})
}

func tools(ctx context.Context, r api.Request) (any, error) {
	q := props.SourceQuery{ID: r.Elements[0]}
	var err error
	if q.Limit, err = number(r.Query, "limit"); err != nil {
		return nil, err
	}
	if q.Offset, err = number(r.Query, "offset"); err != nil {
		return nil, err
	}
	return api.Call[props.SourceToolPage](ctx, r.Stub, props.MethodSourcesTools, q)
}

// flag reads a parameter that is true when it stands alone.
func flag(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "":
		return q.Has(name), nil
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, api.BadInput("%s must be true or false", name)
}

// number reads a parameter that is a whole number, 0 if it is absent.
func number(q url.Values, name string) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, api.BadInput("%s must be a whole number, not below 0", name)
	}
	return n, nil
}
