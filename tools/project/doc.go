// Package project reads a Workers project: its wrangler file, the .dev.vars or .env file beside it, and what both
// mean.
//
//	wrangler.jsonc ──parse──► document (every value with its place)
//	     ──choose the environment──► one object ──check against Keys──► decode ──► Project
//
// Keys is the one table of every key that wrangler has and of what becomes of it here: it decides, and the table in
// docs/migrating.md is made of it. A key is supported, ignored (it changes nothing for a process of one's own),
// unavailable (the Worker runs, and each use of the binding fails with the reason), or refused.
//
// A fault is a Diagnostic with file, line, column and the line of source. All faults of a file are reported at once,
// unless it can't be parsed.
//
// Everything here is used by `tandem dev`, `tandem check` and `tandem build`, on one goroutine. A process that runs a
// Worker reads none of this, but the manifest of a bundle.
package project
