package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Errors of Execute that say nothing about the program.
var (
	// ErrClosed says that the pool is closed.
	ErrClosed = errors.New("the sandbox is closed")
	// ErrBusy says that too many programs wait, or that this one waited too long. It may be tried again.
	ErrBusy = errors.New("the sandbox is at capacity")
)

// renewTime is what a child may take to make a runtime on a busy machine. Were it too short, programs would wait for a
// child that is not ready yet while others are.
const renewTime = 50 * time.Millisecond

// spawnBackoff is the pause after a child that did not start.
const spawnBackoff = time.Second

// Pool keeps the children.
type Pool struct {
	o Options
	// wake tells the spawner that there may be something to do.
	wake chan struct{}
	// closing is closed by Close.
	closing chan struct{}
	// goroutines are the spawner and one for each child.
	goroutines sync.WaitGroup
	// separation is how children are kept apart, as far as the machine allows it. The spawner's only.
	separation separation
	// first takes what became of the first child.
	first chan error

	mu sync.Mutex // guards all that follows
	// idle are children that are ready, in the order in which they became so.
	idle []*child
	// waiting are callers that want a child.
	waiting queue
	// children are all processes that are not reaped.
	children map[*child]struct{}
	// starting, running and paused count children: those not ready yet, those whose program's clock runs,
	// and those whose program's clock is stopped.
	starting, running, paused int
	// runningOf has running by organization; excess is what of it goes beyond organizations' shares.
	runningOf map[string]int
	excess    int
	closed    bool
	// ready is true once a child was.
	ready bool
	// load is how many children were needed lately.
	load load
}

// waiter is a caller that waits for a child.
type waiter struct {
	// organization is on whose behalf it waits.
	organization string
	// child takes the child; it is closed without one when the pool closes.
	child chan *child
	// failed takes the error of a child that did not start.
	failed chan error
}

// New starts a pool and its first idle children. It does not wait for them.
func New(o Options) (*Pool, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("pool options: %w", err)
	}
	p := &Pool{o: o, wake: make(chan struct{}, 1), closing: make(chan struct{}), children: map[*child]struct{}{}}
	p.runningOf = map[string]int{}
	p.separation, p.first = firstSeparation(), make(chan error, 1)
	p.poke()
	p.goroutines.Go(p.spawn)
	return p, nil
}

// Close refuses new programs, kills all children and waits until they are gone. Executions that run end
// with ErrClosed.
func (p *Pool) Close() error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.closing)
		for w := p.waiting.pop(anyone); w != nil; w = p.waiting.pop(anyone) {
			close(w.child)
		}
		for c := range p.children {
			c.kill()
		}
	}
	p.mu.Unlock()
	p.goroutines.Wait()
	return nil
}

func (p *Pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// acquire returns a child for one program of an organization.
func (p *Pool) acquire(ctx context.Context, organization string) (*child, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	if len(p.idle) > 0 && p.waiting.length == 0 && p.roomToRunLocked() > 0 && p.mayRunLocked(organization) {
		p.startedLocked(organization)
		c := p.takeIdleLocked()
		p.mu.Unlock()
		p.poke()
		return c, nil
	}
	if err := p.roomLocked(organization); err != nil {
		p.mu.Unlock()
		return nil, err
	}
	w := &waiter{organization: organization, child: make(chan *child, 1), failed: make(chan error, 1)}
	p.waiting.push(w)
	p.load.note(p.running + p.waiting.length)
	p.handOutLocked() // the others that wait may have as many as they may
	p.mu.Unlock()
	p.poke()
	return p.await(ctx, w)
}

// roomLocked returns why one more program of an organization may not wait.
func (p *Pool) roomLocked(organization string) error {
	switch {
	case p.waiting.length >= p.o.Waiting:
		return fmt.Errorf("%w: %d programs wait for a process", ErrBusy, p.o.Waiting)
	case p.waiting.of(organization) >= p.o.WaitingPerOrganization:
		return fmt.Errorf("%w: %d programs of this organization wait for a process", ErrBusy, p.o.WaitingPerOrganization)
	}
	return nil
}

// await waits for a child, for as long as the pool allows.
func (p *Pool) await(ctx context.Context, w *waiter) (*child, error) {
	t := time.NewTimer(p.o.Wait)
	defer t.Stop()
	var err error
	select {
	case c, ok := <-w.child:
		if !ok {
			return nil, ErrClosed
		}
		return c, nil
	case err := <-w.failed:
		return nil, err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-t.C:
		err = fmt.Errorf("%w: no process became free within %v", ErrBusy, p.o.Wait)
	}
	p.mu.Lock()
	waited := p.waiting.remove(w)
	p.mu.Unlock()
	if waited {
		return nil, err
	}
	// It was answered in the same moment.
	select {
	case c, ok := <-w.child:
		if ok {
			p.release(c, w.organization, false)
		}
	case failed := <-w.failed:
		err = failed
	}
	return nil, err
}

// release takes a child back from an execution of an organization, whose clock runs or is stopped; nil when the child is
// gone.
func (p *Pool) release(c *child, organization string, paused bool) {
	p.mu.Lock()
	if paused {
		p.paused--
	} else {
		p.stoppedLocked(organization)
	}
	if _, alive := p.children[c]; alive {
		c.idleSince = time.Now()
		p.idle = append(p.idle, c)
		c = nil
	}
	p.handOutLocked()
	p.mu.Unlock()
	p.poke()
	if c != nil {
		c.close()
	}
}

// handOutLocked gives idle children to those who wait, while more programs may run.
func (p *Pool) handOutLocked() {
	for len(p.idle) > 0 && p.roomToRunLocked() > 0 {
		w := p.waiting.pop(p.mayRunLocked)
		if w == nil {
			return
		}
		p.startedLocked(w.organization)
		w.child <- p.takeIdleLocked()
	}
}

// takeIdleLocked takes the child that became idle last, whose memory is warm, and so leaves the others to give theirs back.
// But not one that has just ended a program, if another is there: it is still making the next one's runtime.
func (p *Pool) takeIdleLocked() *child {
	ready := time.Now().Add(-renewTime)
	at := len(p.idle) - 1
	for at > 0 && p.idle[at].idleSince.After(ready) {
		at-- // to the one that has been idle for longest, if need be
	}
	c := p.idle[at]
	p.idle = slices.Delete(p.idle, at, at+1)
	p.load.note(p.running)
	return c
}

// poke has the spawner look.
func (p *Pool) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// wantLocked reports whether a child is to be started: for who waits and may run, and to have some warm.
func (p *Pool) wantLocked() bool {
	spare := len(p.idle) + p.starting
	return !p.closed && spare < min(p.roomToRunLocked(), max(p.o.Idle, p.waiting.length))
}

// spawn starts children as they are wanted. It keeps its thread: the kernel kills a child when the thread
// that started it ends.
func (p *Pool) spawn() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	look := time.NewTicker(p.o.Linger / loadSlots)
	defer look.Stop()
	for {
		select {
		case <-p.closing:
			return
		case <-p.wake:
		case <-look.C:
			p.shrink()
		}
		for p.spawnOne() {
		}
	}
}

// spawnOne starts a child if one is wanted, and reports whether to look again.
func (p *Pool) spawnOne() bool {
	p.mu.Lock()
	want := p.wantLocked()
	if want {
		p.starting++
	}
	p.mu.Unlock()
	if !want {
		return false
	}
	c, err := p.startSeparated()
	if err != nil {
		p.started(nil, err)
		return p.backOff()
	}
	p.mu.Lock()
	p.children[c] = struct{}{}
	if p.closed {
		c.kill()
	}
	p.mu.Unlock()
	p.goroutines.Go(func() { p.reap(c) })
	err = c.awaitReady()
	if err == nil {
		err = p.checkProtections(c)
	}
	if err != nil {
		c.close()
		p.started(nil, err)
		return p.backOff()
	}
	p.started(c, nil)
	return true
}

// reap waits for the end of a child. One that ends while it is idle was ended from outside.
func (p *Pool) reap(c *child) {
	c.wait()
	p.mu.Lock()
	delete(p.children, c)
	n := len(p.idle)
	p.idle = slices.DeleteFunc(p.idle, func(other *child) bool { return other == c })
	wasIdle := len(p.idle) < n
	closed := p.closed
	p.mu.Unlock()
	if wasIdle {
		c.close()
		if !closed {
			p.o.Log.Warn("idle sandbox child ended", "state", c.cmd.ProcessState.String())
			p.poke()
		}
	}
	p.logStderr(c)
}

// backOff waits after a failure and reports false when the pool closes meanwhile.
func (p *Pool) backOff() bool {
	t := time.NewTimer(spawnBackoff)
	defer t.Stop()
	select {
	case <-p.closing:
		return false
	case <-t.C:
		return true
	}
}

// started takes a child that is ready, or tells who has waited longest why there is none.
func (p *Pool) started(c *child, err error) {
	p.mu.Lock()
	p.starting--
	first := err == nil && !p.ready
	p.ready = p.ready || first
	_, alive := p.children[c]
	switch {
	case err != nil && p.waiting.length > 0:
		p.waiting.pop(anyone).failed <- err
	case err == nil && alive:
		c.idleSince = time.Now()
		p.idle = append(p.idle, c)
		p.handOutLocked()
	}
	p.mu.Unlock()
	if err == nil && !alive {
		c.close()
	}
	select {
	case p.first <- err:
	default: // it was not the first one
	}
	if err != nil {
		p.o.Log.Error("sandbox child did not start", "err", err)
	} else if first {
		p.logReady(c)
	}
}

// logStderr logs what an ended child said.
func (p *Pool) logStderr(c *child) {
	if text := c.stderr.String(); text != "" {
		p.o.Log.Debug("sandbox child wrote to its standard error", "text", text)
	}
}
