package clock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// MaxAdvance is the longest single advance: ten years of 365 days.
	MaxAdvance = 10 * 365 * 24 * time.Hour
	// MaxAhead is how far a test clock can be ahead of real time.
	MaxAhead = 10 * MaxAdvance
	// Patience is how long, by real time, an advance waits for one due time to be settled before it goes on to the next.
	Patience = 5 * time.Second
)

// ErrRange is wrapped by Advance's error for a span that is not possible.
var ErrRange = errors.New("the clock can't be advanced by that")

// Test is a clock that can be advanced. Make it with OpenTest, and Close it when nothing uses its Clock any more.
type Test struct {
	path string
	// turn is held, by its one place, by the advance that is under way.
	turn chan struct{}
	// running counts the funcs of timers that run.
	running sync.WaitGroup

	// mu guards what follows.
	mu sync.Mutex
	// ahead is how far the clock is ahead of real time, while standing is zero; otherwise the clock stands there.
	ahead    time.Duration
	standing time.Time
	queue    queue
	// wake fires when the first event of the queue is due, unless the clock stands.
	wake *time.Timer
	// holds are those not released, last the newest id and sequence number. blocking and late count the holds that are
	// waited for at each step, and at the end only; quiet and caughtUp, if not nil, are closed when there are none.
	holds           map[uint64]*held
	last            uint64
	blocking, late  int
	quiet, caughtUp chan struct{}
	closed          bool
}

// held is one hold.
type held struct {
	what fmt.Stringer
	late bool
}

// Advanced says what an advance came to.
type Advanced struct {
	// From and To are where the clock stood at its beginning and its end.
	From, To time.Time
	// Left is how much of the span was not gone, because the context ended first.
	Left time.Duration
	// Running says what had become due, was begun and has not ended.
	Running []string
}

// Clock returns the clock; a nil Test's is real time.
func (t *Test) Clock() Clock { return Clock{test: t} }

// Ahead returns how far the clock is ahead of real time.
func (t *Test) Ahead() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.standing.IsZero() {
		return t.ahead
	}
	return time.Until(t.standing)
}

// Close forgets all timers and waits for the funcs that run. The clock tells the time on. A nil Test has nothing to close.
func (t *Test) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.closed = true
	t.wake.Stop()
	for _, e := range t.queue {
		e.at = -1
	}
	t.queue = nil
	t.mu.Unlock()
	t.running.Wait()
}

// Advance moves the clock on by a span, from one due time to the next, and returns when what became due has been carried
// out. When ctx ends first, the clock stays where it is, or, if it had arrived, what still runs is no longer waited
// for; neither is an error. One advance is made at a time. Errors: ErrRange for a span that is negative or too long,
// the context's cause if it ended before the advance began, and a state directory that can't be written; the clock has
// not moved then.
func (t *Test) Advance(ctx context.Context, by time.Duration) (Advanced, error) {
	if by < 0 || by > MaxAdvance {
		return Advanced{}, fmt.Errorf("%w: %v is not between 0 and %v", ErrRange, by, MaxAdvance)
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return Advanced{}, fmt.Errorf("wait for the advance before: %w", context.Cause(ctx))
	}
	ahead := t.Ahead()
	if ahead+by > MaxAhead {
		return Advanced{}, fmt.Errorf("%w: the clock is %v ahead of real time and can be %v", ErrRange, ahead, MaxAhead)
	}
	// First, so that nothing is ever stored by a time that is ahead of what a restart would resume.
	if err := t.save(ahead + by); err != nil {
		return Advanced{}, err
	}
	from := t.stand()
	target := from.Add(by)
	for t.settle(ctx) && t.step(target) {
	}
	reached := t.goOn()
	a := Advanced{From: from, To: t.now(), Left: target.Sub(reached)}
	if a.Left > 0 {
		a.Running = t.held()
		return a, t.save(t.Ahead())
	}
	a.Running = t.catchUp(ctx)
	return a, nil
}

// stand stops the clock and returns where it stands.
func (t *Test) stand() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.standing = time.Now().Add(t.ahead)
	t.wake.Stop()
	return t.standing
}

// step goes to the next due time up to target and has its func run. It reports false when there is none and the clock
// stands at target.
func (t *Test) step(target time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.queue.takeDue(target)
	if e == nil {
		t.standing = target
		return false
	}
	if e.due.After(t.standing) {
		t.standing = e.due
	}
	t.fireLocked(e)
	return true
}

// goOn lets the clock run on from where it stands, which it returns. It never falls behind real time.
func (t *Test) goOn() (reached time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	reached, t.standing = t.standing, time.Time{}
	t.ahead = max(0, time.Until(reached))
	t.fireDueLocked()
	return reached
}

// settle waits until nothing holds the clock, or Patience has passed; what holds it then is late. It reports false when
// ctx has ended.
func (t *Test) settle(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	t.mu.Lock()
	if t.blocking == 0 {
		t.mu.Unlock()
		return true
	}
	quiet := make(chan struct{})
	t.quiet = quiet
	t.mu.Unlock()
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	select {
	case <-quiet:
		return true
	case <-ctx.Done():
		return false
	case <-patience.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.holds {
		h.late = true
	}
	t.blocking, t.late, t.quiet = 0, len(t.holds), nil
	return true
}

// catchUp waits for what was late, and returns what still is when ctx has ended.
func (t *Test) catchUp(ctx context.Context) []string {
	t.mu.Lock()
	if t.late == 0 {
		t.mu.Unlock()
		return nil
	}
	caughtUp := make(chan struct{})
	t.caughtUp = caughtUp
	t.mu.Unlock()
	select {
	case <-caughtUp:
		return nil
	case <-ctx.Done():
	}
	return t.held()
}

// held says what holds the clock.
func (t *Test) held() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for _, h := range t.holds {
		all = append(all, h.what.String())
	}
	slices.Sort(all)
	return all
}

func (t *Test) hold(what fmt.Stringer) Hold {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.holdLocked(what)
}

func (t *Test) holdLocked(what fmt.Stringer) Hold {
	t.last++
	t.holds[t.last] = &held{what: what}
	t.blocking++
	return Hold{test: t, id: t.last}
}

func (t *Test) release(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.holds[id]
	if h == nil {
		return
	}
	delete(t.holds, id)
	if h.late {
		t.late--
	} else {
		t.blocking--
	}
	if t.blocking == 0 && t.quiet != nil {
		close(t.quiet)
		t.quiet = nil
	}
	if t.late == 0 && t.caughtUp != nil {
		close(t.caughtUp)
		t.caughtUp = nil
	}
}
