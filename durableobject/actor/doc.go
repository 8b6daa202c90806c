// Package actor runs one live object: an instance of its class, its turns and its gates.
//
// An event (a request, a call, an alarm) runs on the goroutine that brought it, so an idle actor is some hundred
// bytes and no goroutine:
//
//	caller ─► queue ─► turn: Instance.Fetch/Call/Alarm ─► flush ─► output gate ─► caller
//	            ▲            │                  ▲
//	            │            └── flush, give the turn away, output gate, wait, take a new turn ──┘
//	       input gate              (Await, a stub's call, Flush of a response, Read of a large body)
//
// Guarantees:
//   - of one instance's events, at most one runs at a time; another one may run wherever a turn is given away;
//   - events get their first turn in the order in which they arrived;
//   - whenever a turn ends or is given away, what it wrote is committed as one, and whatever leaves the object
//     afterwards waits until that commit is on disk: there is one exit, Actor.leave, and it waits on the output gate;
//   - the instance is made before the first event, while all others wait;
//   - an actor that breaks (see BrokenReason) never runs another event. Whoever runs in it or waits for it gets the
//     error, its uncommitted writes are dropped, and its owner makes a new actor for the next event. Its code that is
//     still running gets its context cancelled and still runs one turn at a time, to the end.
//
// What it does not do: it knows no wire, no placement, no telemetry and no clock for eviction. Package host owns
// actors, drops idle ones, and gives them hooks.
//
// Which turn code runs in is kept in its context: an event's context is made here, and what is derived from it belongs
// to the same turn. Actor's methods may be called from any goroutine.
package actor
