package mcpsession

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// maxKept is how many paused programs of a host keep their process for the grace: one beyond gives it back at once.
	maxKept = 48
	// quietPoll is how often a paused program is looked at that is to give its process back and does other things still.
	quietPoll = 100 * time.Millisecond
)

// load counts what a program's calls do.
type load struct {
	// mu guards the fields below.
	mu sync.Mutex
	// serving is how many calls are under way, asking how many of those wait for an approval.
	serving, asking int
}

func (l *load) serve(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving += n
}

func (l *load) ask(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking += n
}

// quiet reports whether all that goes on is waiting for approvals.
func (l *load) quiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serving == l.asking
}

// approve pauses the program until a person has answered. One call asks at a time; the others wait for their turn.
func (r *run) approve(ctx context.Context, p pause) error {
	r.load.ask(1)
	defer r.load.ask(-1)
	select {
	case r.approvals <- struct{}{}:
		defer func() { <-r.approvals }()
	case <-ctx.Done():
		return errUnanswered
	}
	if r.setClock(true) != nil {
		return errUnanswered
	}
	var decided <-chan decision
	err := r.e.state.Enter(ctx, func(ctx context.Context) (err error) {
		decided, err = r.e.pauseAt(ctx, r, p)
		return err
	})
	if err == nil {
		var d decision
		if d, err = r.await(ctx, decided); err == nil {
			err = refusal(d.action, p.Tool)
		}
	} else if errors.Is(err, errTooManyPauses) {
		err = &toolError{Code: codeTooManyApprovals, Message: err.Error()}
	} else if ctx.Err() != nil {
		return errUnanswered
	}
	if !errors.Is(err, errUnanswered) && r.setClock(false) != nil {
		return errUnanswered // the next run of the program finds the answer in its history
	}
	return err
}

// await waits for the answer to a pause. After a grace it has the program give its process back: the answer then runs
// it again. It never lets the call run without an approval.
func (r *run) await(ctx context.Context, decided <-chan decision) (decision, error) {
	env := r.e.env
	grace := env.PauseGrace
	if env.kept.Add(1) > maxKept {
		grace = 0
	}
	defer env.kept.Add(-1)
	over := make(chan struct{}, 1)
	timer := r.e.state.Clock().AfterFunc(grace, func() { over <- struct{}{} })
	defer timer.Stop()
	draining := env.Draining
	for {
		select {
		case d := <-decided:
			return d, nil
		case <-ctx.Done():
			return decision{}, errUnanswered
		case <-draining:
			draining = nil
			if !r.history.kept() {
				return r.expireUnanswered(ctx, decided)
			}
			if timer.Stop() {
				timer.Reset(0)
			}
		case <-over:
			if !r.history.kept() {
				continue // it can't be run again, so it keeps its process
			}
			parked := false
			err := r.e.state.Enter(ctx, func(context.Context) error {
				parked = r.e.park(r)
				return nil
			})
			if err != nil || parked {
				return decision{}, errUnanswered
			}
			timer.Reset(quietPoll)
		}
	}
}

// expireUnanswered ends a pause that the host's drain cuts short, of a program that can't be run again: whoever answers
// from now on will find another host, and not this program. What was decided already counts.
func (r *run) expireUnanswered(ctx context.Context, decided <-chan decision) (decision, error) {
	if err := r.e.state.Enter(ctx, r.e.expireRun); err != nil {
		return decision{}, errUnanswered
	}
	select {
	case d := <-decided:
		return d, nil
	default:
		return decision{}, errUnanswered
	}
}

// refusal returns what a call throws for an answer that is no approval.
func refusal(action, tool string) error {
	switch action {
	case actionAccept:
		return nil
	case actionDecline:
		return thrownError(fmt.Sprintf("the call of %s was declined", tool))
	}
	return thrownError(fmt.Sprintf("the call of %s was cancelled", tool))
}
