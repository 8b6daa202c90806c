package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/lifetime"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/parked"
)

// callerConn is the host's end of one Connect stream.
type callerConn struct {
	objects *objectServer
	ctx     context.Context // the stream's lifetime; the calls' contexts come from it
	wake    chan struct{}   // holds a token while there is something for the writer to do
	// workers run the calls.
	workers *parked.Goroutines[*hostCall]

	mu sync.Mutex // guards all below
	// queue are the frames that the writer has not taken.
	queue []*dopb.HostFrame
	// calls are those that run, by call_id; last is the highest call_id taken.
	calls map[uint64]*hostCall
	last  uint64
	// closed is true once no new call is taken: the caller has ended the stream, or the server drains.
	closed bool
	// session is what is known of stubs. It is guarded by itself.
	session session
	// entering are the last calls for their targets, while they or one before them have not entered.
	entering map[targetKey]*hostCall
}

// targetKey names one object or one entrypoint.
type targetKey struct {
	namespace, worker, entrypoint string
	id                            objectid.ID
}

func keyOf(t *Target) targetKey { return targetKey{t.Namespace, t.Worker, t.Entrypoint, t.ID} }

// hostCall is one call that runs at the host.
type hostCall struct {
	conn   *callerConn
	id     uint64
	call   *dopb.Call
	target Target
	// life ends with the stream, at the call's deadline, when the caller cancels, and with the call; ctx comes from it.
	life lifetime.Context
	ctx  callContext

	// entered and next order the calls for one target; guarded by the conn's mu. next is the call that
	// enters after this one.
	entered bool
	next    *hostCall
	// args are the stubs of the arguments, lent for the call.
	args []Stub
	// result is what other calls follow; nil while none does. Guarded by the conn's mu.
	result *result
}

// callContext is the context of a call, in which Entered finds it.
type callContext struct {
	context.Context
	call *hostCall
}

type callKey struct{}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	switch key {
	case callKey{}:
		return c.call
	case depthKey{}:
		return c.call.call.GetDepth() + 1
	}
	return c.Context.Value(key)
}

// Entered says that the call of ctx has its place in its object's queue, so that the next call for the
// same target may enter. See RegisterOrderedHandler. It tells the function of WithSent, for a call within this process.
func Entered(ctx context.Context) {
	sent(ctx)
	if h, ok := ctx.Value(callKey{}).(*hostCall); ok && h.conn.objects.ordered {
		h.enter()
	}
}

// receive takes one frame. An error ends the stream: the caller breaks the protocol.
func (c *callerConn) receive(f *dopb.CallerFrame) error {
	switch fr := f.GetFrame().(type) {
	case *dopb.CallerFrame_Call:
		return c.start(f.GetCallId(), fr.Call)
	case *dopb.CallerFrame_Cancel:
		c.mu.Lock()
		h := c.calls[f.GetCallId()]
		c.mu.Unlock()
		if h != nil {
			h.life.End(errCallerCanceled)
		}
	case *dopb.CallerFrame_Stub:
		c.mu.Lock()
		waiting, closed := len(c.queue), c.closed
		c.mu.Unlock()
		if waiting > maxRepliesWaiting {
			return overloaded("The caller does not read its replies.")
		}
		err := c.session.receive(fr.Stub)
		if closed {
			c.wakeWriter() // it may be the reply that the end of the stream waits for
		}
		return err
	}
	return nil // a frame of a later version
}

// start begins a call on a goroutine of its own, after those for the same target.
func (c *callerConn) start(id uint64, call *dopb.Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id <= c.last {
		return invalid(fmt.Sprintf("call_id %d does not rise: the last one was %d", id, c.last))
	}
	if len(c.queue) > maxRepliesWaiting {
		return overloaded("The caller does not read its replies.")
	}
	if c.closed {
		return nil // the caller has been told, or will be
	}
	c.last = id
	if err := validateCall(call); err != nil {
		c.refuseLocked(id, FromError(err))
		return nil
	}
	if len(c.calls) >= MaxCallsInFlight {
		c.refuseLocked(id, overloaded("Too many calls are in flight to this host."))
		return nil
	}
	if !c.objects.server.begin() {
		c.refuseLocked(id, drainingError())
		return nil
	}
	h := c.newCall(id, call)
	if refs := call.GetRpc().GetStubs(); len(refs) > 0 {
		var err error
		if h.args, err = c.session.bring(refs); err != nil {
			c.objects.server.calls.Done()
			return err
		}
	}
	c.calls[id] = h
	if !c.objects.ordered {
		c.workers.Run(h)
		return nil
	}
	key := keyOf(&h.target)
	before := c.entering[key]
	c.entering[key] = h
	if before != nil {
		before.next = h
		return nil
	}
	c.workers.Run(h)
	return nil
}

func (c *callerConn) newCall(id uint64, call *dopb.Call) *hostCall {
	h := &hostCall{conn: c, id: id, call: call, target: Target{Props: call.GetProps()}}
	if s := call.GetService(); s != nil {
		h.target.Worker, h.target.Entrypoint = s.GetWorker(), s.GetEntrypoint()
	} else {
		h.target.Namespace, h.target.ID, h.target.Epoch = call.GetNamespace(), objectid.ID(call.GetObjectId()), call.GetEpoch()
		h.target.Name, h.target.HasName = call.GetObjectName(), call.ObjectName != nil
	}
	var deadline time.Time
	if d := call.GetTimeout(); d != nil {
		deadline = time.Now().Add(d.AsDuration())
	}
	h.life.Begin(c.ctx, deadline)
	trace := traceFields{call.GetTraceparent(), call.GetTracestate()}
	h.ctx = callContext{Context: trace.into(&h.life), call: h}
	return h
}

// enter lets the next call for the same target begin.
func (h *hostCall) enter() {
	c := h.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.entered {
		return
	}
	h.entered = true
	if h.next != nil {
		c.workers.Run(h.next)
		h.next = nil
		return
	}
	delete(c.entering, keyOf(&h.target))
}

// run runs the handler and settles the call. The server's calls count it.
func (h *hostCall) run() {
	defer h.conn.objects.server.calls.Done()
	switch ev := h.call.GetEvent().(type) {
	case *dopb.Call_Fetch:
		h.runFetch(ev.Fetch)
	case *dopb.Call_Rpc:
		h.runRPC(ev.Rpc)
	}
	if h.conn.objects.ordered {
		h.enter()
	}
	h.life.End(errCallEnded)
}

func (h *hostCall) runRPC(r *dopb.RpcRequest) {
	value, err := h.invokeRPC(r)
	if err == nil && len(value.Bytes) > MaxValueBytes {
		err = tooLarge(len(value.Bytes))
		value.Drop()
		value = Value{}
	}
	reply := &dopb.RpcResponse{Value: value.Bytes}
	if err == nil && len(value.Stubs) > 0 {
		reply, err = h.keep(value)
	}
	frame := &dopb.HostFrame{Result: &dopb.HostFrame_Rpc{Rpc: reply}}
	if err != nil {
		frame = h.errorFrame(err)
	}
	if len(h.args) > 0 {
		frame.Kept = giveBack(h.args)
	}
	if followed := h.settle(frame); followed != nil && len(value.Stubs) == 0 {
		followed.complete(value, err)
	}
	// References end behind the reply, which may name what they are to.
	value.Drop()
}

func (h *hostCall) invokeRPC(r *dopb.RpcRequest) (value Value, err error) {
	defer recoverInto(&err)
	in := invocationOf(r, h.args)
	if handler, ok := h.conn.objects.handler.(InvokeHandler); ok {
		return handler.Invoke(&h.ctx, h.target, in)
	}
	return in.Plain(func(method string, args []byte) ([]byte, error) {
		return h.conn.objects.handler.Call(&h.ctx, h.target, method, args)
	})
}

// keep lists the stubs of the call's result for the caller, and keeps it for the calls that follow this one.
func (h *hostCall) keep(v Value) (*dopb.RpcResponse, error) {
	c := h.conn
	c.mu.Lock()
	if h.result == nil {
		h.result = newResult()
	}
	r := h.result
	c.mu.Unlock()
	reply, err := c.session.response(v, &r.chain)
	r.complete(v, err)
	if err != nil {
		r.release()
		return nil, err
	}
	c.session.keep(h.id, r)
	return reply, nil
}

// resultOf returns the result that the call of an id has, or will have; nil when the caller has it.
func (c *callerConn) resultOf(id uint64) *result {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.calls[id]
	if h == nil {
		return c.session.kept(id)
	}
	if h.call.GetRpc() == nil {
		return nil
	}
	if h.result == nil {
		h.result = newResult()
	}
	return h.result
}

// pushStub queues a frame about stubs.
func (c *callerConn) pushStub(f *dopb.StubFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, &dopb.HostFrame{Result: &dopb.HostFrame_Stub{Stub: f}})
	c.wakeWriter()
}

// spawnStub runs a call of a stub, unless the server drains.
func (c *callerConn) spawnStub(f func()) bool {
	s := c.objects.server
	if !s.begin() {
		return false
	}
	s.goroutines.Go(func() {
		defer s.calls.Done()
		f()
	})
	return true
}

// stubOutcome is what the caller is told of the error of a stub's call, having logged the cause of an internal one.
func (c *callerConn) stubOutcome(ctx context.Context, err error) *Error {
	e := FromError(err)
	LogInternal(ctx, c.objects.server.log, e)
	return e
}

func (h *hostCall) runFetch(r *dopb.HttpRequest) {
	w := &responseWriter{call: h, header: http.Header{}}
	err := h.invokeFetch(w, r)
	w.finish(err)
}

func (h *hostCall) invokeFetch(w *responseWriter, r *dopb.HttpRequest) (err error) {
	defer recoverInto(&err)
	req, err := h.incomingRequest(r)
	if err != nil {
		return err
	}
	return h.conn.objects.handler.Fetch(&h.ctx, h.target, w, req)
}

// recoverInto turns a panic into an internal error.
func recoverInto(err *error) {
	if v := recover(); v != nil {
		*err = panicError(v)
	}
}

// errorFrame returns what the caller is told of err, having logged the cause of an internal error.
func (h *hostCall) errorFrame(err error) *dopb.HostFrame {
	e := h.outcome(err)
	return &dopb.HostFrame{Result: &dopb.HostFrame_Error{Error: ToCallError(e)}}
}

func (h *hostCall) outcome(err error) *Error {
	if err != nil && h.ctx.Err() != nil && errors.Is(err, context.Cause(&h.ctx)) {
		err = h.ctx.Err() // not the text of the cause, which is ours
	}
	e := FromError(err)
	LogInternal(&h.ctx, h.conn.objects.server.log, e)
	return e
}

// settle sends the frame that ends the call; nil when the caller has it already. It returns what other calls follow.
func (h *hostCall) settle(f *dopb.HostFrame) *result {
	c := h.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, h.id)
	if f != nil {
		f.CallId = h.id
		c.queue = append(c.queue, f)
	}
	c.wakeWriter()
	return h.result
}

// push sends a frame that does not end the call.
func (h *hostCall) push(f *dopb.HostFrame) {
	c := h.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	f.CallId = h.id
	c.queue = append(c.queue, f)
	c.wakeWriter()
}

func (c *callerConn) refuseLocked(id uint64, e *Error) {
	c.queue = append(c.queue, &dopb.HostFrame{CallId: id, Result: &dopb.HostFrame_Error{Error: ToCallError(e)}})
	c.wakeWriter()
}

func (c *callerConn) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// endOfCalls notes that the caller sends no more calls.
func (c *callerConn) endOfCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.wakeWriter()
}

// drain tells the caller which calls are the last that run.
func (c *callerConn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.queue = append(c.queue, &dopb.HostFrame{
		CallId: c.last, Result: &dopb.HostFrame_Draining{Draining: &dopb.Draining{}},
	})
	c.wakeWriter()
}

// take returns the frames that wait, and leaves spare in their place. It reports whether they are the last.
func (c *callerConn) take(spare []*dopb.HostFrame) (frames []*dopb.HostFrame, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	frames = c.queue
	c.queue = spare
	return frames, c.closed && len(c.calls) == 0 && c.session.idle()
}
