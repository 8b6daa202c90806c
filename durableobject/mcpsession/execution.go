package mcpsession

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/props"
)

var errTooManyPauses = fmt.Errorf("an execution may ask for at most %d approvals", maxPauses)

// Execution is the object of one execute call. All fields are touched in its turns only.
type Execution struct {
	env   *environment
	state *durableobject.State
	// journal is what is stored, nil before the first pause and after everything was deleted. Of a program that can't be
	// run again its phase here is ahead of the stored one while it runs on after a pause.
	journal *journal
	// run is the program while it is in this process's hands: not while it is paused for longer, or after its host or its
	// sandbox was lost. It is run again then when its pause is answered.
	run *run
	// large is the reply of a settled execution whose outcome is too large to be stored.
	large *reply
	// answered is closed, and made anew, when a pause is answered or expires.
	answered chan struct{}
}

func newExecution(ctx context.Context, env *environment, s *durableobject.State) (*Execution, error) {
	e := &Execution{env: env, state: s, answered: make(chan struct{})}
	j, ok, err := durableobject.Get[journal](ctx, s.Storage(), journalKey)
	if err != nil {
		return nil, err
	}
	if ok {
		e.journal = &j
	}
	return e, nil
}

// execute starts the program and returns at its first pause or its end. A caller that goes away does not stop it.
func (e *Execution) execute(ctx context.Context, in executeRequest) (reply, error) {
	owner, err := props.DecodeIdentity(e.state.Props(ctx))
	if err != nil {
		return reply{}, err
	}
	id, err := parseExecutionID(in.ID)
	if err != nil || id.Pause() != 0 {
		return reply{}, durableobject.Exception("TypeError", "id does not name an execution")
	}
	if e.journal != nil || e.run != nil || e.large != nil {
		return reply{}, durableobject.Exception("Error", "the execution was started already")
	}
	e.run = newRun(ctx, e, id, owner)
	e.run.program, e.run.asker, e.run.admitted = newProgram(in.Code, e.state.Clock().Now()), in.Asker, in.Admitted
	next := e.run.next
	e.state.WaitUntil(e.run.main)
	return e.wait(ctx, next)
}

// wait gives the turn away until a future resolves or the caller goes away.
func (e *Execution) wait(ctx context.Context, f *future) (reply, error) {
	err := e.state.Await(ctx, func(ctx context.Context) error {
		select {
		case <-f.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err != nil {
		return reply{}, err
	}
	return f.reply, nil
}

// resume answers a pause and returns at the next pause or the end of the program. It may be resent: whatever a resume
// of the same pause came to is returned again.
func (e *Execution) resume(ctx context.Context, in resumeRequest) (reply, error) {
	next, r, err := e.take(ctx, in)
	if err != nil || next == nil {
		return r, err
	}
	joined := r.Joined
	r, err = e.wait(ctx, next)
	r.Joined = joined
	return r, err
}

// take does what a resume asks for. It returns the reply, or where the reply will come.
func (e *Execution) take(ctx context.Context, in resumeRequest) (*future, reply, error) {
	who, err := props.DecodeIdentity(e.state.Props(ctx))
	if err != nil {
		return nil, reply{}, err
	}
	id, err := parseExecutionID(in.ID)
	if err != nil {
		return nil, reply{Status: statusNotFound}, nil
	}
	if e.journal.overdue(e.state.Clock().Now(), e.env.incarnation.Load()) {
		if err := e.expirePause(ctx); err != nil {
			return nil, reply{}, err
		}
	}
	switch decideResume(e.journal, id.Pause(), who.AccountID, who.OrganizationID, e.run != nil) {
	case resumeForbidden:
		return nil, reply{Status: statusForbidden}, nil
	case resumeDecides:
		if in.Action == "" || onlyOnPage(e.journal.Pause, in) {
			return nil, reply{Status: statusWaiting, Pause: e.journal.Pause, Replayed: true}, nil
		}
		if e.run == nil && !e.restart(ctx, who) {
			return nil, reply{Status: statusExpired}, e.end(ctx, phaseExpired, nil)
		}
		next, err := e.decide(ctx, in)
		return next, reply{}, err
	case resumeRestarts:
		if !e.restart(ctx, who) {
			return nil, reply{Status: statusExpired}, e.end(ctx, phaseExpired, nil)
		}
		return e.run.next, reply{}, nil
	case resumeJoins:
		return e.run.next, reply{Joined: true}, nil
	case resumeReplaysPause:
		return nil, reply{Status: statusWaiting, Pause: e.journal.Pause, Replayed: true}, nil
	case resumeReplaysOutcome:
		r := e.journal.Outcome.reply()
		r.Replayed = true
		return nil, r, nil
	case resumeSettled:
		if e.large != nil && id.Pause() == e.journal.Pauses {
			r := *e.large
			r.Replayed = true
			return nil, r, nil
		}
		return nil, reply{Status: statusAlreadySettled}, nil
	case resumeExpired:
		return nil, reply{Status: statusExpired}, nil
	case resumeLost:
		return nil, reply{Status: statusExpired}, e.end(ctx, phaseExpired, nil)
	}
	return nil, reply{Status: statusNotFound}, nil
}

// decide answers the pending pause and has the program go on. The answer is on disk before anything comes of it.
func (e *Execution) decide(ctx context.Context, in resumeRequest) (*future, error) {
	r := e.run
	e.noteAnswer(in)
	r.history.answer(e.journal.Pause.Call, in.Action)
	j := *e.journal
	j.Phase, j.Until = phaseRunning, e.state.Clock().Now().Add(e.env.ApprovalWindow).UTC().Truncate(time.Millisecond)
	if !j.Replayable {
		e.journal = &j
	} else if err := errors.Join(e.write(ctx, &j, j.Until), e.record(ctx, r.history)); err != nil {
		return nil, err
	}
	if r.decided != nil { // else the program runs again, and finds the answer in its history
		r.decided <- decision{action: in.Action, content: in.Content}
	}
	return r.next, nil
}

// restart runs the program again, to where it is and on, and reports false if it can't be.
func (e *Execution) restart(ctx context.Context, who props.Identity) bool {
	r, err := e.load(ctx, who)
	if err != nil {
		e.env.Log.Error("paused execution is damaged", "object_id", e.state.ID().String(), "err", err)
		return false
	}
	e.run = r
	e.state.WaitUntil(r.main)
	return true
}

// load returns a run of the stored program.
func (e *Execution) load(ctx context.Context, who props.Identity) (*run, error) {
	id, err := parseExecutionID(e.journal.Pause.ID)
	if err != nil {
		return nil, fmt.Errorf("id of the pause: %w", err)
	}
	r := newRun(ctx, e, id.At(0), who)
	r.asker, r.used, r.restarted = e.journal.Asker, e.journal.Used, true
	program, ok, err := durableobject.Get[programRecord](ctx, e.state.Storage(), programKey)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("the program is missing")
	}
	r.program = program
	if r.history, err = loadHistory(ctx, e.state.Storage()); err != nil {
		return nil, err
	}
	r.history.again()
	return r, nil
}

// expire ends the execution if the pause is pending.
func (e *Execution) expire(ctx context.Context, in expireRequest) (bool, error) {
	id, err := parseExecutionID(in.ID)
	if err != nil || e.journal == nil || e.journal.Phase != phasePaused || e.journal.Pauses != id.Pause() {
		return false, nil
	}
	return true, e.expirePause(ctx)
}

// expireRun ends the execution if its program is paused.
func (e *Execution) expireRun(ctx context.Context) error {
	if e.journal == nil || e.journal.Phase != phasePaused {
		return nil
	}
	return e.expirePause(ctx)
}

// expirePause ends the execution whose pause is pending, and its program.
func (e *Execution) expirePause(ctx context.Context) error {
	if err := e.end(ctx, phaseExpired, nil); err != nil {
		return err
	}
	e.announce()
	if e.run != nil {
		e.run.stop(errExpired)
		e.run.next.resolve(reply{Status: statusExpired})
		e.run = nil
	}
	return nil
}

// pauseAt journals a pause of the program, makes it the reply of whoever waits, and returns where its answer comes.
func (e *Execution) pauseAt(ctx context.Context, r *run, p pause) (<-chan decision, error) {
	if e.run != r {
		return nil, errUnanswered
	}
	n := uint64(1)
	if e.journal != nil {
		n = e.journal.Pauses + 1
	}
	if n > maxPauses {
		return nil, errTooManyPauses
	}
	r.asker.sign(&p, r.id.At(n))
	p.Deadline = e.state.Clock().Now().Add(e.env.ApprovalWindow).UTC().Truncate(time.Millisecond)
	keep := r.history.kept()
	if e.journal != nil {
		keep = e.journal.Replayable // record sees to what became too much
	}
	first := e.journal == nil
	j := &journal{
		Phase: phasePaused, AccountID: r.owner.AccountID, OrganizationID: r.owner.OrganizationID, Pauses: n, Pause: &p,
		Asker: r.asker, Replayable: keep, Used: r.used + r.watchdog.used(), Until: p.Deadline,
		Incarnation: e.env.incarnation.Load(),
	}
	if r.asker.Session {
		ceiling := max(e.env.PausedTimeout, e.env.SessionTimeout)
		j.Ceiling = e.state.Clock().Now().Add(ceiling).UTC().Truncate(time.Millisecond)
	}
	if err := e.write(ctx, j, p.Deadline); err != nil {
		return nil, err
	}
	if first && j.Replayable {
		if err := durableobject.Put(ctx, e.state.Storage(), programKey, r.program); err != nil {
			return nil, err
		}
	}
	if err := e.record(ctx, r.history); err != nil {
		return nil, err
	}
	waiting := r.next
	r.next, r.decided = newFuture(), make(chan decision, 1)
	waiting.resolve(reply{Status: statusWaiting, Pause: &p})
	return r.decided, nil
}

// record stores what is new in the history of a program that has paused. Of one that became too much to keep it deletes
// what is stored, so that it will not be run again from there.
func (e *Execution) record(ctx context.Context, h *history) error {
	switch {
	case !e.journal.Replayable:
		return nil
	case h.kept():
		return h.write(ctx, e.state.Storage())
	}
	j := *e.journal
	j.Replayable = false
	return errors.Join(e.state.Storage().DeleteAll(ctx), e.write(ctx, &j, j.Until))
}

// park has a paused program give its process back, and reports whether it did. Not if the program does anything but
// wait, or could not be run again.
func (e *Execution) park(r *run) bool {
	j := e.journal
	if e.run != r || j == nil || j.Phase != phasePaused || !j.Replayable || !r.load.quiet() {
		return false
	}
	e.run = nil
	r.stop(errParked)
	return true
}

// conclude takes the end of a run of the program. One that was lost and can be run again stays as it is: paused, or
// waiting for a resume to be sent again.
func (e *Execution) conclude(ctx context.Context, r *run, end ending) error {
	if e.run != r {
		return nil // parked, or expired meanwhile
	}
	if !end.lost {
		return e.settle(ctx, r, end.outcome)
	}
	if e.journal != nil && e.journal.Replayable && r.history.kept() {
		e.run = nil
		r.next.resolve(r.lostReply(end.outcome.Error))
		return nil
	}
	return e.settle(ctx, r, r.lostReply(end.outcome.Error).Outcome)
}

// settle journals the end of the program and makes it the reply of whoever waits.
func (e *Execution) settle(ctx context.Context, r *run, o *outcome) error {
	e.run = nil
	answer := o.reply()
	defer r.next.resolve(answer)
	if e.journal == nil {
		return nil // nobody knows an id to come back with
	}
	if o.size() > maxStoredBytes {
		e.large = &answer
		o = nil
	}
	return e.end(ctx, phaseSettled, o)
}

// end journals that the execution settled or expired, and forgets its program and what its last pause was about.
func (e *Execution) end(ctx context.Context, phase string, o *outcome) error {
	j, last := *e.journal, *e.journal.Pause
	last.Arguments = nil
	j.Pause = &last
	j.Phase, j.Outcome, j.EndedAt = phase, o, e.state.Clock().Now().UTC().Truncate(time.Millisecond)
	after := retention
	if o != nil {
		after = replayWindow
	}
	if j.Replayable {
		j.Replayable = false
		if err := e.state.Storage().DeleteAll(ctx); err != nil {
			return err
		}
	}
	return e.write(ctx, &j, j.EndedAt.Add(after))
}

// write stores the journal, and the alarm in the same commit.
func (e *Execution) write(ctx context.Context, j *journal, alarm time.Time) error {
	e.journal = j
	if err := durableobject.Put(ctx, e.state.Storage(), journalKey, j); err != nil {
		return err
	}
	return e.state.Storage().SetAlarm(ctx, alarm, storage.PutOptions{})
}

// Alarm ends a pause whose approval window has passed, and what is kept for longer than promised.
func (e *Execution) Alarm(ctx context.Context, _ durableobject.AlarmInfo) error {
	switch what, at := decideExecutionAlarm(e.journal, e.run != nil, e.state.Clock().Now()); what {
	case alarmWait:
		return e.state.Storage().SetAlarm(ctx, at, storage.PutOptions{})
	case alarmExpire:
		return e.expirePause(ctx)
	case alarmForget:
		j := *e.journal
		j.Outcome = nil
		e.large = nil
		return e.write(ctx, &j, at)
	case alarmDelete:
		e.journal, e.large = nil, nil
		return e.state.Storage().DeleteAll(ctx)
	}
	return nil
}

var _ durableobject.Alarmer = (*Execution)(nil)
