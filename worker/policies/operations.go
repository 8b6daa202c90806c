package policies

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/worker/ingress"
)

// maxBodyBytes bounds a request's body.
const maxBodyBytes = 64 << 10

// inputError is a fault of the client's input.
type inputError struct {
	status  int
	message string
}

func (e *inputError) Error() string { return e.message }

func badInput(format string, args ...any) error {
	return &inputError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// operation returns what a method does on all policies or on one, nil and the methods allowed if it does nothing.
func operation(method string, one bool) (func(context.Context, request, []byte) (any, error), string) {
	if one {
		switch method {
		case http.MethodPatch:
			return update, ""
		case http.MethodDelete:
			return remove, ""
		}
		return nil, "PATCH, DELETE"
	}
	switch method {
	case http.MethodGet:
		return list, ""
	case http.MethodPost:
		return create, ""
	}
	return nil, "GET, POST"
}

func list(ctx context.Context, r request, _ []byte) (any, error) {
	all, err := call[[]props.Policy](ctx, r.stub, props.MethodPoliciesList, props.PolicyQuery{AccountID: r.account})
	if all == nil {
		all = []props.Policy{} // an array, never null
	}
	return all, err
}

func create(ctx context.Context, r request, body []byte) (any, error) {
	var in struct {
		Owner   *string `json:"owner"`
		Pattern *string `json:"pattern"`
		Action  *string `json:"action"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name  string
		value *string
	}{{"owner", in.Owner}, {"pattern", in.Pattern}, {"action", in.Action}} {
		if f.value == nil {
			return nil, badInput("%s is missing", f.name)
		}
	}
	return call[props.Policy](ctx, r.stub, props.MethodPoliciesCreate, props.PolicyCreate{
		AccountID: r.account, Owner: *in.Owner, Pattern: *in.Pattern, Action: *in.Action,
	})
}

func update(ctx context.Context, r request, body []byte) (any, error) {
	var in struct {
		Owner    string  `json:"owner"`
		Pattern  *string `json:"pattern"`
		Action   *string `json:"action"`
		Position *int    `json:"position"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.Pattern == nil && in.Action == nil && in.Position == nil {
		return nil, badInput("nothing to change: set pattern, action or position")
	}
	return call[props.Policy](ctx, r.stub, props.MethodPoliciesUpdate, props.PolicyUpdate{
		AccountID: r.account, ID: r.id, Owner: in.Owner, Pattern: in.Pattern, Action: in.Action, Position: in.Position,
	})
}

func remove(ctx context.Context, r request, body []byte) (any, error) {
	var in struct {
		Owner *string `json:"owner"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.Owner == nil {
		return nil, badInput("owner is missing")
	}
	return call[props.PolicyRemoved](ctx, r.stub, props.MethodPoliciesRemove, props.PolicyRemove{
		AccountID: r.account, ID: r.id, Owner: *in.Owner,
	})
}

// readBody reads a request's body, nil when its method has none.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method == http.MethodGet {
		return nil, nil
	}
	if given := r.Header.Get("Content-Type"); given != "" {
		if media, _, err := mime.ParseMediaType(given); err != nil || media != "application/json" {
			return nil, &inputError{http.StatusUnsupportedMediaType, "the content type must be application/json"}
		}
	}
	body, err := ingress.ReadBody(w, r, maxBodyBytes)
	switch {
	case errors.Is(err, ingress.ErrBodyTooLarge):
		return nil, &inputError{
			http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", maxBodyBytes),
		}
	case err != nil:
		return nil, badInput("the body ended early")
	}
	return body, nil
}

// decode reads a JSON object and refuses fields that are not known. Its errors name the field.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		if _, err := d.Token(); err != io.EOF {
			return badInput("the body has more than one JSON value")
		}
		return nil
	case errors.As(err, &wrongType) && wrongType.Field != "":
		want := typeName(wrongType.Type.Kind().String())
		return badInput("%s must be a %s, not a %s", wrongType.Field, want, wrongType.Value)
	case errors.As(err, &wrongType):
		return badInput("the body must be a JSON object")
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return badInput("unknown field %s", field)
	}
	return badInput("the body is not JSON")
}

// typeName returns JSON's name of a Go kind.
func typeName(kind string) string {
	if kind == "int" {
		return "whole number"
	}
	return kind
}
