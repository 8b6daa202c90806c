package script

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
)

const (
	// scheduleTimeout bounds one try to tell the schedules.
	scheduleTimeout = 10 * time.Second
	// scheduleRetry is how long to wait after the first try that failed, and maxScheduleRetry after any.
	scheduleRetry    = 250 * time.Millisecond
	maxScheduleRetry = 30 * time.Second
	// patientTries is after how many tries a failure is told, or, when there are no schedules, given up: there may be no
	// object host then, and no schedules of an earlier time to end either.
	patientTries = 6
)

// keepSchedules tells the schedules of the version that runs, and again with each token in again, until ctx ends. Their
// events come by the router's registry or, to a process that is not in it, to address.
func (v *versions) keepSchedules(ctx context.Context, address net.Addr, again <-chan struct{}) {
	to := ""
	if v.options.Services == nil {
		to = origin(address)
	}
	for ctx.Err() == nil {
		one, cancel := context.WithCancel(ctx)
		var telling sync.WaitGroup
		telling.Go(func() { v.current.Load().tellSchedules(one, v.caller, to) })
		select {
		case <-again:
		case <-ctx.Done():
		}
		cancel()
		telling.Wait()
	}
}

// tellSchedules tells the object that keeps the Worker's schedules which ones it has, and to which origin their events go
// by HTTP, if any. It goes on until that is done or ctx ends.
func (s *Script) tellSchedules(ctx context.Context, caller sidecar.Caller, origin string) {
	m := s.o.Bundle.Manifest()
	q := cron.Set{Worker: m.Name, Crons: m.Crons, Address: origin}
	args, err := v8value.MarshalArguments(q)
	if err != nil {
		s.log.Error("schedules cannot be told", "err", err)
		return
	}
	wait := scheduleRetry
	for try := 1; ; try++ {
		err := tellOnce(ctx, caller, m.Name, args)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case try < patientTries: // the object host may only be starting
		case len(m.Crons) == 0:
			return
		default:
			s.log.Warn("schedules were not told yet", "err", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		wait = min(2*wait, maxScheduleRetry)
	}
}

// origin is where a process on the same machine reaches what listens on an address.
func origin(address net.Addr) string {
	if a, ok := address.(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		return "http://" + net.JoinHostPort("localhost", strconv.Itoa(a.Port))
	}
	return "http://" + address.String()
}

func tellOnce(ctx context.Context, caller sidecar.Caller, worker string, args []byte) error {
	ctx, cancel := context.WithTimeout(ctx, scheduleTimeout)
	defer cancel()
	// A stub of its own for each try, since one that met a reset stays broken.
	_, err := binding.NewNamespace(cron.UniqueKey, caller).GetByName(worker).Call(ctx, cron.MethodSet, args)
	return err
}
