// Package jsclass runs Durable Object classes written in JavaScript on the actors that Go classes run on.
//
//	Script ── compiled once; a few isolates ── many objects each, an object on one of them for its life
//	  └─ Class ── New ──► object: the instance in the isolate, with a context of its own
//
// Turns are the actor's: JavaScript of an object runs only while its object holds a turn.
//
//	event's goroutine: turn ─► isolate runs the handler ─► not done? give the turn away ─► wait ─► turn ─► reply
//	a timer, an answer from outside: its own turn (State.EnterBeside) ─► isolate runs the continuation ─► end of turn
//
// So storage, which answers at once, keeps the turn, and everything else that is awaited gives it away.
// ctx.blockConcurrencyWhile and storage.transaction are critical sections of the actor that begin at the end of the turn
// that asks for them, before any other event gets one; what continues their code enters within the section. Whatever is
// sent out leaves after the end of the turn that sends it, through the output gate.
//
// Unlike workerd: an event's reply also waits for critical sections that its last turn has asked for and did not await.
//
// A fault of the engine, and an isolate that is closed, breaks every object on it; the next event gets a new instance on
// a new isolate. Methods of Script may be called from any goroutine.
package jsclass
