// Package registry knows the worker processes that others may call by service bindings: which Workers there are, where
// their processes serve, and which entrypoints they have.
//
// It is a table in memory with a lease for each process. Nothing of it is on disk: after a restart of the router the
// processes that go on renewing fill it again. Find tells a Worker that was there a moment ago, and is perhaps
// restarting, from one that is not known at all.
//
// Time is the caller's. A Table belongs to one goroutine.
package registry
