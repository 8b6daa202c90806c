// Package clock is the time by which a host's objects live: when alarms and their retries are due, when objects are
// evicted and forgotten, how long a critical section or an execution may take, and the times that are stored for them.
//
// The zero Clock is real time, by package time and at its cost. A Test has a clock that is ahead of real time and can be
// advanced, so that a test need not wait:
//
//	Advance(1h)  ── settle ── 10 s: evict? ── settle ── 5 min: alarm ── settle ── … ── 1 h
//	                          the clock stands still while what became due is carried out
//
// Guarantees of Advance: what becomes due within the span is carried out in the order of its due times, also what is only
// set on the way; nothing is carried out before the clock has reached its due time; and the next due time is not gone to
// before the one before has been settled, which means that its func returned and every Hold was released. What holds the
// clock for longer than Patience is taken to wait for time itself, or for somebody outside, and no longer waited for until
// the end. Between advances a test clock runs on with real time.
//
// Not on this clock, whatever it says: deadlines of networks and disks, leases, the ends of processes, other processes.
//
// Clock is a small value; its methods, and those of Test, may be called from any goroutine. Funcs of AfterFunc run on
// goroutines of their own, as those of package time do.
package clock
