package sidecar

import (
	"context"
	"errors"
	"fmt"
	"time"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// stubRun is a call of the other side's that runs here.
type stubRun struct {
	session *session
	call    *dopb.StubCall
	ctx     context.Context // ends with the stream, at the call's deadline, and when the other side cancels
	cancel  context.CancelCauseFunc
	stop    context.CancelFunc
	// in is what is called, of on.
	in     Invocation
	on     func(context.Context, Invocation) (Value, error)
	result *result
	place  *place
}

// run begins a call of the other side's. An error ends the stream.
func (s *session) run(call *dopb.StubCall) error {
	stubs, err := s.bring(call.GetRequest().GetStubs())
	if err != nil {
		return err
	}
	refuse := func(e *Error) error {
		s.push(stubReply(&dopb.StubReply{Id: call.GetId(), Error: ToCallError(e), Kept: giveBack(stubs)}))
		return nil
	}
	if err := validateRequest(call.GetRequest()); err != nil {
		return refuse(FromError(err))
	}
	if d := call.GetTimeout(); d != nil && !d.IsValid() {
		return refuse(invalid("invalid call: timeout is out of range"))
	}
	if call.GetDepth() > MaxDepth {
		return refuse(tooDeep())
	}
	on, line := s.find(call)
	if on == nil {
		elsewhere := call.GetStub() == 0
		reply := &dopb.StubReply{Id: call.GetId(), Elsewhere: elsewhere, Kept: giveBack(stubs)}
		if !elsewhere {
			reply.Error = ToCallError(errDisposed())
		}
		s.push(stubReply(reply))
		return nil
	}
	r := &stubRun{session: s, call: call, in: invocationOf(call.GetRequest(), stubs), on: on, result: newResult()}
	r.begin()
	r.place = line.join()
	if err := s.admit(r); err != nil {
		r.place.enter()
		r.stop()
		return refuse(err)
	}
	if !s.spawn(r.run) {
		r.place.enter()
		s.forget(r)
		return refuse(drainingError())
	}
	return nil
}

// find returns what a call is of, and where it lines up; nil when that is not there.
func (s *session) find(call *dopb.StubCall) (func(context.Context, Invocation) (Value, error), *chain) {
	var r *result
	switch to := call.GetTarget().(type) {
	case *dopb.StubCall_Stub:
		s.mu.Lock()
		x := s.exports[to.Stub]
		s.mu.Unlock()
		if x != nil {
			return x.stub.Invoke, x.chain
		}
	case *dopb.StubCall_AfterCall:
		if s.result != nil {
			r = s.result(to.AfterCall)
		}
	case *dopb.StubCall_After:
		s.mu.Lock()
		if run := s.running[to.After]; run != nil {
			r = run.result
		} else {
			r = s.stubResults[to.After]
		}
		s.mu.Unlock()
	}
	if r == nil {
		return nil, nil
	}
	return r.invoke, &r.chain
}

// begin makes the call's context.
func (r *stubRun) begin() {
	trace := traceFields{r.call.GetTraceparent(), r.call.GetTracestate()}
	ctx := context.WithValue(trace.into(r.session.ctx), depthKey{}, r.call.GetDepth()+1)
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.stop = func() { r.cancel(errCallEnded) }
	if d := r.call.GetTimeout(); d != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, time.Now().Add(d.AsDuration()))
		end := r.stop
		r.stop = func() {
			stop()
			end()
		}
	}
	r.ctx = WithSent(ctx, func() { r.place.enter() })
}

// admit makes a call one of those that run.
func (s *session) admit(r *stubRun) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed != nil:
		return disconnected(s.closed)
	case len(s.running) >= MaxCallsInFlight:
		return overloaded("Too many calls of stubs are in flight to this peer.")
	case s.running[r.call.GetId()] != nil:
		return invalid(fmt.Sprintf("invalid call: its id %d is in use", r.call.GetId()))
	}
	s.running[r.call.GetId()] = r
	return nil
}

// forget ends a call.
func (s *session) forget(r *stubRun) {
	s.mu.Lock()
	delete(s.running, r.call.GetId())
	s.mu.Unlock()
	r.stop()
}

// run makes the call and replies.
func (r *stubRun) run() {
	v, err := r.invoke()
	r.place.enter()
	reply := &dopb.StubReply{Id: r.call.GetId()}
	switch {
	case err == nil && len(v.Bytes) > MaxValueBytes:
		err = tooLarge(len(v.Bytes))
	case err == nil:
		reply.Value, err = r.session.response(v, &r.result.chain)
	}
	r.result.complete(v, err)
	if err != nil {
		reply.Value = nil
		if _, ok := errors.AsType[*ServiceError](err); ok {
			reply.Elsewhere = true
		} else {
			reply.Error = ToCallError(r.session.outcome(r.ctx, err))
		}
	}
	kept := r.end(err == nil && len(v.Stubs) > 0)
	reply.Kept = giveBack(r.in.Args.Stubs)
	r.session.push(stubReply(reply))
	// References end behind the reply, which may name what they are to.
	v.Drop()
	if !kept {
		r.result.release()
	}
	r.stop()
}

// end notes that a call has run, and reports whether its result is kept for those that follow it.
func (r *stubRun) end(keep bool) bool {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, r.call.GetId())
	if !keep || s.closed != nil {
		return false
	}
	s.stubResults[r.call.GetId()] = r.result
	return true
}

func (r *stubRun) invoke() (v Value, err error) {
	defer recoverInto(&err)
	if err := r.place.wait(r.ctx); err != nil {
		return Value{}, contextError(r.ctx, err)
	}
	return r.on(r.ctx, r.in)
}

// response is the wire's form of a value; calls of its stubs line up in chain. The value's own references stay the
// caller's.
func (s *session) response(v Value, line *chain) (*dopb.RpcResponse, error) {
	refs, _, err := s.export(v.Stubs, line)
	return &dopb.RpcResponse{Value: v.Bytes, Stubs: refs}, err
}

func tooLarge(size int) *Error {
	return &Error{
		Reason: ReasonException, Name: "TypeError", Remote: true,
		Message: fmt.Sprintf("The returned value has %d bytes, at most %d are allowed.", size, MaxValueBytes),
	}
}

func stubReply(r *dopb.StubReply) *dopb.StubFrame {
	return &dopb.StubFrame{Frame: &dopb.StubFrame_Reply{Reply: r}}
}
