// Package idp is the authorization server for development: OAuth 2.1 with what MCP clients use of it
// (dynamic registration, client-ID metadata documents, PKCE, resource indicators, rotating refresh tokens)
// and as much of OpenID Connect as a client's discovery expects.
//
// It asks for no password: whoever reaches it may sign in as anyone, and an address that nobody has used
// gets a user and an organization of its own. So it answers to loopback names only and is no part of a
// production stack; there the worker is pointed at a real provider.
//
// A browser gets a sign-in page and a consent page. A machine adds login_hint=<email> to the authorization
// request and gets its code at once, unless the request asks for a sign-in (`prompt=login`).
//
// What a client holds survives a restart: the signing key, the registered clients and the refresh tokens
// (as hashes) are in Options.Dir, users and organizations in the directory. Browser sessions are in memory.
//
// Serve runs everything; its handlers run on the HTTP server's goroutines, and what they share is either in
// the database or guarded by the types that hold it.
package idp
