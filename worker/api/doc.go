// Package api is what the JSON interfaces below /api have in common: who asks, the body, the call of the
// organization's object, and the answer. Each interface says which operations it has; see policies and sources.
//
// Requests authenticate with a bearer token, as under /mcp, or, from the worker's own pages, with the session of a
// browser. Errors are {"error":…,"message":…}; bad input names the field. The handler may be called from any goroutine.
package api
