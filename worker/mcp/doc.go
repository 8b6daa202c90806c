// Package mcp is the MCP endpoint of a worker. It decides everything that can be decided without the session's
// state and hands the rest to the session's object: one object per session, whose ID is the session ID.
//
// A request is checked in this order, and the first fault answers it, always as a JSON-RPC error with an HTTP
// status: method, authentication, organization, owner or existence of the session, rules of the transport. Only
// the object knows a session's owner; so a request that breaks a rule of the transport is shown to the object by a
// plain check first. A session ID that was never issued costs no call at all, since IDs carry a MAC.
//
// What passes is sent on with the identity as props and an intent: create for an initialize (the object's ID is
// made here, new and unguessable), use for every other request of a session, and stateless for protocol version
// 2026-07-28, where each request stands alone. Bodies stream through: each piece is flushed as it comes, and a
// client that goes away aborts the call. An object that restarts or moves is answered with 503 and Retry-After,
// never with something that makes a client give its session up.
//
// Every authenticated or refused request is one mcp.request span. The handler may be called from any goroutine.
package mcp
