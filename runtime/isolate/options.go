package isolate

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/dop251/goja"
)

// Options configure an isolate.
type Options struct {
	// Install defines globals before the script runs, in this order.
	Install []func(*Isolate) error
	// Modules are what require gives, by full name such as "node:buffer". A loader runs on the isolate at the first
	// require of its module; its value is kept.
	Modules map[string]func(*Isolate) (goja.Value, error)
	// Entrypoints has scripts refused that export anything but functions and objects.
	Entrypoints bool
	Limits      Limits
	// Clock is the time of scripts and of timers; nil means the real one.
	Clock Clock
	// Random is where random bytes come from; nil means the operating system's.
	Random io.Reader
	// Compatibility decides how the runtime behaves where it once behaved otherwise.
	Compatibility Compatibility
	// OnLog is told of console lines and uncaught errors, on the isolate's goroutine. It must not block.
	OnLog func(Entry)
	// OnStuck is told, on a goroutine of its own, when a built-in function that nothing can interrupt has run for a minute
	// after its event was stopped and the isolate given up, or has filled the heap twice over: it takes a processor, and
	// maybe memory, until it returns. nil leaves it at that.
	OnStuck func()
	// Log is where faults of the engine go; nil drops them.
	Log *slog.Logger
}

// Limits bound what a script may do. Zero means the default.
type Limits struct {
	// CPU is the computing time of one event; the default is 30 s, like a Worker's.
	CPU time.Duration
	// Startup is the computing time of the script's top level; the default is 10 s.
	Startup time.Duration
	// CallDepth bounds calls within calls; the default is 3000. Each level of a recursion through a built-in function
	// takes kilobytes.
	CallDepth int
	// HeapBytes is the live heap of the process at which the running event is interrupted, or, when none runs for long, an
	// isolate of some age given up; the default is none.
	HeapBytes uint64
	// Timers is how many timers of a context may be set at once; the default is 10,000.
	Timers int
	// WaitUntil is how long a context outlives its last event for the sake of ctx.waitUntil; the default is 30 s.
	WaitUntil time.Duration
}

func (l *Limits) ensureDefaults() {
	if l.CPU == 0 {
		l.CPU = 30 * time.Second
	}
	if l.Startup == 0 {
		l.Startup = 10 * time.Second
	}
	if l.CallDepth == 0 {
		l.CallDepth = 3000
	}
	if l.Timers == 0 {
		l.Timers = 10_000
	}
	if l.WaitUntil == 0 {
		l.WaitUntil = 30 * time.Second
	}
}

// Compatibility is the script's compatibility date and flags.
type Compatibility struct {
	// Date is like 2026-04-01; empty means the oldest.
	Date  string
	Flags []string
}

// Since reports whether what a flag named on switches is on: by the flag, or by the date unless the flag named off says
// otherwise. off may be empty.
func (c Compatibility) Since(date, on, off string) bool {
	for _, f := range c.Flags {
		if f == on && on != "" {
			return true
		}
		if f == off && off != "" {
			return false
		}
	}
	return c.Date >= date
}

// Clock gives time and wakes. Its methods may be called from any goroutine.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f on a goroutine of its own after d, unless stop is called before.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }
func (realClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// Level is how a console line was printed.
type Level string

// The levels. An uncaught error has LevelError.
const (
	LevelDebug Level = "debug"
	LevelLog   Level = "log"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

// Entry is a console line or an uncaught error.
type Entry struct {
	// Event printed it; nil at global scope.
	Event *Event
	Level Level
	Text  string
	// Uncaught is set when it is an error that nothing caught; Text then is "Uncaught " and the stack.
	Uncaught *Exception
}

// Outcome is how an event ended. The texts are those of workerd.
type Outcome int

// The outcomes.
const (
	OutcomeOK Outcome = iota
	OutcomeException
	OutcomeExceededCPU
	OutcomeExceededMemory
	OutcomeCanceled
	// OutcomeInternalError is a fault of the runtime's own; the isolate is condemned.
	OutcomeInternalError
)

// String returns workerd's word for the outcome.
func (o Outcome) String() string {
	switch o {
	case OutcomeOK:
		return "ok"
	case OutcomeException:
		return "exception"
	case OutcomeExceededCPU:
		return "exceededCpu"
	case OutcomeExceededMemory:
		return "exceededMemory"
	case OutcomeCanceled:
		return "canceled"
	case OutcomeInternalError:
		return "internalError"
	}
	return fmt.Sprintf("Outcome(%d)", int(o))
}
