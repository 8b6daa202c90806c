// Package harness lets end-to-end tests drive a running stack from outside: it starts `tandem dev` as a process (or takes
// one that is already up), mints identities over the wire, drives the real npm MCP client, sends raw HTTP, and searches
// the spans. It knows the product's addresses from the ready file and nothing else of it.
package harness
