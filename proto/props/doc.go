// Package props holds what a worker hands to an object with each event, and what the two halves of the MCP
// application say to each other: the worker (authentication, policies API, the MCP endpoint) and the
// objects (sessions, executions, policies). Names of namespaces, methods and headers stand here once.
package props
