// Package oauth signs in to upstream MCP servers and keeps their credentials fresh.
//
// SignIn runs where a person is: it follows the server's challenge to its authorization server (RFC 9728, RFC 8414 or
// OpenID Connect discovery), registers the client, has a browser opened, takes the code from a loopback redirect, and
// returns Credentials. Tokens uses them where the server is called: it renews the access token before it ends or when
// the server refuses it, and hands on what replaced it. Nobody is asked anything there: where only a new sign-in helps,
// the error says so.
//
// The protocol itself (discovery, PKCE, the checks of state and issuer) is the MCP SDK's; this package adds the redirect,
// the renewal with a resource indicator, and that the outcome can be stored.
//
// Tokens may be used from any goroutine. No error, log or String of this package holds a secret.
package oauth
