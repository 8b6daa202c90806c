package mcpclient

import (
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// maxChallengeBytes bounds the challenge that an error keeps.
const maxChallengeBytes = 4 << 10

// Unauthorized words a refusal with status 401 or 403. Its details hold the server's challenge (WWW-Authenticate), with
// which a new sign-in can ask for what was missing: {"challenge": "Bearer …"}.
func Unauthorized(status int, challenge string) *upstream.Error {
	kind, scope := Refusal(challenge)
	var e *upstream.Error
	switch {
	case kind == "insufficient_scope" && scope != "":
		e = upstream.Errorf(upstream.CodeUnauthorized,
			"the source's credentials do not cover this; sign in again for the scope %q", clip(scope, maxNameBytes))
	case kind == "insufficient_scope":
		e = upstream.Errorf(upstream.CodeUnauthorized, "the source's credentials do not cover this; sign in again")
	case status == http.StatusForbidden:
		e = upstream.Errorf(upstream.CodeUnauthorized, "the source forbids this to its credentials (status 403)")
	default:
		e = upstream.Errorf(upstream.CodeUnauthorized,
			"the source wants credentials, or others than it has; renew them or sign in again")
	}
	if challenge != "" && len(challenge) <= maxChallengeBytes {
		if data, err := json.Marshal(map[string]string{"challenge": challenge}); err == nil {
			e.Details = data
		}
	}
	return e
}

// Refusal returns what a bearer challenge says: its error, such as insufficient_scope, and the scope that it asks for.
func Refusal(challenge string) (kind, scope string) {
	challenges, err := oauthex.ParseWWWAuthenticate([]string{challenge})
	if err != nil {
		return "", ""
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" {
			return c.Params["error"], c.Params["scope"]
		}
	}
	return "", ""
}
