// Package mcpclient makes a remote MCP server a source of tools: an MCP client over streamable HTTP, of both eras of the
// protocol.
//
// A client holds one session. When the server has lost it (404), or the connection is broken, the next operation makes a
// new one; a call that the server has not accepted is then repeated once, and no other is. A call whose answer did not come
// may have run, and its error says so.
//
// What a server sends is bounded: answers, events, the number of tools and pages, their schemas and descriptions. What it
// asks of a client (sampling, elicitation, roots) is refused. Redirects to another origin are refused too, since arguments
// and credentials would follow them. No error or log holds a credential.
//
// A client may be used from several goroutines. Operations end with their context, with their timeouts, or with Close.
package mcpclient
