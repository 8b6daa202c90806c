// Command bench measures a running stack beside a peer in the same run, with the same load program, and prints ratios,
// latencies, processor time per request and memory as tables for docs/performance.md.
//
//	go run ./e2e/bench mcp      # the MCP endpoint beside a bare go-sdk server
//	go run ./e2e/bench sessions # memory of idle sessions, and waking each
//	go run ./e2e/bench start    # time until tandem dev is ready
//
// Figures depend on the machine; only figures of one run can be compared.
package main
