// Package worker is the worker process: the HTTP front of the stack. It authenticates requests, resolves the
// organization once for each, and hands them with that identity to Durable Objects, whose hosts it finds through
// the router. It holds no state of an object; stopping it loses nothing.
//
// This file's package only wires: ingress (every request), auth (who is it), directory (users and organizations),
// mcp (the MCP endpoint), policies (its rules), websession (people at a browser) and approvals (their page). Serve is
// called once per process, from cmd/tandem.
package worker
