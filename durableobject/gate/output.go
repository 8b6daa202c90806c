package gate

import (
	"context"
	"sync"
	"time"
)

// CommitTimeout is how long a commit may take before the object counts as broken. Like workerd: 30 s.
const CommitTimeout = 30 * time.Second

// Commit is a set of writes on its way to the disk. The commits that lock one gate rest on each other: one is over
// without an error only when all are that locked the gate before it. So the gate has to remember the last one only,
// however many are under way.
type Commit interface {
	// Done returns a channel that is closed when the commit is over.
	Done() <-chan struct{}
	// Err returns nil if the writes are durable. It is called after Done's channel was closed.
	Err() error
}

// Patient is a Commit that says when it takes long. Whoever waits for one watches nothing else until then: a timer and a
// place among the watchers of its context cost more than a commit usually takes.
type Patient interface {
	Commit
	// Slow returns a channel that is closed when the commit takes long.
	Slow() <-chan struct{}
}

// OutputGate holds back what leaves one object until the writes before it are durable. Its zero value is open and
// ready for use; it must not be copied.
//
//	turns     ─ w1 ─┐        ─ w2 ─┐       ─ r3 ─┐        w: wrote, r: only read
//	commits         └── c1 ──────┬─┼── c2 ───────┼─┬──
//	replies                      1 └ ─ ─ ─ ─ ─ ─ ┼ 2
//	                                             └ ─ 3    3 read what w2 wrote, and so waits for c2
//
// A reply waits for the commits that were under way when its turn ended, whoever made them: its turn may have read what
// they write. It does not wait for commits of turns after its own, however many there are.
type OutputGate struct {
	// Hooks are set before first use.
	Hooks Hooks

	// mu guards all that follows. It is not held while anybody waits.
	mu sync.Mutex
	// last is the last commit that locked the gate, or nil when nothing is under way.
	last Commit
	// since is when it did.
	since time.Time
	// noted is the last commit that nothing waits for, until it is known how it ended.
	noted Commit
	// broken is why the gate is broken, or nil.
	broken error
	// ended is closed when it breaks; nil until somebody has waited.
	ended chan struct{}
}

// Lock closes the gate until c, and with it every commit before, is over. It does not wait. Waits that are under way
// are not extended.
func (g *OutputGate) Lock(c Commit) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last, g.since = c, now
}

// Note tells the gate of a commit that nothing has to wait for. It does not close the gate, and yet breaks it once it has
// failed. Like workerd: allowUnconfirmed.
func (g *OutputGate) Note(c Commit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noted = c
}

// Wait returns nil once all commits are durable that the gate was locked by before this call. It fails when that goes
// wrong or takes longer than CommitTimeout, which breaks the gate; when the gate is broken; and when ctx ends first,
// with the context's cause. Of a Patient commit, the time and the end of ctx are noticed once it is slow.
func (g *OutputGate) Wait(ctx context.Context) error {
	g.mu.Lock()
	c, since, broken, noted := g.last, g.since, g.broken, g.noted
	g.mu.Unlock()
	if broken != nil {
		return broken
	}
	if noted != nil {
		if err := g.look(noted); err != nil {
			return err
		}
	}
	if c == nil {
		return nil
	}
	select {
	case <-c.Done():
		return g.settle(c)
	default:
	}
	finish := g.Hooks.wait(ctx)
	err := g.waitFor(ctx, c, since)
	finish(err)
	return err
}

// waitFor waits for c, which is under way.
func (g *OutputGate) waitFor(ctx context.Context, c Commit, since time.Time) error {
	if p, ok := c.(Patient); ok {
		select {
		case <-c.Done():
			return g.settle(c)
		case <-g.end():
			return g.Broken()
		case <-p.Slow():
		}
	}
	timer := time.NewTimer(CommitTimeout - time.Since(since))
	defer timer.Stop()
	select {
	case <-c.Done():
		return g.settle(c)
	case <-timer.C:
		return g.Break(errCommitTimeout())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end returns a channel that is closed once the gate is broken.
func (g *OutputGate) end() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended == nil {
		g.ended = make(chan struct{})
		if g.broken != nil {
			close(g.ended)
		}
	}
	return g.ended
}

// settle draws the consequence of c, which is over: the gate breaks, or it opens unless another commit has locked it
// since. It returns what whoever waited for c is told. That is an error where the gate broke meanwhile, even if c
// itself went well: the word that would go out is that of an object which is gone.
func (g *OutputGate) settle(c Commit) error {
	if err := c.Err(); err != nil {
		return g.Break(CommitFailed(err))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == c {
		g.last = nil
	}
	return g.broken
}

// look breaks the gate if a commit that was noted has failed, and forgets one that went well.
func (g *OutputGate) look(c Commit) error {
	select {
	case <-c.Done():
	default:
		return nil
	}
	if err := c.Err(); err != nil {
		return g.Break(CommitFailed(err))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.noted == c {
		g.noted = nil
	}
	return g.broken
}

// Broken returns why the gate is broken, or nil.
func (g *OutputGate) Broken() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}

// Break breaks the gate for ever and returns the reason, which is err unless it was broken before.
func (g *OutputGate) Break(err error) error {
	g.mu.Lock()
	if g.broken != nil {
		defer g.mu.Unlock()
		return g.broken
	}
	g.broken = err
	if g.ended != nil {
		close(g.ended)
	}
	g.mu.Unlock()
	if g.Hooks.Broken != nil {
		g.Hooks.Broken(err)
	}
	return err
}
