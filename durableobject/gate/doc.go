// Package gate decides when an object's code runs and when what it says may leave.
//
// An object has one of each kind:
//
//	            ┌───────────────── one object ─────────────────┐
//	events ───► │ InputGate ──► turn ──► writes ──► OutputGate │ ───► replies, errors, calls, bytes
//	            └───────▲──────────────────────────────┬───────┘
//	                    │      commits, under way      │
//	                    └──── a new turn after a wait ─┘
//
// # The input gate
//
// An InputGate hands out turns: one at a time, in the order in which they were asked for. A turn lasts from
// Enter to Leave. Code that has to wait for something outside the object leaves, waits, and takes a new turn with
// Reenter; other events run in between. Code that waits for its own storage keeps its turn, and so no other
// event can see the object between a read and the write that depends on it.
//
// A CriticalSection closes the gate to everything but itself. While it is open, turns go only to code that was
// begun within it, even while all of that code waits and no turn is held:
//
//	           turn of A                 nobody's turn          turn of A
//	──────┬──────────────────┬──────────────────────────────┬─────────────────┬──────
//	 A: Enter(nil)  s=Begin  Leave   … A waits for I/O …    Reenter(s)     s.End
//	 B:         Enter(nil) ········ waits, for it is not within s ············ turn
//
// Sections nest to MaxDepth; only the innermost open one gets turns. A section that fails, or that is open for
// longer than SectionTimeout, breaks the gate.
//
// # The output gate
//
// An OutputGate is told of every commit that must be on disk before the object may be believed. Wait returns when
// the commits that were locked before it was called are done. Later ones do not extend it, so a busy object's
// replies are not held for its next writes. A failed commit breaks the gate, also one that it was only to Note, which
// closes it for nobody.
//
// # Broken gates
//
// Broken is for ever. Whoever waits for a first turn, or for a commit, gets the error, and so does whoever comes
// later. Code that had begun before still gets turns from Reenter, together with the error, so that even the
// last steps of a broken object never run two at a time.
//
// # Why two gates
//
// Neither is a lock around the object; each keeps one promise, and together they let code be written as if it ran alone
// and as if the disk took no time:
//
//   - The input gate: between two statements of a turn nothing else has happened to the object. So a read-modify-write
//     needs no lock and no retry.
//   - The output gate: nobody outside ever knows more than the disk. So code need not wait for its own writes: a turn
//     goes on, and ends, while they are under way, and only the word that it sends out waits. That is what lets the
//     writes of many turns share one sync of the disk, and makes a busy object as fast as many idle ones.
//
// # How an owner uses them
//
// An event, in the order in which package actor does it:
//
//	if err := in.Enter(ctx, nil); err != nil {
//		return err              // never began: overloaded, broken or no longer wanted
//	}
//	… the event's code …
//	out.Lock(flush())           // before Leave: who runs next may read what is not on disk
//	in.Leave()
//	if err := out.Wait(ctx); err != nil {
//		return err              // the code ran, but nobody may be told what it said
//	}
//	return reply
//
// A wait for something outside the object, in the middle of that code, is the same in small: Lock, Leave, Wait for the
// output gate, then the wait itself, then Reenter. A critical section surrounds any number of such waits with Begin and
// End, and whatever is begun within hands its section to Enter and Reenter.
//
// # What it costs
//
// A turn that nobody contends for is two short critical regions of one mutex, and no allocation. A waiter costs one
// small struct and one channel. An open output gate costs one look at a pointer. Idle gates hold nothing.
//
// # What this package is not
//
// It knows no storage, no contexts of events and no telemetry. It starts no goroutine: a turn is taken on the
// goroutine that asks for it. The caller says which section its code is within; package actor keeps that with
// the event. Every method may be called from any goroutine. Hooks are called without a lock held, on the goroutine
// on which the thing happened, or on a timer's.
//
// The scripts in testdata show each rule by example; read them as the specification.
//
// Like workerd: src/workerd/io/io-gate.h, the two gates and their names. Unlike workerd: a turn is given away by
// name rather than at every await, for Go code can't be stopped between two statements.
package gate
