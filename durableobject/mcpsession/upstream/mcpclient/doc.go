// Package mcpclient makes a remote MCP server a source of tools: an MCP client over streamable HTTP, of both eras of the
// protocol. The transport of 2024-11-05 (HTTP with SSE) is not there.
//
// A client holds one session. When the server has lost it (404), or the connection is broken, the next operation makes a
// new one; a call that the server has not accepted is then repeated once, and no other is. A call whose answer did not come
// may have run, and its error says so. An answer that is an error, or too large, is that call's alone.
//
// The result of a call is JSON that a program can work with:
//
//   - the structured content, if there is some;
//   - text alone: the blocks joined by line breaks, as a string; or, if it is a JSON object or array, that. Numbers
//     and the like stay text, as nothing tells that they are not meant as such;
//   - anything else: {"content": [the blocks as MCP has them]};
//   - no content: null.
//
// A result that says it is an error is an *upstream.Error with CodeFailed, the text as its message and the structured
// content as its details.
//
// What a server sends is bounded: answers, events, the number of tools and pages, their schemas and descriptions. What it
// asks of a client (sampling, elicitation, roots) is refused. Redirects to another origin are refused too, since arguments
// and credentials would follow them. No error or log holds a credential.
//
// Beneath the SDK's client stands an HTTP transport (meter), which learns what the SDK does not tell, and keeps from it
// answers that it would take for the end of the session.
//
// A client may be used from several goroutines. Operations end with their context, with their timeouts, or with Close.
package mcpclient
