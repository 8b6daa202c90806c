// Package admin is what operators see of a host's objects and do to them: gRPC's AdminService over a store, and over
// the host that runs, if one does.
//
// Guarantees:
//   - what a read says is on disk, and reading makes no object live;
//   - every list is in pages of bounded size, whatever the namespace or the object holds: a page reads at most 1000
//     objects with 1000 keys each, or 32 MiB of values;
//   - a delete or an import replaces the whole state of an object in one commit, while no actor of it can run;
//   - every field of a request is checked, and an error names the field.
//
// Authorization is the machine's: a peer with an IP address must have a loopback one. Unix sockets have their file
// mode. Whoever lets others reach a loopback port, by a proxy for instance, gives them all of this.
//
// Without a host the same service works on a store at rest: reads answer, and actions fail with FAILED_PRECONDITION.
// It decides nothing of actors and knows no telemetry; the host does, behind the interface Host. Service's methods
// may be called from any goroutine.
package admin
