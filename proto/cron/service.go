package cron

import (
	"context"
	"time"

	"github.com/tandem-do/tandem/proto/objectid"
)

// Class is the name of the class that keeps the schedules of Workers and delivers their events, and UniqueKey that of its
// objects. A Worker's object has the Worker's name.
const (
	Class     = "Cron"
	UniqueKey = objectid.Platform + "-" + Class
)

// Methods of the class.
const (
	// MethodSet takes a Set and returns the Schedules that there are then.
	MethodSet = "set"
	// MethodList takes nothing and returns Schedules.
	MethodList = "list"
)

// DeliveryPath is where a Worker in development takes an event by HTTP: ?cron=…&time=… (milliseconds since 1970), and
// with format=json it answers with a Result.
const DeliveryPath = "/cdn-cgi/local/scheduled"

// Entrypoint and MethodScheduled are how a process of a Worker takes an event by the router's registry: a call of that
// method of the entrypoint, with an Event, which returns a Result. Nobody outside the stack can make one.
const (
	Entrypoint      = objectid.Platform + "-scheduled"
	MethodScheduled = "scheduled"
)

// ErrorName is the name of the error of a Set that is refused.
const ErrorName = "CronError"

// MaxSchedules is the most schedules of a Worker. Cloudflare lets a whole account have 250.
const MaxSchedules = 1000

// Set replaces the schedules of a Worker. Those that stay keep when they are next due and what became of them last.
type Set struct {
	// Worker is the Worker's name.
	Worker string `json:"worker"`
	// Crons are the expressions; the same one counts once.
	Crons []string `json:"crons"`
	// Address is the origin of the Worker's process, such as http://127.0.0.1:8787, for events that go there by HTTP. When
	// it is empty they go to one of the processes that the router knows.
	Address string `json:"address,omitempty"`
}

// Schedules are those of a Worker, in the order in which they were set.
type Schedules struct {
	Worker  string  `json:"worker"`
	Address string  `json:"address,omitempty"`
	List    []Entry `json:"schedules"`
}

// Entry is one schedule.
type Entry struct {
	Cron string `json:"cron"`
	// Next is when it is next due; zero means never.
	Next time.Time `json:"next,omitzero"`
	// Missed is the last time that it was due and nobody delivered it, or zero.
	Missed time.Time `json:"missed,omitzero"`
	// Last is its last event, or nil.
	Last *Run `json:"last,omitempty"`
}

// Run is one event.
type Run struct {
	// ScheduledTime is when it was due.
	ScheduledTime time.Time `json:"scheduledTime"`
	Started       time.Time `json:"started"`
	// Ended is zero as long as it runs.
	Ended time.Time `json:"ended,omitzero"`
	// Outcome is empty as long as it runs.
	Outcome string `json:"outcome,omitempty"`
	// Error says why an event was not delivered.
	Error string `json:"error,omitempty"`
}

// Outcomes that a delivery has beside those of the script. The words are workerd's.
const (
	OutcomeOK = "ok"
	// OutcomeUnknown is that of an event whose end nobody saw: the host ended meanwhile.
	OutcomeUnknown = "unknown"
	// OutcomeInternalError is that of an event that could not be delivered.
	OutcomeInternalError = "internalError"
	// OutcomeExceededWallTime is that of an event that took too long.
	OutcomeExceededWallTime = "exceededWallTime"
	// OutcomeLoadShed is that of an event that was not delivered since too many others of its Worker still ran.
	OutcomeLoadShed = "loadShed"
)

// Event is a scheduled event.
type Event struct {
	// Worker is the Worker's name; Address is what it gave in Set, or empty.
	Worker  string `json:"worker"`
	Address string `json:"-"`
	// Cron is the expression as it was written.
	Cron string `json:"cron"`
	// ScheduledTime is when it is due.
	ScheduledTime time.Time `json:"scheduledTime"`
}

// Result is how an event ended.
type Result struct {
	// Outcome is workerd's word, such as "ok" or "exception".
	Outcome string `json:"outcome"`
	// NoRetry says that the handler asked not to be tried again.
	NoRetry bool `json:"noRetry"`
}

// Deliver delivers an event to its Worker, and returns when the handler has ended. An error says that it was not
// delivered, or that nobody knows how it ended. It is called from any goroutine.
type Deliver func(ctx context.Context, e Event) (Result, error)
