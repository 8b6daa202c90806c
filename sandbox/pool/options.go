package pool

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"
)

// Defaults of Options.
const (
	defaultIdle    = 2
	defaultWaiting = 1024
	defaultWait    = 10 * time.Second
	defaultPaused  = 64
	defaultLinger  = 30 * time.Second
	defaultAbandon = 100 * time.Millisecond
)

// Options say how a pool works. The zero value of every field but Command gives its default.
type Options struct {
	// Command starts a child, which runs program.Main: the executable and its arguments.
	Command []string
	// Processes is how many programs run at once. Default: four times the processors, at least 16.
	Processes int
	// Idle is how many children are kept warm whatever the load, at most Processes. Default 2.
	Idle int
	// Linger is how long a child stays that is not needed, beyond those. Default 30 s.
	Linger time.Duration
	// Paused is how many programs with a stopped clock are kept beyond Processes. Default 64.
	Paused int
	// Waiting is how many programs may wait for a child. Default 1024.
	Waiting int
	// WaitingPerOrganization is how many of them may be of one organization. Default: half of Waiting.
	WaitingPerOrganization int
	// Wait is how long one of them waits. Default 10 s.
	Wait time.Duration
	// abandon is how long a child has to end a paused program that nobody waits for any more. Default 100 ms.
	abandon time.Duration
	// RequireProtections refuses children that lack a protection which the machine could give them.
	RequireProtections bool
	// Log takes the pool's log and, at debug level, what children write to their standard error; nil
	// discards it.
	Log *slog.Logger
}

// withDefaults returns o with every field set, or all that is wrong with it.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	if len(o.Command) == 0 || o.Command[0] == "" {
		errs = append(errs, errors.New("Command is empty"))
	}
	for _, f := range []struct {
		name  string
		value *int
		def   int
	}{
		{"Processes", &o.Processes, max(16, 4*runtime.GOMAXPROCS(0))},
		{"Idle", &o.Idle, defaultIdle},
		{"Paused", &o.Paused, defaultPaused},
		{"Waiting", &o.Waiting, defaultWaiting},
		{"WaitingPerOrganization", &o.WaitingPerOrganization, 0},
	} {
		if *f.value < 0 {
			errs = append(errs, fmt.Errorf("%s is %d, less than 0", f.name, *f.value))
		}
		if *f.value == 0 {
			*f.value = f.def
		}
	}
	o.Idle = min(o.Idle, o.Processes)
	if o.WaitingPerOrganization == 0 {
		o.WaitingPerOrganization = max(1, o.Waiting/2)
	}
	for _, f := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"Wait", &o.Wait, defaultWait},
		{"Linger", &o.Linger, defaultLinger},
		{"abandon", &o.abandon, defaultAbandon},
	} {
		if *f.value < 0 {
			errs = append(errs, fmt.Errorf("%s is %v, less than 0", f.name, *f.value))
		}
		if *f.value == 0 {
			*f.value = f.def
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(errs...)
}
