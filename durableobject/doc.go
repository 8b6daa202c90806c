// Package durableobject is what a Durable Object class is written against in Go.
//
// A Durable Object is a small piece of state with code around it. There is one of it for each name, everywhere: whoever
// asks for the counter "visits" reaches the same one. It lives while it has something to do, sleeps when it has not,
// and keeps what it stored. Its code handles one event at a time, so it needs no locks.
//
// # A class
//
// A class is a Go type, a function that makes one, and a list of the methods that others may call:
//
//	type Counter struct{ state *durableobject.State }
//
//	func (c *Counter) Increment(ctx context.Context, by int) (int, error) {
//		n, _, err := durableobject.Get[int](ctx, c.state.Storage(), "n")
//		if err != nil {
//			return 0, err
//		}
//		n += by
//		return n, durableobject.Put(ctx, c.state.Storage(), "n", n)
//	}
//
//	var class = durableobject.Class{
//		Name: "Counter",
//		New: func(ctx context.Context, s *durableobject.State) (any, error) {
//			return &Counter{state: s}, nil
//		},
//		Methods: map[string]durableobject.Method{
//			"increment": durableobject.Func((*Counter).Increment),
//		},
//	}
//
// Give it to a host (host.Options.Classes, host.Serve) and call it through a stub:
//
//	stub := namespace.GetByName("visits")
//	n, err := durableobject.Call[int](ctx, stub, "increment", 1)
//
// An instance that is a Fetcher also takes HTTP requests, one that is an Alarmer is woken at the time that
// Storage.SetAlarm was given.
//
// # Turns
//
// Code of an object runs in a turn, and no other event of the object runs meanwhile. It keeps its turn while it uses
// its storage: Increment above is correct however many callers it has. It gives the turn away, so that others go on,
// in these places only:
//
//   - State.Await, in which you wait for anything else: a timer, an HTTP request, a channel;
//   - calls of other objects through the stubs of State.Namespace;
//   - Flush of a response, io.Copy to it, and reads of a body that did not come with its head.
//
// After any of them, what you read before may have changed: read it again, or use State.BlockConcurrencyWhile around
// the whole. Never wait otherwise in a turn, for the object stands still: that is what Await is for.
//
// The context that a method gets says which turn it is in. Pass it on, also derived; don't keep it. Storage used with
// another one fails. Code outside any turn, as in Await, WaitUntil or a goroutine, comes back with State.Enter.
//
// # What callers can rely on
//
// All writes of a turn are committed together or not at all. Whatever leaves the object — a result, an error, a
// response, a call to another object, the start of Await — waits until the writes before it are on disk. So nobody
// ever learns of something that a crash takes back. If the disk fails, the object is reset and its callers get an
// error instead.
//
// # Errors
//
// An error that a method returns reaches the caller with its text, marked as remote; use Exception to choose its class
// name too. What went wrong around the method has an Error as well, whose properties say what to do: Retryable (the
// same call may succeed), Overloaded (do not retry at once), Reset (the instance is gone; the next call gets a new
// one). A panic resets the object; it does not end the process. Names are kept apart from texts, as they are for
// scripts from compatibility date 2026-04-21 on; other fields of an error stay behind.
//
// A stub that has met a reset goes on to fail with it, unless the error is Retryable: get a new one from its namespace,
// which costs nothing. Code that is to reset its object calls State.Abort, and returns.
//
// # An instance's life
//
// New is called before the first event, while all others wait: load there what the object needs. Fields are a cache:
// after 10 seconds without an event the instance is dropped, and any error of the host may drop it earlier. Only
// storage lasts. State.WaitUntil keeps it alive for work after the reply.
package durableobject
