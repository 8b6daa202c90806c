// Package scenario holds the journeys that the stack must support, as black-box tests against real processes: the
// acceptance scenarios of the MCP application by number, signing in, the npm clients, bad input, and processes that are
// killed. Run them with ./tools/e2e.
package scenario
