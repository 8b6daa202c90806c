// Package sandbox is the process that runs untrusted programs for object hosts.
//
// It takes programs over gRPC (proto/sandbox/v1), has each run in an operating-system process of its own
// (package pool), and passes tool calls and their results between the program and its host. It holds no
// state that outlives a program and trusts nothing that one says.
//
// A program can use up its limits and no more: it cannot stall this process, its host or another program.
// There is no promise that two programs are kept apart by more than a process each and the memory safety
// of the engine; run the sandbox as a user that may do nothing, where that matters.
//
// Serve is called once, by cmd/tandem.
package sandbox
