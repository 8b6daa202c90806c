package alarm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
)

// MaxRun is how long a handler may take. Like workerd: 15 minutes of wall time.
const MaxRun = 15 * time.Minute

const (
	// maxSleep bounds a sleep, by real time, since timers do not follow when the wall clock is set, and how long an
	// alarm waits that a fault of the store kept from running.
	maxSleep = 30 * time.Second
	// never is later than any sleep lasts.
	never = 24 * time.Hour * 365
	// pageSize is how many due alarms are held in memory beside those that run.
	pageSize           = 256
	defaultConcurrency = 4096
	maxConcurrency     = 1 << 16
)

// ErrTimeout is the cause of the end of a run's context when the handler took MaxRun. It counts as a failure of the
// handler.
var ErrTimeout = errors.New("Alarm exceeded its allowed execution time") // workerd's text

// Options say what a Scheduler runs and how.
type Options struct {
	// Store holds the alarms.
	Store *storage.Store
	// Deliver makes one run: it brings the object to life if it must, calls Object.BeginAlarm, the handler and
	// Object.EndAlarm within turns of the object, and returns the outcome once the commit of EndAlarm is done. ctx
	// ends after MaxRun or when the scheduler is closed; Deliver must return soon after.
	Deliver func(ctx context.Context, d storage.DueAlarm) Outcome
	// Ended is told how a run ended, once what follows from that is on disk; nil is fine. It must not block. It is not
	// told of runs that Close cuts short.
	Ended func(d storage.DueAlarm, outcome Outcome)
	// Concurrency is the greatest number of runs under way; 0 means 4096.
	Concurrency int
	// Log takes faults of the store and alarms that were dropped; nil discards it.
	Log *slog.Logger
}

// Scheduler makes the runs of a store's alarms.
type Scheduler struct {
	o      Options
	clock  clock.Clock
	jitter func() float64  // in [0, 1)
	ctx    context.Context // the scheduler's lifetime
	cancel context.CancelCauseFunc
	// wake takes one word that wakes the loop, with the hold on the clock until it sleeps again.
	wake chan clock.Hold
	runs sync.WaitGroup // the loop and the runs

	// Owned by the loop: what is due and not yet started, from a scan that began at began and goes on at cursor.
	queue  []storage.DueAlarm
	cursor storage.AlarmCursor
	began  time.Time

	mu sync.Mutex // guards what follows
	// running holds the runs under way.
	running map[object]*run
	// arrived is the earliest due time that was written since the loop looked, or zero.
	arrived time.Time
	// sleepUntil is when the loop wakes by itself; zero while it is awake.
	sleepUntil time.Time
}

type object struct {
	namespace string
	id        objectid.ID
}

type run struct {
	alarm storage.DueAlarm
	// waiting is the due time of another alarm of the object that came up meanwhile, or zero.
	waiting time.Time
}

// String names the run, for who waits for it.
func (r *run) String() string { return "the alarm of " + r.alarm.Namespace + " " + r.alarm.ID.String() }

// New returns a scheduler that runs until Close. One store has at most one scheduler.
func New(o Options) (*Scheduler, error) { return newScheduler(o, rand.Float64) }

func newScheduler(o Options, jitter func() float64) (*Scheduler, error) {
	if o.Store == nil || o.Deliver == nil {
		return nil, errors.New("new alarm scheduler: Store and Deliver must be given")
	}
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Concurrency < 1 || o.Concurrency > maxConcurrency {
		return nil, fmt.Errorf("new alarm scheduler: concurrency %d, want 1 to %d", o.Concurrency, maxConcurrency)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Scheduler{
		o: o, clock: o.Store.Clock(), jitter: jitter, wake: make(chan clock.Hold, 1), running: make(map[object]*run),
	}
	s.ctx, s.cancel = detach()
	o.Store.OnAlarm(s.alarmSet)
	s.runs.Go(s.loop)
	return s, nil
}

// Close stops making runs, ends the contexts of those under way with storage.ErrClosed as the cause and waits for
// them. Their alarms stay set unless they succeeded. Close the scheduler before the store. Closing twice is
// harmless.
func (s *Scheduler) Close() {
	s.o.Store.OnAlarm(nil)
	s.cancel(storage.ErrClosed)
	s.runs.Wait()
}

// String names the scheduler, for who waits for it.
func (s *Scheduler) String() string { return "the search for due alarms" }

// alarmSet is told by the store of each due time that was written.
func (s *Scheduler) alarmSet(d storage.DueAlarm) {
	s.mu.Lock()
	s.arriveLocked(d.Due)
	wake := s.sleepUntil.IsZero() || d.Due.Before(s.sleepUntil)
	s.mu.Unlock()
	if wake {
		s.poke()
	}
}

func (s *Scheduler) arriveLocked(due time.Time) {
	if s.arrived.IsZero() || due.Before(s.arrived) {
		s.arrived = due
	}
}

// poke wakes the loop, now or when it next goes to sleep.
func (s *Scheduler) poke() {
	hold := s.clock.Hold(s)
	select {
	case s.wake <- hold:
	default:
		hold.Release()
	}
}

func (s *Scheduler) loop() {
	due, limit := s.clock.AfterFunc(never, s.poke), time.NewTimer(maxSleep)
	defer limit.Stop()
	defer due.Stop()
	var hold clock.Hold
	for s.ctx.Err() == nil {
		due.Reset(s.pass())
		limit.Reset(maxSleep)
		hold.Release()
		select {
		case hold = <-s.wake:
		case <-limit.C:
		case <-s.ctx.Done():
		}
	}
	hold.Release()
	select {
	case hold = <-s.wake:
		hold.Release()
	default:
	}
}

// pass starts the runs that are due as far as there is room, and returns how long nothing is due unless woken.
func (s *Scheduler) pass() time.Duration {
	for s.ctx.Err() == nil {
		now := s.clock.Now()
		if !s.look(now) {
			return never // a run that ends pokes
		}
		if len(s.queue) == 0 {
			page, err := s.o.Store.DueAlarms(now, s.cursor, pageSize)
			if err != nil {
				s.o.Log.Error("due alarms could not be read", "err", err)
				return s.sleep(now.Add(never))
			}
			s.queue, s.cursor = page.Alarms, page.Cursor
			if len(s.queue) == 0 {
				wake := now.Add(never)
				if !page.Next.IsZero() && page.Next.Before(wake) {
					wake = page.Next
				}
				return s.sleep(wake)
			}
		}
		s.start(s.queue[0])
		s.queue = s.queue[1:]
	}
	return never
}

// look has the scan begin again if something may have been missed, and reports whether there is room for a run.
func (s *Scheduler) look(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sleepUntil = time.Time{}
	missed := !s.arrived.IsZero() && s.cursor.Reaches(s.arrived)
	s.arrived = time.Time{}
	if missed || now.Sub(s.began) >= maxSleep {
		s.queue, s.cursor, s.began = nil, storage.AlarmCursor{}, now
	}
	return len(s.running) < s.o.Concurrency
}

// sleep notes until when the loop sleeps and returns for how long.
func (s *Scheduler) sleep(until time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.arrived.IsZero() && s.arrived.Before(until) {
		until = s.arrived
	}
	s.sleepUntil = until
	return s.clock.Until(until)
}

// start makes a run on a goroutine of its own, unless one of the same object is under way.
func (s *Scheduler) start(d storage.DueAlarm) {
	key := object{d.Namespace, d.ID}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.running[key]; r != nil {
		if !r.alarm.Same(d) {
			r.waiting = d.Due
		}
		return
	}
	r := &run{alarm: d}
	s.running[key] = r
	hold := s.clock.Hold(r)
	s.runs.Go(func() {
		defer hold.Release()
		defer s.end(key)
		s.make(d)
	})
}

// end makes room and has the object's next alarm looked for, if one is waiting.
func (s *Scheduler) end(key object) {
	s.mu.Lock()
	if due := s.running[key].waiting; !due.IsZero() {
		s.arriveLocked(due)
	}
	full := len(s.running) == s.o.Concurrency
	delete(s.running, key)
	wake := full || !s.arrived.IsZero()
	s.mu.Unlock()
	if wake {
		s.poke()
	}
}

// make makes one run and settles its outcome.
func (s *Scheduler) make(d storage.DueAlarm) {
	d, ok, err := s.o.Store.CheckAlarm(d)
	if err != nil {
		s.o.Log.Error("alarm could not be read", "namespace", d.Namespace, "object_id", d.ID, "err", err)
		return
	}
	if s.ctx.Err() != nil {
		return
	}
	if !ok {
		s.ended(d, Stale)
		return
	}
	ctx, cancel := s.clock.WithTimeout(s.ctx, MaxRun, ErrTimeout)
	defer cancel()
	outcome := s.o.Deliver(ctx, d)
	if s.ctx.Err() != nil && outcome != OK {
		return
	}
	if outcome == Internal && errors.Is(context.Cause(ctx), ErrTimeout) {
		outcome = Failed
	}
	if err := s.settle(d, outcome); err != nil {
		s.o.Log.Error("alarm's outcome could not be written", "namespace", d.Namespace, "object_id", d.ID,
			"outcome", outcome.String(), "err", err)
	}
	s.ended(d, outcome)
}

func (s *Scheduler) ended(d storage.DueAlarm, outcome Outcome) {
	if s.o.Ended != nil {
		s.o.Ended(d, outcome)
	}
}

// settle writes what follows from an outcome. What it writes has no effect if the handler set a new alarm.
func (s *Scheduler) settle(d storage.DueAlarm, outcome Outcome) error {
	switch outcome {
	case Stale, Interrupted:
		return nil
	case OK, GivenUp: // after OK the actor has deleted it, unless that went wrong
		_, err := s.o.Store.DropAlarm(d)
		return err
	case NoHandler:
		s.o.Log.Warn("alarm dropped: its class has no alarm handler", "namespace", d.Namespace, "object_id", d.ID)
		_, err := s.o.Store.DropAlarm(d)
		return err
	}
	next := Retry(outcome, d.Retries, d.Counted, s.jitter())
	if next.Drop {
		s.o.Log.Warn("alarm dropped: its handler failed too often", "namespace", d.Namespace, "object_id", d.ID,
			"retries", d.Retries)
		_, err := s.o.Store.DropAlarm(d)
		return err
	}
	d.Retries, d.Counted, d.Due = next.Retries, next.Counted, s.clock.Now().Add(next.Delay)
	_, err := s.o.Store.RetryAlarm(d)
	return err
}

// detach is where the scheduler's lifetime begins: Close ends it.
func detach() (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(context.Background())
}
