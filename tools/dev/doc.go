// Package dev is `tandem dev`: a supervisor that runs one stack as real processes on one machine.
//
// Run opens the TCP listeners and the state directory, starts router, sandbox, authorization server and trace
// store, then the object host, then the worker, each as a child in a process group of its own, and watches
// them until its context ends.
//
// What it guarantees:
//   - A process is started when those it needs answer their health checks, and the stack is called ready when
//     all do. Waits are bounded, and an error names the process and shows its last log lines.
//   - A child that ends is started again with exponential backoff. The others are left alone; the listeners
//     stay open in the supervisor, so that clients' connections wait instead of being refused.
//   - Children end with the supervisor, however it ends: each watches a pipe (the lifeline) whose other end only the
//     supervisor holds, and on Linux the kernel sends them SIGTERM besides.
//   - A drain stops processes in reverse order within DrainTimeout, then kills what is left with its children.
//   - One state directory is used by one stack at a time. A directory that is not tandem's, or of a newer
//     format, is left untouched.
//
// What it does not do: run on more than one machine, listen on anything but loopback, or restart a process that
// hangs without ending.
//
// Run may be called from any goroutine; it returns when every process has ended and nothing of it is left.
package dev
