// Package lease keeps what the router must not forget: the highest epoch ever granted, the lease of each
// host, and the placement of each slot.
//
// Epochs rise for ever: a new incarnation of a host gets a number above every one granted before, and what
// Grant returned is on disk with its epoch once Commit has returned nil. So a call that carries an epoch can be
// told from one to an earlier incarnation, whatever has crashed meanwhile (fencing). Joining again under the
// same incarnation gives the same epoch.
//
// The package does not say who is alive; that is membership's, by the time of the last renewal. Nor does it
// choose hosts; that is placement's.
//
// The store is a Pebble database:
//
//	format                          "1"
//	epoch                           the highest epoch granted, 8 bytes big-endian
//	lease/<host_id>                 the Record, as JSON
//	placement/<namespace>\0<slot>   the host_id; slot is 4 bytes big-endian
//
// A Store belongs to one goroutine.
package lease
