package sidecar

import (
	"context"
	"fmt"
	"sync"
	"time"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// MaxExports is how many stubs one side of a stream may have exported at a time.
const MaxExports = 100_000

// session is one side's half of what is known of stubs on one Connect stream: what this side has exported, and the calls
// of stubs in either direction. Frames are given to it in the order in which they came.
//
//	this side's scripts ──Invoke──► imported ──StubCall──► the other's session ──Invoke──► what it exported
type session struct {
	// ctx is the stream's lifetime; the calls that run come from it.
	ctx context.Context
	// push queues a frame for the other side; spawn runs f, and reports false when no new work is taken.
	push  func(*dopb.StubFrame)
	spawn func(f func()) bool
	// result returns the result that the other side's Call of an id has, or will have; nil when there is none.
	result func(callID uint64) *result
	// outcome is what the other side is told of an error.
	outcome func(ctx context.Context, err error) *Error
	// timeout is the deadline of a call whose context has none; zero means none.
	timeout time.Duration

	// order is held while a call gets its id and is queued, before mu.
	order sync.Mutex

	mu sync.Mutex // guards all below; push is not called under it
	// exports are what the other side may call, by number.
	exports    map[uint64]*exported
	lastExport uint64
	// calls are this side's that wait for their reply; running are the other's that run.
	calls    map[uint64]*stubCall
	lastCall uint64
	running  map[uint64]*stubRun
	// results are those of the other side's Calls and StubCalls that it may still make calls on.
	results, stubResults map[uint64]*result
	// closed is why the stream has ended; nil before.
	closed error
}

// exported is what the other side may call.
type exported struct {
	stub  Stub
	chain *chain
}

// idle reports whether no call of either side runs.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) == 0 && len(s.calls) == 0
}

// keep keeps the result of a Call for those that follow it, until the other side says that there are no more.
func (s *session) keep(callID uint64, r *result) {
	s.mu.Lock()
	ended := s.closed != nil
	if !ended {
		s.results[callID] = r
	}
	s.mu.Unlock()
	if ended {
		r.release()
	}
}

// kept returns what keep was given, or nil.
func (s *session) kept(callID uint64) *result {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.results[callID]
}

// begin makes the session's maps.
func (s *session) begin() {
	s.exports, s.calls, s.running = map[uint64]*exported{}, map[uint64]*stubCall{}, map[uint64]*stubRun{}
	s.results, s.stubResults = map[uint64]*result{}, map[uint64]*result{}
}

// close ends the session with its stream: calls fail, and what is exported is dropped.
func (s *session) close(cause error) {
	s.mu.Lock()
	if s.closed != nil {
		s.mu.Unlock()
		return
	}
	s.closed = cause
	exports, calls, running := s.exports, s.calls, s.running
	results := []map[uint64]*result{s.results, s.stubResults}
	s.begin()
	s.mu.Unlock()
	for _, r := range running {
		r.cancel(cause)
	}
	for _, c := range calls {
		c.settle(stubSettlement{err: disconnected(cause)})
	}
	for _, x := range exports {
		x.stub.Drop()
	}
	for _, list := range results {
		for _, r := range list {
			r.release()
		}
	}
}

// export lists stubs for the other side, which gets a reference to each of its own. Calls of them line up in chain, or
// each by itself when it is nil. The numbers are those of what is newly exported.
func (s *session) export(stubs []Stub, line *chain) (refs []*dopb.StubRef, numbers []uint64, err error) {
	if len(stubs) == 0 {
		return nil, nil, nil
	}
	if len(stubs) > MaxStubs {
		return nil, nil, overloaded(fmt.Sprintf("A value may have at most %d stubs.", MaxStubs))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return nil, nil, notSent(s.closed)
	}
	if len(s.exports)+len(stubs) > MaxExports {
		return nil, nil, overloaded("Too many stubs are exported to this peer.")
	}
	for _, stub := range stubs {
		if i, ok := stub.(*imported); ok && i.session == s {
			refs = append(refs, &dopb.StubRef{Id: i.id, Yours: true})
			continue
		}
		x := &exported{stub: stub.Dup(), chain: line}
		if line == nil {
			x.chain = &chain{}
		}
		s.lastExport++
		s.exports[s.lastExport] = x
		refs = append(refs, &dopb.StubRef{Id: s.lastExport})
		numbers = append(numbers, s.lastExport)
	}
	return refs, numbers, nil
}

// withdraw drops exports of these numbers but for those kept.
func (s *session) withdraw(numbers, kept []uint64) {
	if len(numbers) == 0 {
		return
	}
	stays := make(map[uint64]bool, len(kept))
	for _, n := range kept {
		stays[n] = true
	}
	for _, n := range numbers {
		if !stays[n] {
			s.drop(n)
		}
	}
}

// drop ends the other side's reference to an export.
func (s *session) drop(number uint64) {
	s.mu.Lock()
	x := s.exports[number]
	delete(s.exports, number)
	s.mu.Unlock()
	if x != nil {
		x.stub.Drop()
	}
}

// bring makes stubs of those that the other side has listed. One of this side's that was withdrawn meanwhile, such as the
// argument of a call that was given up, comes back as a stub of nothing.
func (s *session) bring(refs []*dopb.StubRef) ([]Stub, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	if len(refs) > MaxStubs {
		return nil, invalid(fmt.Sprintf("invalid value: it has %d stubs, at most %d are allowed", len(refs), MaxStubs))
	}
	out := make([]Stub, 0, len(refs))
	for _, r := range refs {
		if !r.GetYours() {
			out = append(out, &imported{session: s, id: r.GetId(), refs: 1})
			continue
		}
		out = append(out, s.dup(r.GetId()))
	}
	return out, nil
}

// dup returns a reference to what this side has exported. It is made under the lock, while the export has one of its own.
func (s *session) dup(number uint64) Stub {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.exports[number]; x != nil {
		return x.stub.Dup()
	}
	return disposed{}
}

// disposed is a stub of what was dropped.
type disposed struct{}

var _ Stub = disposed{}

func errDisposed() *Error {
	return &Error{Reason: ReasonException, Name: "Error", Message: "RPC stub used after being disposed."}
}

// Invoke implements Stub.
func (disposed) Invoke(context.Context, Invocation) (Value, error) { return Value{}, errDisposed() }

// Dup implements Stub.
func (disposed) Dup() Stub { return disposed{} }

// Drop implements Stub.
func (disposed) Drop() {}

// giveBack ends the loan of a call's arguments, and returns the numbers of those that are kept nevertheless.
func giveBack(stubs []Stub) (kept []uint64) {
	for _, stub := range stubs {
		i, ok := stub.(*imported)
		switch {
		case !ok: // it was this side's own
			stub.Drop()
		case i.endLoan():
			kept = append(kept, i.id)
		}
	}
	return kept
}

// imported is something that the other side has exported.
type imported struct {
	session *session
	id      uint64

	mu   sync.Mutex // guards refs
	refs int
}

var _ Stub = (*imported)(nil)

// Invoke implements Stub.
func (i *imported) Invoke(ctx context.Context, in Invocation) (Value, error) {
	return i.session.invoke(ctx, &dopb.StubCall{Target: &dopb.StubCall_Stub{Stub: i.id}}, in)
}

// Dup implements Stub.
func (i *imported) Dup() Stub {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.refs++
	return i
}

// Drop implements Stub.
func (i *imported) Drop() {
	if i.endLoan() {
		return
	}
	i.session.push(&dopb.StubFrame{Frame: &dopb.StubFrame_Drop{Drop: &dopb.StubDrop{Stubs: []uint64{i.id}}}})
}

// endLoan ends one reference without telling the other side, and reports whether there are more.
func (i *imported) endLoan() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.refs--
	return i.refs > 0
}

// chain lines calls up: each begins when all before it have entered what they call.
type chain struct {
	mu sync.Mutex // guards last, and the places
	// last is the end of the line; nil when all have entered.
	last *place
}

// place is a call's in a chain.
type place struct {
	chain *chain
	// before is closed when all before have entered; nil for a place that was the first from the beginning.
	before chan struct{}
	// next is the one behind.
	next *place
	// first is true when all before have entered, and entered when this one has.
	first, entered bool
}

// join takes the next place: its before is to be waited for, and enter to be called once the call has entered, or is over.
func (c *chain) join() *place {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &place{chain: c, first: c.last == nil}
	if !p.first {
		p.before = make(chan struct{})
		c.last.next = p
	}
	c.last = p
	return p
}

// enter lets those behind begin, once all before have entered too. It may be called more than once.
func (p *place) enter() {
	c := p.chain
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.entered {
		return
	}
	p.entered = true
	for p != nil && p.first && p.entered {
		if c.last == p {
			c.last = nil
		} else {
			p.next.first = true
			close(p.next.before)
		}
		p = p.next
	}
}

// wait returns when all before have entered, or with the error of ctx.
func (p *place) wait(ctx context.Context) error {
	if p.before == nil {
		return nil
	}
	select {
	case <-p.before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// result is what calls can be made on while, and after, the call runs that gives it.
type result struct {
	chain chain
	done  chan struct{}
	value Value
	err   error
}

func newResult() *result { return &result{done: make(chan struct{})} }

// complete gives the outcome; the value's stubs stay the giver's.
func (r *result) complete(v Value, err error) {
	r.value.Bytes, r.err = v.Bytes, err
	for _, s := range v.Stubs {
		r.value.Stubs = append(r.value.Stubs, s.Dup())
	}
	close(r.done)
}

// release drops the result's stubs, once it is complete.
func (r *result) release() {
	select {
	case <-r.done:
		r.value.Drop()
	default:
	}
}

// Invoke makes a call on the result.
func (r *result) invoke(ctx context.Context, in Invocation) (Value, error) {
	select {
	case <-r.done:
	case <-ctx.Done():
		return Value{}, FromError(ctx.Err())
	}
	if r.err != nil {
		return Value{}, r.err
	}
	return r.value.Invoke(ctx, in)
}
