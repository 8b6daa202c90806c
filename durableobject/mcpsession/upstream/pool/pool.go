package pool

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// Key names a connection.
type Key struct {
	// Owner is whose source it is: the ID of an object. Source is the source's.
	Owner, Source string
	// Revision is that of the source's address and credentials.
	Revision uint64
}

// Open opens a connection. Its context ends with ConnectTimeout, and does not with the caller that needed it first. Errors
// that are no *upstream.Error are logged, and the caller is not told of them.
type Open func(ctx context.Context) (upstream.Source, error)

// Weighty is a source that takes more memory than others do.
type Weighty interface {
	// WeightBytes is the size of what it was made of.
	WeightBytes() int
}

// Pool has the connections.
type Pool struct {
	o Options

	// mu guards the fields below, and those of the connections where they say so.
	mu     sync.Mutex
	open   map[Key]*connection
	weight int
	closed bool
}

// connection is one source that is open, or is being opened.
type connection struct {
	key Key
	// calls has a place for each call that may be under way.
	calls chan struct{}
	// ready is closed when source or err is set.
	ready  chan struct{}
	source upstream.Source
	err    error

	// users counts who has it; last is when the last one gave it back; gone says that it is in the pool no more, and is
	// closed by its last user; weight is its part of the pool's. Guarded by the pool's mu.
	users  int
	weight int
	last   time.Time
	gone   bool
	idle   *time.Timer
}

// New returns a pool.
func New(o Options) *Pool { return &Pool{o: o.withDefaults(), open: map[Key]*connection{}} }

// Call calls a tool. Errors are *upstream.Error, or the cause of ctx's end.
func (p *Pool) Call(
	ctx context.Context, key Key, open Open, tool string, arguments json.RawMessage,
) (result json.RawMessage, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.CallTimeout, errTimeout)
	defer cancel()
	err = p.use(ctx, key, open, func(s upstream.Source) error {
		result, err = s.Call(ctx, tool, arguments)
		return err
	})
	switch {
	case err != nil:
		return nil, p.explain(ctx, err, p.o.CallTimeout)
	case len(result) > upstream.MaxResultBytes:
		return nil, upstream.Errorf(upstream.CodeTooLarge, "the result has more than %d bytes; ask for less",
			upstream.MaxResultBytes)
	case len(result) == 0:
		return json.RawMessage("null"), nil
	case !json.Valid(result):
		return nil, upstream.Errorf(upstream.CodeFailed, "the source answered with what is not JSON")
	}
	return result, nil
}

var errTimeout = errors.New("the source took too long")

// explain makes an error one for the program.
func (p *Pool) explain(ctx context.Context, err error, limit time.Duration) error {
	var known *upstream.Error
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTimeout):
		return upstream.Errorf(upstream.CodeUnavailable,
			"the source did not answer within %v; the call may have taken effect", limit)
	case errors.As(err, &known):
		return known
	case cause != nil:
		return cause
	}
	p.o.Log.Error("source failed", "err", err)
	return upstream.Errorf(upstream.CodeFailed, "the source failed")
}

// use runs fn with the connection, in one of its places.
func (p *Pool) use(ctx context.Context, key Key, open Open, fn func(upstream.Source) error) (err error) {
	c, first, err := p.take(key)
	if err != nil {
		return err
	}
	failed := false
	defer func() { p.give(c, failed) }()
	if first {
		p.connect(ctx, c, open)
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if c.err != nil {
		failed = true
		return c.err
	}
	select {
	case c.calls <- struct{}{}:
		defer func() { <-c.calls }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err = p.guard(func() error { return fn(c.source) })
	// A call that took too long says nothing about the connection, which others use as well.
	var known *upstream.Error
	failed = errors.As(err, &known) && known.Code == upstream.CodeUnavailable && ctx.Err() == nil
	return err
}

// guard runs a source's code, and makes a panic an error.
func (p *Pool) guard(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p.o.Log.Error("source panicked", "panic", v, "stack", string(debug.Stack()))
			err = upstream.Errorf(upstream.CodeFailed, "the source failed")
		}
	}()
	return fn()
}

// connect opens a connection on the caller's goroutine. The caller's end does not end it: others wait for it as well.
func (p *Pool) connect(ctx context.Context, c *connection, open Open) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), p.o.ConnectTimeout, errTimeout)
	defer cancel()
	defer close(c.ready)
	err := p.guard(func() error {
		source, err := open(ctx)
		if err == nil {
			c.source = source
		}
		return err
	})
	if err == nil && c.source == nil {
		err = errors.New("pool: opened nothing")
	}
	if err == nil {
		err = p.weigh(c)
	}
	if err != nil {
		c.err = p.explain(ctx, err, p.o.ConnectTimeout)
	}
}

// weigh makes room for what a new connection weighs. Without any it fails, and the connection is closed by its last user.
func (p *Pool) weigh(c *connection) error {
	w, ok := c.source.(Weighty)
	if !ok {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.gone {
		return nil
	}
	c.weight = w.WeightBytes()
	p.weight += c.weight
	for p.weight > p.o.MaxWeightBytes {
		if !p.dropOldestLocked("") {
			return upstream.Errorf(upstream.CodeUnavailable, "too many large sources are in use at once; try again")
		}
	}
	return nil
}

// take returns the connection of a key, and whether the caller must open it.
func (p *Pool) take(key Key) (c *connection, first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, upstream.Errorf(upstream.CodeUnavailable, "the host is restarting")
	}
	if c = p.open[key]; c == nil {
		if err := p.makeRoomLocked(key.Owner); err != nil {
			return nil, false, err
		}
		c = &connection{key: key, calls: make(chan struct{}, p.o.MaxCalls), ready: make(chan struct{})}
		p.open[key] = c
		first = true
	}
	c.users++
	if c.idle != nil {
		c.idle.Stop()
	}
	return c, first, nil
}

// give gives a connection back. One that failed leaves the pool, and is closed when nobody uses it.
func (p *Pool) give(c *connection, failed bool) {
	p.mu.Lock()
	c.users--
	if failed {
		p.removeLocked(c)
	}
	shut := c.gone && c.users == 0
	if c.users == 0 && !c.gone {
		c.last = time.Now()
		if c.idle == nil {
			c.idle = time.AfterFunc(p.o.IdleTimeout, func() { p.expire(c) })
		} else {
			c.idle.Reset(p.o.IdleTimeout)
		}
	}
	p.mu.Unlock()
	if shut {
		p.shut(c)
	}
}

// expire closes a connection that has been idle for long enough.
func (p *Pool) expire(c *connection) {
	p.mu.Lock()
	due := c.users == 0 && !c.gone && time.Since(c.last) >= p.o.IdleTimeout
	if due {
		p.removeLocked(c)
	}
	p.mu.Unlock()
	if due {
		p.shut(c)
	}
}

// makeRoomLocked makes room for one more connection of an owner.
func (p *Pool) makeRoomLocked(owner string) error {
	own, share := 0, max(1, p.o.MaxConnections/ownerShare)
	for k := range p.open {
		if k.Owner == owner {
			own++
		}
	}
	switch {
	case own >= share && !p.dropOldestLocked(owner):
		return upstream.Errorf(upstream.CodeUnavailable,
			"%d sources are in use at once, which is as many as an organization may; try again", share)
	case len(p.open) >= p.o.MaxConnections && !p.dropOldestLocked(""):
		return upstream.Errorf(upstream.CodeUnavailable,
			"%d sources are in use at once, which is as many as can be; try again", p.o.MaxConnections)
	}
	return nil
}

// dropOldestLocked closes the connection that has been idle longest, of one owner or of all, and reports whether one was
// idle.
func (p *Pool) dropOldestLocked(owner string) bool {
	var oldest *connection
	for _, c := range p.open {
		if c.users == 0 && (owner == "" || c.key.Owner == owner) && (oldest == nil || c.last.Before(oldest.last)) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	p.removeLocked(oldest)
	// On a goroutine of its own, as an idle connection's end always is: closing may wait for the source.
	oldest.idle = time.AfterFunc(0, func() { p.shut(oldest) })
	return true
}

func (p *Pool) removeLocked(c *connection) {
	if c.idle != nil {
		c.idle.Stop()
	}
	if !c.gone {
		p.weight -= c.weight
	}
	c.gone = true
	if p.open[c.key] == c {
		delete(p.open, c.key)
	}
}

// shut closes a connection that nobody uses and that is no longer in the pool.
func (p *Pool) shut(c *connection) {
	if c.source == nil {
		return
	}
	if err := p.guard(c.source.Close); err != nil {
		p.o.Log.Debug("source not closed", "source", c.key.Source, "err", err)
	}
}

// Drop closes the connections of a source but the one at keep. What uses one goes on to its end.
func (p *Pool) Drop(owner, source string, keep uint64) {
	p.remove(func(k Key) bool { return k.Owner == owner && k.Source == source && k.Revision != keep })
}

// Close closes all connections and refuses new ones. Calls that are under way close theirs at their end.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.remove(func(Key) bool { return true })
}

func (p *Pool) remove(match func(Key) bool) {
	p.mu.Lock()
	var idle []*connection
	for k, c := range p.open {
		if !match(k) {
			continue
		}
		p.removeLocked(c)
		if c.users == 0 {
			idle = append(idle, c)
		}
	}
	p.mu.Unlock()
	for _, c := range idle {
		p.shut(c)
	}
}
