package oauth

import (
	"context"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// SignIn signs in to an MCP server and returns what its tools can be used with. It waits for the person at the browser
// for five minutes at most. Errors are *upstream.Error.
func SignIn(ctx context.Context, o SignInOptions) (Credentials, error) {
	return Credentials{}, upstream.Errorf(upstream.CodeUnauthorized, "not implemented")
}

// Challenge returns the challenge that a server has refused credentials with, for SignInOptions.Challenge, or "".
func Challenge(err error) string { return "" }
