package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tandem-do/tandem/tools/dev/console"
)

// supervisor runs the children of one stack. Its fields are set before the first child starts; maps that change
// belong to the goroutine of run.
type supervisor struct {
	options  Options
	stack    *stack
	children map[string]*child
	// order holds the names of all, queue those of the processes that have not had their turn to start.
	order, queue []string
	// common are the flags that every child gets.
	common  []string
	spawner *spawner
	// lifeline is the children's end of the pipe.
	lifeline *os.File
	// detached outlives the context of run: a drain goes on after that has ended.
	detached context.Context
	events   chan event
	// kill is closed to kill all children.
	kill chan struct{}
	log  *slog.Logger

	// pids holds the healthy processes.
	pids map[string]int
	// wasReady is true when the stack was ready once.
	wasReady bool
	began    time.Time
}

// newSupervisor prepares a supervisor without children.
func newSupervisor(ctx context.Context, st *stack, log *slog.Logger) *supervisor {
	o := st.options
	s := &supervisor{
		options: o, stack: st, children: map[string]*child{}, log: log,
		detached: context.WithoutCancel(ctx), events: make(chan event), kill: make(chan struct{}),
		pids: map[string]int{}, began: time.Now(),
	}
	level := o.LogLevel
	if o.Quiet {
		level = max(level, slog.LevelWarn)
	}
	s.common = []string{
		"--lifeline", fmt.Sprint(lifelineFD), "--log-level", strings.ToLower(level.String()),
		"--log-format", logFormat(o.Color),
		"--otlp-endpoint", st.otlpEndpoint(), "--trace-ratio", fmt.Sprint(o.TraceRatio),
	}
	return s
}

// add prepares the children: they write to out, and inherit lifeline, their end of the pipe.
func (s *supervisor) add(out *console.Output, lifeline *os.File) {
	s.lifeline = lifeline
	for _, p := range s.stack.processes() {
		s.order = append(s.order, p.name)
		s.children[p.name] = &child{
			process: p, sup: s, output: out.Source(cmp.Or(p.label, p.name)),
			turn: make(chan struct{}), first: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
			wake: make(chan struct{}, 1),
		}
	}
	s.queue = s.stack.startOrder(s.order)
}

// newLog returns the supervisor's own logger.
func newLog(out *console.Source, o Options) *slog.Logger {
	if o.Color {
		return slog.New(console.NewHandler(out, o.LogLevel))
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: o.LogLevel}))
}

// logFormat is the children's log format: they write to a pipe and can't tell what is behind it.
func logFormat(color bool) string {
	if color {
		return "color"
	}
	return "text"
}

// emit hands an event to run, which takes events until every child has ended.
func (s *supervisor) emit(e event) { s.events <- e }

// run supervises until ctx ends or the stack can't be brought to health, then drains.
func (s *supervisor) run(ctx context.Context) error {
	if r := s.options.Reserve; r != nil {
		s.spawner = r.spawner
	} else {
		s.spawner = newSpawner()
		defer s.spawner.close()
	}
	for _, name := range s.order {
		go s.children[name].run()
	}
	slow := time.NewTicker(s.options.fake.limits.slow)
	defer slow.Stop()
	s.admit(s.stack.startsAtOnce())
	more := time.NewTicker(startTurn)
	defer more.Stop()
	for {
		select {
		case <-more.C:
			if s.admit(1); len(s.queue) == 0 {
				more.Stop()
			}
		case e := <-s.events:
			if err := s.handle(e); err != nil {
				return errors.Join(err, s.drain())
			}
		case u := <-s.options.Updates:
			s.reload(u)
		case <-slow.C:
			s.progress()
		case <-ctx.Done():
			s.log.Info("draining", "reason", context.Cause(ctx))
			return s.drain()
		case <-s.options.Kill:
			return s.drain()
		}
	}
}

// admit lets the next processes of the queue start.
func (s *supervisor) admit(n int) {
	for ; n > 0 && len(s.queue) > 0; n-- {
		close(s.children[s.queue[0]].turn)
		s.queue = s.queue[1:]
	}
}

// handle takes one event. An error ends the stack.
func (s *supervisor) handle(e event) error {
	s.observe(e)
	if e.kind != eventStarted { // it computes no more
		s.admit(1)
	}
	switch e.kind {
	case eventStarted:
		s.log.Debug("process started", "process", e.name, "pid", e.pid)
	case eventHealthy:
		s.pids[e.name] = e.pid
		if c := s.children[e.name]; c.stale { // it may have read its files before they changed
			c.stale = !c.readAgain(e.pid)
		}
		s.log.Debug("process healthy", "process", e.name, "pid", e.pid)
		if len(s.pids) == len(s.order) {
			return s.ready(e.name)
		}
	case eventEnded:
		delete(s.pids, e.name)
		s.ended(e)
	case eventGaveUp:
		delete(s.pids, e.name)
		return &StartError{Process: e.name, Cause: e.err, Log: s.children[e.name].output.Tail()}
	case eventStopped:
		delete(s.pids, e.name)
		s.log.Debug("process stopped", "process", e.name, "outcome", e.err)
	}
	return nil
}

// observe tells a test of an event.
func (s *supervisor) observe(e event) {
	if s.options.fake.observe != nil {
		s.options.fake.observe(e)
	}
}

// ended reports a process that ended by itself.
func (s *supervisor) ended(e event) {
	attrs := []any{"process", e.name, "reason", e.err, "restart_in", e.wait.Round(time.Millisecond)}
	if e.ends < s.options.fake.limits.crashLoop {
		s.log.Warn("process ended", attrs...)
		return
	}
	s.log.Error("process ends again and again", append(attrs, "ends", e.ends)...)
}

// ready is called whenever all processes are healthy; last is the one that became so.
func (s *supervisor) ready(last string) error {
	defer s.observe(event{name: last, kind: eventReady})
	r := s.stack.describe(s.pids)
	if s.options.ReadyFile != "" {
		if err := writeReady(s.options.ReadyFile, r); err != nil {
			return err
		}
	}
	if s.wasReady {
		s.log.Info("process restarted, stack is ready again", "process", last, "pid", s.pids[last])
		return nil
	}
	s.wasReady = true
	if err := printReady(s.options.Stdout, r, time.Since(s.began)); err != nil {
		return fmt.Errorf("print the ready table: %w", err)
	}
	return nil
}

// progress says what a slow start waits for.
func (s *supervisor) progress() {
	if s.wasReady {
		return
	}
	var waiting []string
	for _, name := range s.order {
		if s.pids[name] == 0 {
			waiting = append(waiting, name)
		}
	}
	s.log.Info("starting", "elapsed", time.Since(s.began).Round(100*time.Millisecond),
		"healthy", len(s.pids), "waiting_for", strings.Join(waiting, ","))
}

// drain stops the children, round after round, and kills what is left when the time is over or a kill is asked for. It
// returns when every child has ended.
func (s *supervisor) drain() error {
	if i := slices.Index(s.queue, nameTraces); i >= 0 { // those that run wait for it to take their spans
		s.queue = s.queue[i : i+1]
		s.admit(1)
	}
	limit := time.NewTimer(s.options.fake.limits.drain)
	defer limit.Stop()
	asked, killed := s.options.Kill, false
	kill := func() {
		asked, killed = nil, true
		limit.Stop()
		close(s.kill)
	}
	var left []*child
	for round := 0; round < drainRounds || len(left) > 0; {
		if round < drainRounds && (len(left) == 0 || killed) {
			left = append(left, s.stopRound(round)...)
			round++
			continue
		}
		select {
		case e := <-s.events:
			s.observeDrain(e)
		case <-left[0].done:
			left = left[1:]
		case <-limit.C:
			s.log.Warn("drain took too long, killing what is left", "limit", s.options.fake.limits.drain,
				"processes", s.running())
			kill()
		case <-asked:
			kill()
		}
	}
	if killed {
		return ErrKilled
	}
	s.log.Info("drained")
	return nil
}

// stopRound tells the children of a round to end, and returns them.
func (s *supervisor) stopRound(round int) []*child {
	var stopped []*child
	for _, name := range s.order {
		if c := s.children[name]; c.round == round {
			close(c.stop)
			stopped = append(stopped, c)
		}
	}
	return stopped
}

// observeDrain takes an event during a drain, where no end is an error.
func (s *supervisor) observeDrain(e event) {
	s.observe(e)
	if e.kind == eventStopped || e.kind == eventEnded || e.kind == eventGaveUp {
		delete(s.pids, e.name)
	}
}

// running returns the names of the healthy processes, sorted.
func (s *supervisor) running() string {
	var names []string
	for name := range s.pids {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}
