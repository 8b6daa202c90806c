// Package simulation tests a whole host against a model. It has tests only.
//
//	seed ──► plan: steps ──► bubble: a host on a crashable disk, its objects running random programs
//	                            │   faults: crashes, disk errors, cancelled callers, idle hours, restarts
//	                            └─► model: one sequence of states an object, and what anybody outside knows of it
//
// A history is a plan that is run. Its objects are of a class whose methods run programs: reads and writes, transactions,
// critical sections, waits, calls of other objects, alarms, aborts and panics. The class does each operation twice, to its
// storage and to its object's model, and every read must give what the model has. The model says where a turn ends, and
// takes what was written in it as one commit. It fails a history in which
//
//   - two turns of an instance overlap, or code outside a critical section gets a turn within it;
//   - events get their first turns in another order than that in which they arrived;
//   - a state comes back after a crash that is not the one after some turn, so that half of a turn would be seen;
//   - it is older than what a caller, another object or code in Await had been told;
//   - one object has kept a commit and another has lost an older one;
//   - something is lost without a crash, beyond what was under way in an instance that broke;
//   - an alarm runs early, is lost, runs again after it was done, or does not run at all;
//   - a caller gets an error that no fault explains.
//
// Time is a bubble's, and each step begins when all goroutines wait, so that a seed gives the same history again but for
// what the runtime orders freely: goroutines that were woken in the same moment.
//
// TestVariants shows that the model sees what it should: it builds hosts whose gates have one fault each, and fails if
// a fault is not noticed.
//
//	go test ./durableobject/simulation -histories 100000 -seed 7
package simulation
