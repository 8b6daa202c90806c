package policies

import (
	"context"
	"net/http"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/worker/api"
)

// operation returns what a method does on all policies or on one, nil and the methods allowed if it does nothing.
func operation(method string, elements []string) (api.Operation, string) {
	switch len(elements) {
	case 0:
		switch method {
		case http.MethodGet:
			return list, ""
		case http.MethodPost:
			return create, ""
		}
		return nil, "GET, POST"
	case 1:
		switch method {
		case http.MethodPatch:
			return update, ""
		case http.MethodDelete:
			return remove, ""
		}
		return nil, "PATCH, DELETE"
	}
	return nil, ""
}

func list(ctx context.Context, r api.Request) (any, error) {
	all, err := api.Call[[]props.Policy](ctx, r.Stub, props.MethodPoliciesList,
		props.PolicyQuery{AccountID: r.Identity.AccountID})
	if all == nil {
		all = []props.Policy{} // an array, never null
	}
	return all, err
}

func create(ctx context.Context, r api.Request) (any, error) {
	var in struct {
		Owner   *string `json:"owner"`
		Pattern *string `json:"pattern"`
		Action  *string `json:"action"`
	}
	if err := api.Decode(r.Body, &in); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name  string
		value *string
	}{{"owner", in.Owner}, {"pattern", in.Pattern}, {"action", in.Action}} {
		if f.value == nil {
			return nil, api.BadInput("%s is missing", f.name)
		}
	}
	return api.Call[props.Policy](ctx, r.Stub, props.MethodPoliciesCreate, props.PolicyCreate{
		AccountID: r.Identity.AccountID, Owner: *in.Owner, Pattern: *in.Pattern, Action: *in.Action,
	})
}

func update(ctx context.Context, r api.Request) (any, error) {
	var in struct {
		Owner    string  `json:"owner"`
		Pattern  *string `json:"pattern"`
		Action   *string `json:"action"`
		Position *int    `json:"position"`
	}
	if err := api.Decode(r.Body, &in); err != nil {
		return nil, err
	}
	if in.Pattern == nil && in.Action == nil && in.Position == nil {
		return nil, api.BadInput("nothing to change: set pattern, action or position")
	}
	return api.Call[props.Policy](ctx, r.Stub, props.MethodPoliciesUpdate, props.PolicyUpdate{
		AccountID: r.Identity.AccountID, ID: r.Elements[0], Owner: in.Owner, Pattern: in.Pattern, Action: in.Action,
		Position: in.Position,
	})
}

func remove(ctx context.Context, r api.Request) (any, error) {
	var in struct {
		Owner *string `json:"owner"`
	}
	if err := api.Decode(r.Body, &in); err != nil {
		return nil, err
	}
	if in.Owner == nil {
		return nil, api.BadInput("owner is missing")
	}
	return api.Call[props.PolicyRemoved](ctx, r.Stub, props.MethodPoliciesRemove, props.PolicyRemove{
		AccountID: r.Identity.AccountID, ID: r.Elements[0], Owner: *in.Owner,
	})
}
