package auth

import (
	"net/http"
	"time"

	"github.com/tandem-do/tandem/proto/props"
)

// Outcome is how the authentication of a request ended.
type Outcome uint8

// The outcomes.
const (
	// OutcomeNoBearer: there is no bearer token.
	OutcomeNoBearer Outcome = iota
	// OutcomeInvalidToken: there is one, and it is not good here.
	OutcomeInvalidToken
	// OutcomeKeysUnavailable: it cannot be told, since the issuer's keys cannot be had.
	OutcomeKeysUnavailable
	// OutcomeNoOrganization: the account names no organization or is not a member of the one it names.
	OutcomeNoOrganization
	// OutcomeDirectoryUnavailable: membership cannot be told.
	OutcomeDirectoryUnavailable
	// OutcomeVerified: the identity is known.
	OutcomeVerified
)

// String returns the outcome as spans show it.
func (o Outcome) String() string {
	switch o {
	case OutcomeNoBearer:
		return "no_bearer"
	case OutcomeInvalidToken:
		return "invalid_token"
	case OutcomeKeysUnavailable:
		return "keys_unavailable"
	case OutcomeNoOrganization:
		return "no_organization"
	case OutcomeDirectoryUnavailable:
		return "directory_unavailable"
	case OutcomeVerified:
		return "verified"
	}
	return "unknown"
}

// Verdict is what Gate.Identify finds.
type Verdict struct {
	// Outcome is the verdict itself.
	Outcome Outcome
	// AccountID and OrganizationID are what a verified token says, also when the directory then refuses it.
	AccountID, OrganizationID string
	// Identity is set with OutcomeVerified.
	Identity props.Identity
	// Description says to the client what is wrong with its token.
	Description string
	// Err is the cause of a refusal or an outage, for the span; nil with OutcomeVerified and OutcomeNoBearer.
	Err error
}

// HasBearer reports whether the request has a bearer token.
func (v Verdict) HasBearer() bool { return v.Outcome != OutcomeNoBearer }

// Authenticated reports whether the token itself is good.
func (v Verdict) Authenticated() bool { return v.Outcome >= OutcomeNoOrganization }

// retryAfter is what clients are told to wait while a dependency is down.
const retryAfter = 2 * time.Second

// HTTPError returns the answer to a refused request, nil with OutcomeVerified. With a 401 goes Gate.Challenge.
func (v Verdict) HTTPError() *props.HTTPError {
	switch v.Outcome {
	case OutcomeVerified:
		return nil
	case OutcomeNoBearer:
		return &props.HTTPError{
			Status: http.StatusUnauthorized, Code: props.CodeUnauthorized, Message: "Unauthorized: a bearer token is required",
		}
	case OutcomeInvalidToken:
		return &props.HTTPError{
			Status: http.StatusUnauthorized, Code: props.CodeUnauthorized, Message: "Unauthorized: " + v.Description,
		}
	case OutcomeNoOrganization:
		return &props.HTTPError{
			Status: http.StatusForbidden, Code: props.CodeUnauthorized, Message: "No organization: " + v.Description,
		}
	default:
		return &props.HTTPError{
			Status: http.StatusServiceUnavailable, Code: props.CodeUnauthorized,
			Message: "Sign-in cannot be checked at the moment, please try again", RetryAfter: retryAfter,
		}
	}
}
