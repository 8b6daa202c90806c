// Package upstream is what a source of tools is, seen from the MCP application: it lists tools and calls them. The kinds
// of source are in the packages below it.
//
// Nothing here knows policies, sessions or storage. All of it may be called from any goroutine.
package upstream
