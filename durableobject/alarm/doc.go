// Package alarm runs the alarms of a host's objects: Retry decides, without clock or I/O, what follows a failed
// run, and Scheduler makes the runs.
//
// Guarantees: an alarm never runs early; it runs at least once, also after a crash, with its object's name; no two
// runs of one object overlap; a run that was deleted or replaced before its turn is not made; alarms that are past
// due when the scheduler starts run at once; an object whose handler is slow delays only itself, as long as fewer than
// Options.Concurrency handlers run.
//
// What the handler wrote and the alarm's deletion are one commit: that is the actor's half, with
// storage.Object.BeginAlarm and EndAlarm. The scheduler's half is when, what next after a failure, and that nothing
// is lost in between.
//
// A pending alarm is one entry of the store's index and costs no memory and no goroutine; a run that is under way costs
// one goroutine. Scheduler's methods may be called from any goroutine; Deliver is called from the runs'
// goroutines.
package alarm
