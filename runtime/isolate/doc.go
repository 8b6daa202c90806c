// Package isolate holds one JavaScript heap and its event loop.
//
// A Program is compiled once and shared. An Isolate runs it on one goroutine at a time, which alone touches the engine:
// everything else reaches it through Context.Run and through a Deferred, both of which may be used from any goroutine.
// That is a goroutine of its own, or that of a caller of Run who finds the isolate idle; both are "the isolate's
// goroutine" below.
//
//	Program ──New──► Isolate ──NewContext──► Context ──Run──► Event
//
// An Event is one delivery into the script. A Context is what the input and output of events belongs to: that of a
// stateless Worker's event is made for it and ends with it, that of a Durable Object lives as long as the object does.
// Timers, promises of the host and ctx.waitUntil belong to the context of the event that made them, and what they
// lead to runs as part of that event: promises carry it along.
//
// The shape of a program: a script whose completion value is a function. New calls it with one argument, an object
// with require(name), which gives the host's own modules (Options.Modules). It returns the module's exports as an
// object, or a promise of them. WrapModule makes such a script of what esbuild writes in its ESM format.
//
// Guarantees: a fault of the engine condemns the isolate and not the process; an event that computes for too long is
// interrupted, as is one that fills the heap (a watch over the process, by sampling: one huge allocation by a built-in
// function is not seen in time); an event that waits for what can never happen fails at once. It is no sandbox for
// hostile code: that is the sandbox process.
//
// It knows no web API: that is runtime/webapi, which installs the globals.
package isolate
