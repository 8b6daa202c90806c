// Package storage keeps the durable state of a host's objects: keys and values, one alarm and a name for each,
// all in one Pebble store.
//
//	Store ── one a host, any goroutine
//	  └─ Object ── one a live object, its turns only; under 500 bytes and no goroutine while idle
//	       └─ Commit ── one a flushed turn, any goroutine
//
// # Writes
//
// A write goes into the object's pending writes, which its own reads see. The actor calls Flush whenever a turn
// ends or is given away; what is pending then becomes one Pebble batch, applied at once and synced in the
// background:
//
//	Put, Delete, SetAlarm ──► pending ──Flush──► applied (reads see it) ──sync──► Commit done
//	                            └──Discard, Close: gone
//
// Guarantees:
//   - what one Commit holds is on disk whole or not at all;
//   - commits of one object are done in the order of their Flush, and each includes the earlier ones;
//   - a Commit that is done without an error survives a crash of process and machine;
//   - an object that never wrote leaves no key.
//
// Any number of commits may be on their way to disk at once, of one object or of many: they share the syncs, so
// that a hot object is as fast as many. At most 4095 wait; a further Flush then blocks.
//
// A sync that fails breaks the whole store, since all objects share one log and nothing after the fault can be
// trusted: every commit that is not done yet and every later operation fails with ErrBroken. What was done
// before stays intact on disk. The process should end then (Store.Broken) and be started again.
//
// A disk that gets full does not break the store: a part of it stays free (room.go). A commit that would take of that
// breaks its own object, with ErrFull; reads, deletes and the rest of the host go on.
//
// # Without an actor
//
// Operators read any object by Summaries, Scan and Dump, which tell only what is on disk, and replace its whole state by
// Replace and Remove while no Object of it is open. OpenReadOnly opens a store to be read, and changes no file of it.
//
// # What it does not do
//
// It holds no gate, knows no event and starts no alarm: the actor and package alarm do, through Hooks, Flush and
// DueAlarms. It does not look into values. What it remembers beside Pebble's block cache are the few values
// that each live object used last, within a limit for all of them.
//
// # Keys
//
// layout.go draws them. Everything of one object has one prefix, so that one object can be read, moved or
// removed by one range.
package storage
