// Package deploy has a process that runs a Worker's bundle run another version of it, without ending.
//
//	SIGHUP ──┐
//	gRPC ────┴─► Deployer ─► Load ─► is it this Worker's? ─► Switch ─► answer, log
//
// A version that cannot be read, is another Worker's or does not start is refused with the reason, and the present one
// goes on. Versions are taken one at a time. How a process switches is its own business; see worker/script and
// durableobject/host.
//
// A Deployer may be used from any goroutine.
package deploy
