// Package router is the router process: it wires lease, membership, placement and the registry of Workers to the RPCs of
// router/v1.
//
// All state belongs to one goroutine, the ledger's. RPCs hand it operations; it runs what is waiting, puts all
// of it on disk with one commit, and only then answers. So an epoch or a placement that anybody has seen
// is durable, and a burst of first look-ups costs a few commits.
//
// The router is not on the path of a call: callers remember what Locate said until a host refuses it. While
// it is away, calls to known slots go on, and hosts keep running.
package router
