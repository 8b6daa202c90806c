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
	// grace is how long each later step waits for what was late.
	grace = 100 * time.Millisecond
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
	// holds are those not released, last the newest id and sequence number. blocking and late count the holds that each
	// step waits for, and those that were waited for already.
	holds          map[uint64]*held
	last           uint64
	blocking, late int
	// awaited, unless nil, is the count that an advance waits for; none is closed when it is zero.
	awaited *int
	none    chan struct{}
	closed  bool
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
// out. Until then the clock stands, and runs on afterwards. When ctx ends first, it runs on from where it is, or, if it
// had arrived, what still runs is no longer waited for; neither is an error. One advance is made at a time. Errors:
// ErrRange for a span that is negative or too long, the context's cause if it ended before the advance began,
// and a state directory that can't be written; the clock has not moved then.
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
	a := Advanced{From: from, To: t.now()}
	a.Left = target.Sub(a.To)
	if a.Left > 0 || !t.await(ctx, &t.late, MaxAdvance) {
		a.Running = t.held()
	}
	t.goOn()
	if a.Left > 0 {
		return a, t.save(t.Ahead())
	}
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

// goOn lets the clock run on from where it stands. It never falls behind real time.
func (t *Test) goOn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead, t.standing = max(0, time.Until(t.standing)), time.Time{}
	t.fireDueLocked()
}

// settle waits until nothing holds the clock, or Patience has passed; what holds it then is late. It reports false when
// ctx has ended.
func (t *Test) settle(ctx context.Context) bool {
	for graced := false; ; {
		if !t.await(ctx, &t.blocking, Patience) {
			t.mu.Lock()
			for _, h := range t.holds {
				h.late = true
			}
			t.blocking, t.late = 0, len(t.holds)
			t.mu.Unlock()
			break
		}
		blocking, late := t.counts()
		if blocking > 0 {
			continue // somebody late has ended meanwhile, and left something to do
		}
		if graced || late == 0 {
			break
		}
		// The step may be what somebody late has waited for, who then goes on, or makes room for others.
		t.await(ctx, &t.late, grace)
		graced = true
	}
	return ctx.Err() == nil
}

// counts returns how many holds a step waits for, and how many were waited for already.
func (t *Test) counts() (blocking, late int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.blocking, t.late
}

// await waits until a count of holds is zero; it reports false when the limit or ctx comes first.
func (t *Test) await(ctx context.Context, count *int, limit time.Duration) bool {
	t.mu.Lock()
	if *count == 0 {
		t.mu.Unlock()
		return true
	}
	none := make(chan struct{})
	t.awaited, t.none = count, none
	t.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-none:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.awaited, t.none = nil, nil
	return false
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
	if t.awaited != nil && *t.awaited == 0 {
		close(t.none)
		t.awaited, t.none = nil, nil
	}
}
