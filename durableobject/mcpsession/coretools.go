package mcpsession

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
)

const policiesPrefix = "executor.coreTools.policies."

type properties = map[string]*jsonschema.Schema

// coreTools returns the tools on the organization's own policies.
func coreTools() []*tool {
	return []*tool{
		{
			Path:        policiesPrefix + "list",
			Description: "List the policies that decide which tool calls run, need approval or are blocked.",
			InputSchema: object(properties{}),
			readOnly:    true,
			run:         listPoliciesTool,
		},
		{
			Path:        policiesPrefix + "create",
			Description: "Add a policy at the end of its owner's list.",
			InputSchema: object(policyProperties("owner", "pattern", "action"), "owner", "pattern", "action"),
			run: policyTool(props.MethodPoliciesCreate, func(in *props.PolicyCreate, account string) {
				in.AccountID = account
			}),
		},
		{
			Path:        policiesPrefix + "update",
			Description: "Change the pattern, the action or the position of a policy.",
			InputSchema: object(policyProperties("id", "owner", "pattern", "action", "position"), "id"),
			run: policyTool(props.MethodPoliciesUpdate, func(in *props.PolicyUpdate, account string) {
				in.AccountID = account
			}),
		},
		{
			Path:        policiesPrefix + "remove",
			Description: "Remove a policy.",
			InputSchema: object(policyProperties("id", "owner"), "id", "owner"),
			run:         removePolicyTool,
		},
	}
}

// policyProperties returns the schemas of these fields of a policy.
func policyProperties(names ...string) properties {
	all := properties{
		"id": {Type: "string", MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(100)},
		"owner": {
			Type: "string", Enum: []any{props.OwnerOrganization, props.OwnerUser},
			Description: "org: for everybody in the organization; user: for the caller alone.",
		},
		"pattern": {
			Type: "string", MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(maxPatternBytes),
			Description: `A tool id; "*" for a middle segment; a trailing ".*"; or "*" for every tool.`,
		},
		"action": {
			Type: "string", Enum: []any{props.ActionApprove, props.ActionRequireApproval, props.ActionBlock},
		},
		"position": {Type: "integer", Minimum: jsonschema.Ptr(0.0)},
	}
	some := properties{}
	for _, name := range names {
		some[name] = all[name]
	}
	return some
}

func listPoliciesTool(ctx context.Context, r *run, _ []byte) (any, error) {
	query := props.PolicyQuery{AccountID: r.owner.AccountID}
	list, err := callPolicies[[]props.Policy](ctx, r, props.MethodPoliciesList, query)
	return map[string]any{"policies": append([]props.Policy{}, list...)}, policyFailure(err)
}

func removePolicyTool(ctx context.Context, r *run, arguments []byte) (any, error) {
	var in props.PolicyRemove
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, fmt.Errorf("arguments of remove: %w", err)
	}
	in.AccountID = r.owner.AccountID
	removed, err := callPolicies[props.PolicyRemoved](ctx, r, props.MethodPoliciesRemove, in)
	return removed, policyFailure(err)
}

// policyTool returns the run function of a tool that gives one policy back. own puts the caller's account into the
// arguments, over whatever the program wrote there.
func policyTool[A any](
	method string, own func(in *A, account string),
) func(context.Context, *run, []byte) (any, error) {
	return func(ctx context.Context, r *run, arguments []byte) (any, error) {
		var in A
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", method, err)
		}
		own(&in, r.owner.AccountID)
		policy, err := callPolicies[props.Policy](ctx, r, method, in)
		return map[string]any{"policy": policy}, policyFailure(err)
	}
}

// policyFailure turns what a policies object threw into what the program sees.
func policyFailure(err error) error {
	var thrown *durableobject.Error
	if !errors.As(err, &thrown) {
		return err
	}
	switch thrown.Name {
	case props.ErrorNameInvalid:
		return &toolError{Code: codeInvalidArguments, Message: thrown.Message}
	case props.ErrorNameNotFound:
		return &toolError{Code: "policy_not_found", Message: thrown.Message}
	case props.ErrorNameLimit:
		return &toolError{Code: "limit_exceeded", Message: thrown.Message}
	}
	return err
}
