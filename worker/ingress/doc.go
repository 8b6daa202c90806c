// Package ingress is the HTTP front of a worker: everything that holds for every request, before a route's own
// handler sees it.
//
// It bounds headers, bodies and waits, and cuts off clients that do not take their response; refuses requests whose
// Host or Origin is not one of the worker's own, which is what a page does that rebinds its name to the loopback
// address; removes the internal headers that a client made up; joins the client's trace and ends a span with the
// status; and turns a panic into a 500. It never answers in HTML or with an empty error: errors under /mcp are
// JSON-RPC, all others JSON.
//
// Serve takes connections until its context ends, then lets the requests that run finish for a bounded time.
// Handlers run on goroutines of their own, one a request.
package ingress
