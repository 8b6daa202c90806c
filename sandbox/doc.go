// Package sandbox is the process that runs untrusted programs for object hosts.
//
// It takes programs over gRPC (proto/sandbox/v1), has each run in an operating-system process of its own
// (package pool), and passes tool calls and their results between the program and its host. It holds no
// state that outlives a program and trusts nothing that one says.
//
// A program can use up its limits and no more: it cannot stall this process, its host or another program. What it could
// do if it broke out of the engine is up to what the machine allows: at start the log says which protections there are
// (namespaces, a user without rights, Landlock, a filter of system calls and others), which are not, and why.
//
// Serve is called once, by cmd/tandem.
package sandbox
