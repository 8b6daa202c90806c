package sidecar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// maxPathLength is how many properties a path may have; maxPathBytes bounds them together.
const (
	maxPathLength = 66
	maxPathBytes  = 16 << 10
)

// stubCall is a call of this side's that waits for its reply.
type stubCall struct {
	// exports are the numbers that its arguments' stubs have.
	exports []uint64
	pending *Pending
	settled chan stubSettlement
}

// stubSettlement is how a call ended.
type stubSettlement struct {
	value Value
	err   error
}

func (c *stubCall) settle(s stubSettlement) { c.settled <- s }

// request is what the wire says of an invocation, but for its stubs.
func (in Invocation) request() (*dopb.RpcRequest, error) {
	r := &dopb.RpcRequest{}
	if !in.Read {
		r.Arguments = in.Args.Bytes
		if len(r.Arguments) == 0 {
			return nil, invalid("invalid call: it has no arguments, not even none")
		}
	}
	if len(in.Path) == 1 && in.Path[0] == "" {
		return nil, NoSuchMethod(in.Path) // the wire has no such name: it means the thing itself
	}
	if n := len(in.Path); n > 0 {
		r.Path, r.Method = in.Path[:n-1], in.Path[n-1]
	}
	return r, validateRequest(r)
}

// validateRequest holds the limits of what is called.
func validateRequest(r *dopb.RpcRequest) error {
	if len(r.GetPath()) > maxPathLength {
		return invalid(fmt.Sprintf("invalid call: rpc.path has %d parts, at most %d are allowed", len(r.GetPath()), maxPathLength))
	}
	size := 0
	for _, name := range r.GetPath() {
		size += len(name)
	}
	if len(r.GetStubs()) > MaxStubs {
		return invalid(fmt.Sprintf("invalid call: rpc.stubs are %d, at most %d are allowed", len(r.GetStubs()), MaxStubs))
	}
	return firstTooLong(
		field{"rpc.method", len(r.GetMethod()), MaxMethodBytes},
		field{"rpc.path", size, maxPathBytes},
		field{"rpc.arguments", len(r.GetArguments()), MaxValueBytes},
	)
}

// invocationOf is what a request of the wire asks for; its stubs are lent.
func invocationOf(r *dopb.RpcRequest, stubs []Stub) Invocation {
	in := Invocation{Read: len(r.GetArguments()) == 0, Args: Value{Bytes: r.GetArguments(), Stubs: stubs}}
	in.Path = append(in.Path, r.GetPath()...)
	if r.GetMethod() != "" || len(r.GetPath()) > 0 {
		in.Path = append(in.Path, r.GetMethod())
	}
	return in
}

// invoke makes a call of something of the other side's.
func (s *session) invoke(ctx context.Context, to *dopb.StubCall, in Invocation) (Value, error) {
	wait, err := s.start(ctx, to, in)
	if err != nil {
		return Value{}, err
	}
	return wait()
}

// start sends a call, and returns what waits for its outcome.
func (s *session) start(ctx context.Context, to *dopb.StubCall, in Invocation) (func() (Value, error), error) {
	request, err := in.request()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, contextError(ctx, errors.Join(ErrNotSent, err))
	}
	to.Request, to.Depth = request, depthOf(ctx)
	if to.Depth > MaxDepth {
		return nil, tooDeep()
	}
	trace := traceOf(ctx)
	to.Traceparent, to.Tracestate = trace.parent, trace.state
	stop := context.CancelFunc(func() {})
	deadline, ok := ctx.Deadline()
	if !ok && s.timeout > 0 {
		ctx, stop = context.WithTimeout(ctx, s.timeout)
		deadline, ok = ctx.Deadline()
	}
	if ok {
		to.Timeout = durationpb.New(time.Until(deadline))
	}
	c := &stubCall{pending: in.Pending, settled: make(chan stubSettlement, 1)}
	if request.Stubs, c.exports, err = s.export(in.Args.Stubs, nil); err != nil {
		stop()
		return nil, err
	}
	if err := s.send(c, to); err != nil {
		stop()
		s.withdraw(c.exports, nil)
		return nil, err
	}
	in.Pending.sentBy(&follower{s, true}, to.GetId())
	sent(ctx)
	return func() (Value, error) {
		defer stop()
		return s.wait(ctx, c, to.GetId())
	}, nil
}

// send queues a call. Ids rise in the order of the frames.
func (s *session) send(c *stubCall, to *dopb.StubCall) error {
	s.order.Lock()
	defer s.order.Unlock()
	s.mu.Lock()
	if s.closed != nil {
		s.mu.Unlock()
		return notSent(s.closed)
	}
	if len(s.calls) >= MaxCallsInFlight {
		s.mu.Unlock()
		return overloaded("Too many calls of stubs are in flight to this peer.")
	}
	s.lastCall++
	to.Id = s.lastCall
	s.calls[to.Id] = c
	s.mu.Unlock()
	s.push(&dopb.StubFrame{Frame: &dopb.StubFrame_Call{Call: to}})
	return nil
}

// wait waits for a call's outcome.
func (s *session) wait(ctx context.Context, c *stubCall, id uint64) (Value, error) {
	select {
	case o := <-c.settled:
		return o.value, o.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	_, waits := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	if !waits { // the outcome came at the same time
		o := <-c.settled
		return o.value, o.err
	}
	s.withdraw(c.exports, nil)
	s.push(&dopb.StubFrame{Frame: &dopb.StubFrame_Cancel{Cancel: id}})
	return Value{}, contextError(ctx, ctx.Err())
}

// follower sends calls on the results of calls of one kind: of Calls, or of StubCalls.
type follower struct {
	session *session
	stubs   bool
}

// startAfter implements pipeline.
func (f *follower) startAfter(ctx context.Context, id uint64, in Invocation) (func() (Value, error), error) {
	to := &dopb.StubCall{Target: &dopb.StubCall_AfterCall{AfterCall: id}}
	if f.stubs {
		to.Target = &dopb.StubCall_After{After: id}
	}
	return f.session.start(ctx, to, in)
}

// receive takes a frame of the other side's. An error ends the stream.
func (s *session) receive(f *dopb.StubFrame) error {
	switch f := f.GetFrame().(type) {
	case *dopb.StubFrame_Call:
		return s.run(f.Call)
	case *dopb.StubFrame_Reply:
		s.reply(f.Reply)
	case *dopb.StubFrame_Drop:
		s.dropAll(f.Drop)
	case *dopb.StubFrame_Cancel:
		s.mu.Lock()
		r := s.running[f.Cancel]
		s.mu.Unlock()
		if r != nil {
			r.cancel(errCallerCanceled)
		}
	}
	return nil // or a frame of a later version
}

func (s *session) dropAll(d *dopb.StubDrop) {
	for _, n := range d.GetStubs() {
		s.drop(n)
	}
	s.mu.Lock()
	var results []*result
	for _, id := range d.GetCalls() {
		if r := s.results[id]; r != nil {
			delete(s.results, id)
			results = append(results, r)
		}
	}
	for _, id := range d.GetStubCalls() {
		if r := s.stubResults[id]; r != nil {
			delete(s.stubResults, id)
			results = append(results, r)
		}
	}
	s.mu.Unlock()
	for _, r := range results {
		r.release()
	}
}

// reply settles a call of this side's.
func (s *session) reply(r *dopb.StubReply) {
	s.mu.Lock()
	c := s.calls[r.GetId()]
	delete(s.calls, r.GetId())
	s.mu.Unlock()
	value, err := s.bringValue(r.GetValue())
	if c != nil {
		s.withdraw(c.exports, r.GetKept())
		if !r.GetElsewhere() {
			c.pending.arrived()
		}
	}
	if len(r.GetValue().GetStubs()) > 0 {
		s.push(&dopb.StubFrame{Frame: &dopb.StubFrame_Drop{Drop: &dopb.StubDrop{StubCalls: []uint64{r.GetId()}}}})
	}
	switch {
	case r.GetElsewhere():
		err = errElsewhere
	case r.GetError() != nil:
		err = FromCallError(r.GetError())
	}
	if c == nil || err != nil {
		value.Drop()
		value = Value{}
	}
	if c != nil {
		c.settle(stubSettlement{value: value, err: err})
	}
}

// bringValue makes the value of a response.
func (s *session) bringValue(r *dopb.RpcResponse) (Value, error) {
	stubs, err := s.bring(r.GetStubs())
	return Value{Bytes: r.GetValue(), Stubs: stubs}, err
}
