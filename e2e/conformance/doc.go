// Package conformance holds what this module promises: to behave like workerd, and as an MCP server.
//
// rows.txt lists the rows of workerd's behaviour; a test somewhere in the tree names each row that it holds, and
// known.txt lists the others with the reason. contract.txt lists what the MCP application promises its clients, with the
// tests that hold it. Tests here hold the lists against the tree, and fail both ways.
//
// testdata/project is a Workers project of probes, which runs on npm's workerd and on tandem, at several compatibility
// dates. Both must print the same line for each probe; differ.txt lists the others with the reason, and the test fails
// when a difference appears and when one vanishes. With TANDEM_CONFORMANCE_URL and TANDEM_CONFORMANCE_DATE set, any other
// runtime that serves the project is compared with workerd instead. Go's -rewrite flag writes differ.txt anew.
package conformance
