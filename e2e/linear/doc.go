// Package linear checks that what clients see of objects could have happened one call after the other, while the host of
// these objects is killed again and again. It has tests only.
//
//	clients ──HTTP──► worker ──gRPC──► host ◄── kill -9, and started anew
//	   │
//	   └─► history: each call, when it began and ended, what it gave ──► porcupine
//
// All are real processes: `tandem router`, and docs/examples/register as worker and host. A call whose caller was not told
// how it ended may have run at any time since, or never; a call that was refused as unplaced has surely not run. So a
// write that was acknowledged and is lost, a transaction of which half is seen, and a call that ran twice all give
// a history that no order explains.
//
//	TANDEM_KILLS=1000 go test ./e2e/linear -v
package linear
