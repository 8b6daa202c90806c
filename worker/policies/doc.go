// Package policies is the worker's HTTP interface to the rules on tool calls: /api/policies and /api/policies/{id}.
//
// It holds no rules. Each organization's are in one object, named by the organization's ID; this package
// authenticates, reads JSON, calls the object and writes JSON. Errors are {"error":…,"message":…}; bad input names
// the field.
//
// Requests authenticate with a bearer token, as under /mcp. The handler may be called from any goroutine.
package policies
