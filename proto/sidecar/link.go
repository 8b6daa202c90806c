package sidecar

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"

	"github.com/tandem-do/tandem/proto/lifetime"
)

// ErrClosed is in the chain of the errors of a Link that has been closed.
var ErrClosed = errors.New("the link is closed")

// Link carries calls to one host over one connection, multiplexed on one stream. The first call opens the
// stream; after its loss, or once the host drains, the next call opens another. It may be used from any
// goroutine.
//
// A call in flight when the stream is lost fails with ReasonDisconnected: it may have run. When it never
// left this process, ErrNotSent is in the error's chain.
type Link struct {
	client  dopb.ObjectServiceClient
	timeout time.Duration        // LinkOptions.CallTimeout
	budget  *durationpb.Duration // the same on the wire; nil without one
	ctx     context.Context      // the link's lifetime; ends with Close
	cancel  context.CancelCauseFunc
	wg      sync.WaitGroup // the streams' goroutines, and the uploads

	mu sync.Mutex // guards cur, closed and everything in the streams
	// cur takes new calls; nil before the first, and after a loss.
	cur *linkStream
	// closed is true from Close on.
	closed bool
}

var _ Caller = (*Link)(nil)

// LinkOptions say how a Link works.
type LinkOptions struct {
	// CallTimeout is the deadline of a call whose context has none; zero means that such a call has none. It costs less
	// than a deadline of the context, and is kept to a sixteenth of itself, at most a second. For a Fetch it holds until
	// the response's head.
	CallTimeout time.Duration
}

// NewLink returns a link over conn, which stays the caller's. Close ends it, failing what is under way as
// disconnected.
func NewLink(conn grpc.ClientConnInterface, o LinkOptions) *Link {
	l := &Link{client: dopb.NewObjectServiceClient(conn), timeout: max(0, o.CallTimeout)}
	if l.timeout > 0 {
		l.budget = durationpb.New(l.timeout)
	}
	l.ctx, l.cancel = newLifetime()
	return l
}

// Close ends the link: what is under way fails with ReasonDisconnected. It waits for the link's
// goroutines; one that reads a request's body waits for that Read, having closed the body.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel(ErrClosed)
	l.wg.Wait()
	return nil
}

// Call implements Caller. Stubs in the result are dropped.
func (l *Link) Call(ctx context.Context, t Target, method string, args []byte) ([]byte, error) {
	c := newCall(ctx, t)
	c.Event = &dopb.Call_Rpc{Rpc: &dopb.RpcRequest{Method: method, Arguments: args}}
	v, err := l.call(ctx, c, &pendingCall{})
	v.Drop()
	return v.Bytes, err
}

// Invoke implements Invoker.
func (l *Link) Invoke(ctx context.Context, t Target, in Invocation) (Value, error) {
	request, err := in.request()
	if err != nil {
		return Value{}, err
	}
	c := newCall(ctx, t)
	c.Event = &dopb.Call_Rpc{Rpc: request}
	return l.call(ctx, c, &pendingCall{pending: in.Pending, args: in.Args.Stubs, request: request})
}

func (l *Link) call(ctx context.Context, c *dopb.Call, p *pendingCall) (Value, error) {
	reply, err := l.roundTrip(ctx, c, p)
	if err != nil {
		return Value{}, err
	}
	rpc, ok := reply.GetResult().(*dopb.HostFrame_Rpc)
	if !ok {
		return Value{}, internalError(errors.New("the host answered a method call with something else"))
	}
	return Value{Bytes: rpc.Rpc.GetValue(), Stubs: p.stubs}, nil
}

// Fetch implements Caller. Like an http.RoundTripper it closes the request's body, perhaps after it has
// returned. A body of at most MaxInlineBodyBytes whose length is known is read before the call is sent;
// any other is not touched before the object reads it.
func (l *Link) Fetch(ctx context.Context, t Target, r *http.Request) (*http.Response, error) {
	head, up, err := l.outgoingRequest(r)
	if err != nil {
		return nil, err
	}
	c := newCall(ctx, t)
	c.Event = &dopb.Call_Fetch{Fetch: head}
	p := &pendingCall{upload: up}
	reply, err := l.roundTrip(ctx, c, p)
	if err != nil {
		up.end()
		return nil, err
	}
	f, ok := reply.GetResult().(*dopb.HostFrame_Fetch)
	if !ok {
		err := internalError(errors.New("the host answered a request with something else"))
		up.end()
		return nil, err
	}
	return l.response(ctx, r, p, f.Fetch)
}

func newCall(ctx context.Context, t Target) *dopb.Call {
	trace := traceOf(ctx)
	c := &dopb.Call{
		Props: t.Props, Traceparent: trace.parent, Tracestate: trace.state, Depth: depthOf(ctx),
	}
	if t.Worker != "" {
		c.Service = &dopb.ServiceTarget{Worker: t.Worker, Entrypoint: t.Entrypoint}
	} else {
		c.Namespace, c.ObjectId, c.Epoch = t.Namespace, t.ID[:], t.Epoch
		if t.HasName {
			c.ObjectName = &t.Name
		}
	}
	if deadline, ok := ctx.Deadline(); ok {
		c.Timeout = durationpb.New(time.Until(deadline))
	}
	return c
}

// roundTrip sends a call and waits for the frame that settles it. Errors are *Error.
func (l *Link) roundTrip(ctx context.Context, c *dopb.Call, p *pendingCall) (*dopb.HostFrame, error) {
	if err := validateCall(c); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, contextError(ctx, errors.Join(ErrNotSent, err))
	}
	p.settled = make(chan settlement, 1)
	if _, ok := ctx.Deadline(); !ok && l.timeout > 0 {
		c.Timeout, p.expires = l.budget, time.Now().Add(l.timeout)
	}
	if err := l.begin(p, c); err != nil {
		return nil, err
	}
	if p.pending != nil {
		p.pending.sentBy(&follower{session: &p.stream.session}, p.id)
	}
	sent(ctx)
	ends := lifetime.EndsOf(ctx)
	select {
	case s := <-p.settled:
		if s.err != nil {
			p.stream.session.withdraw(p.exports, nil)
			return nil, s.err
		}
		if e, ok := s.frame.GetResult().(*dopb.HostFrame_Error); ok {
			return nil, FromCallError(e.Error)
		}
		return s.frame, nil
	case <-ends[0]:
	case <-ends[1]:
	case <-ends[2]:
	}
	l.abandon(p)
	return nil, contextError(ctx, ctx.Err())
}

// contextError says that ctx ended a call, with its cause for this process.
func contextError(ctx context.Context, cause error) *Error {
	e := FromError(ctx.Err())
	e.Cause = cause
	return e
}

// begin puts a call on the present stream's queue.
func (l *Link) begin(p *pendingCall, c *dopb.Call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return notSent(ErrClosed)
	}
	if l.cur == nil {
		s := newLinkStream(l)
		l.cur = s
		l.wg.Go(s.run)
	}
	s := l.cur
	if len(s.calls) >= MaxCallsInFlight {
		return overloaded("Too many calls are in flight to this host.")
	}
	if len(p.args) > 0 {
		var err error
		if p.request.Stubs, p.exports, err = s.session.export(p.args, nil); err != nil {
			return err
		}
	}
	s.last++
	p.stream, p.id = s, s.last
	s.calls[p.id] = p
	s.sweepLaterLocked(p)
	s.pushLocked(&dopb.CallerFrame{CallId: p.id, Frame: &dopb.CallerFrame_Call{Call: c}})
	return nil
}

// abandon ends this side's interest in a call, and tells the host.
func (l *Link) abandon(p *pendingCall) {
	l.mu.Lock()
	s := p.stream
	waits := s.calls[p.id] == p
	if waits {
		delete(s.calls, p.id)
	}
	// Also when a reply has arrived already: its body may be waiting to be collected.
	s.pushLocked(&dopb.CallerFrame{CallId: p.id, Frame: &dopb.CallerFrame_Cancel{Cancel: &dopb.Cancel{}}})
	l.mu.Unlock()
	if waits {
		s.session.withdraw(p.exports, nil)
		return
	}
	<-p.settled // it came at the same time
	Value{Stubs: p.stubs}.Drop()
}

// startUpload starts sending a call's body, unless the link is closed.
func (l *Link) startUpload(up *upload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.wg.Go(func() { up.run(l.client) })
	}
}
