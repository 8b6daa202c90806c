// Package binding holds the capabilities that configuration gives to a script or a Go class: namespace bindings and
// their stubs, service bindings, and the Router that takes their calls to wherever the object or the Worker runs.
//
// A stub is a name, not a connection: it costs nothing and never goes stale. The Router remembers which
// host runs a slot and under which epoch, and every call carries that epoch, so that a host which has lost
// the object refuses it (fencing). Everything here may be called from any goroutine.
//
// It does not decide where an object runs; that is the router process's. It never repeats a call that may
// have run.
package binding
