// Package objects is `tandem objects`: it shows and changes the Durable Objects of a running stack, or shows those of
// a state directory at rest.
//
// Open finds the objects: by the address of an object host, or by a state directory. If the stack on that runs, its
// object host is asked (AdminService). If none runs, the store in the directory is opened for reading: nothing is
// written, its lock is held meanwhile, and actions are refused with what to do.
//
// Output is a plain table for people, or one JSON document a line for machines. What objects have stored is shown with
// control characters escaped. Lists are read in pages, so that memory is bounded whatever a namespace holds.
//
// It reads no environment and no flags; cmd/tandem does. A Client is used by one goroutine at a time.
package objects
