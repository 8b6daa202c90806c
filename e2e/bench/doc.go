// Command bench measures a running stack beside a peer in the same run, with the same load program, and prints ratios,
// latencies, processor time per request and memory as tables for docs/performance.md.
//
//	go run ./e2e/bench mcp      # the MCP endpoint beside a bare go-sdk server
//	go run ./e2e/bench sessions # memory of idle sessions, and waking each
//	go run ./e2e/bench start    # time until tandem dev is ready, and serves a project and edits of it
//	go run ./e2e/bench objects  # Durable Objects in Go beside workerd
//	go run ./e2e/bench scripts  # a Worker and Durable Objects in JavaScript beside workerd
//	go run ./e2e/bench wrangler # tandem dev beside wrangler dev
//	go run ./e2e/bench compute  # routes of hono, and code that computes, beside workerd
//	go run ./e2e/bench memory   # memory of isolates and of live objects in JavaScript
//	go run ./e2e/bench growth   # what a million requests leave behind
//	go run ./e2e/bench live     # memory of 100,000 live objects under a file limit of 1024
//	go run ./e2e/bench alarms   # 10,000 alarms due at once, and a kill half a second later
//	go run ./e2e/bench open     # start a host on 1,000,000 objects
//	go run ./e2e/bench tracing  # the cost of exporting spans
//
// Figures depend on the machine; only figures of one run can be compared.
package main
