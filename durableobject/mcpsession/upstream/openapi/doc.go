// Package openapi makes a source of tools from an OpenAPI document, 3.0 or 3.1, in JSON or YAML: each operation is a tool,
// its parameters and body are the tool's arguments, and a call of the tool is a request to the described server.
//
// The document is somebody else's and may be hostile. Its size, depth, count of values and expansion by aliases or
// references are bounded, and it is never executed, fetched from or followed: a reference to another document is refused.
// An operation that cannot be called rightly becomes no tool; Skipped says which and why. The others work.
//
// The document is read into plain values and each operation on its own, so that one bad operation costs no other: libraries
// for such documents decode them whole or not at all.
//
// Every schema that a tool has is JSON Schema 2020-12, refers to nothing outside itself, and compiles.
//
// Credentials go to the source's own origin only. They are in no error, and are cut out of what a server echoes.
//
// A Source may be used from any goroutine. It starts none.
package openapi
