// Package conformance holds what this module promises: to behave like workerd, and as an MCP server.
//
// rows.txt lists the rows of workerd's behaviour; a test somewhere in the tree names each row that it holds, and
// known.txt lists the others with the reason. contract.txt lists what the MCP application promises its clients, with the
// tests that hold it. Tests here hold the lists against the tree, and fail both ways.
package conformance
