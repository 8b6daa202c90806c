// Package auth makes the worker an OAuth 2.0 resource server: it finds out who makes a request, for which
// organization, and says to those it refuses how to sign in.
//
// Gate.Identify takes the bearer token from the Authorization header (never from a cookie or the query), verifies
// it against the issuer's keys, and asks the directory for the membership. What comes out is a Verdict: an
// identity to travel as props, or the reason for a refusal. An issuer or a directory that cannot be asked is never
// a refusal: it gives OutcomeKeysUnavailable or OutcomeDirectoryUnavailable, which answer 503.
//
// Verified tokens are remembered for a minute, by their hash, since an RS256 signature costs more than the rest of
// a request. Keys are fetched through the issuer's metadata, kept for an hour, and fetched anew for an unknown key
// ID, at a bounded rate, so that made-up key IDs cannot burden the issuer.
//
// A browser signs in by the issuer's authorization code flow: package websession does that, with what Provider and
// VerifySignIn tell it, and Member identifies who has signed in so. Nothing here looks at a cookie.
//
// Metadata serves the two documents of discovery: the protected resource's own (RFC 9728) and the authorization
// server's relayed (RFC 8414).
//
// No token and no part of one is ever in an error, a span or a log. Everything may be called from any goroutine.
package auth
