package mcpsession

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/telemetry"
)

const (
	headerLastEventID = "Last-Event-ID"
	// replaceTimeout is how long a call waits for an abandoned one with the same id to end.
	replaceTimeout = 2 * time.Second
)

// exchange is one HTTP request that is attached to a stream of the session: a POST to a stream of its own, a GET to the
// standalone stream or, with Last-Event-ID, to any.
type exchange struct {
	// stop ends it; served is closed when the SDK has let go of it.
	stop   context.CancelFunc
	served chan struct{}
	// The rest is guarded by the runtime's mu. streams are those it is attached to; gone is true when the client went away
	// before all its calls were answered, superseded when another exchange takes its stream.
	streams    []string
	gone       bool
	superseded bool
}

// pendingCall is a call that the SDK has not answered yet.
type pendingCall struct {
	by *exchange
	// answered is closed with the answer.
	answered chan struct{}
}

// exchangeKey finds the exchange of the request that a context belongs to.
type exchangeKey struct{}

// serve has the SDK answer one request and carries the answer to w as it comes. It must run outside a turn. in is nil
// for a GET.
func (rt *runtime) serve(ctx context.Context, w http.ResponseWriter, r *http.Request, in *inspected) error {
	delay := flushDelay
	if in == nil {
		delay = 0
	}
	return rt.caller.env.backlog.carry(ctx, w, delay, func(ctx context.Context, out *outlet) error {
		return rt.serveInto(ctx, out, r, in)
	})
}

// serveInto has the SDK answer one request and returns when it has let go of it. It must run outside a turn.
func (rt *runtime) serveInto(ctx context.Context, out *outlet, r *http.Request, in *inspected) error {
	x, ctx, err := rt.attach(ctx, r, in)
	if err != nil {
		return err
	}
	defer x.stop()
	defer rt.detach(x, out)
	err = rt.connected(ctx)
	if rt.wasSuperseded(x) { // before it began: its stream is one that ends at once
		out.streamOnly = true
		out.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	if err != nil {
		return err
	}
	out.ended = rt.gone
	request := r.WithContext(ctx)
	request.Header = r.Header.Clone()
	telemetry.InjectHTTP(ctx, request.Header)
	if in == nil {
		out.streamOnly, out.fresh = true, r.Header.Get("Last-Event-ID") == ""
	} else {
		request.Body = io.NopCloser(bytes.NewReader(in.body))
		out.noPrime, out.message = in.initialize, in
	}
	rt.transport.ServeHTTP(out, request)
	return nil
}

// attach makes the exchange of a request and its context. It takes over from an older exchange of the same stream, and
// from abandoned calls with the same ids.
func (rt *runtime) attach(ctx context.Context, r *http.Request, in *inspected) (*exchange, context.Context, error) {
	ctx, err := rt.caller.env.versions.with(ctx, r.Header.Get(props.HeaderProtocolVersion))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(rt.ctx, cancel)
	x := &exchange{served: make(chan struct{})}
	x.stop = func() { unlink(); cancel() }
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	if in == nil {
		stream, _, _ := strings.Cut(r.Header.Get(headerLastEventID), "_")
		rt.supersede(x, stream)
		return x, ctx, nil
	}
	for _, id := range in.calls {
		rt.claim(ctx, x, id)
	}
	return x, ctx, nil
}

// supersede attaches x to a stream and waits until the exchange that it was attached to before has let go.
func (rt *runtime) supersede(x *exchange, stream string) {
	rt.mu.Lock()
	before := rt.attached[stream]
	rt.attached[stream] = x
	x.streams = append(x.streams, stream)
	if before != nil {
		before.superseded = true
	}
	rt.mu.Unlock()
	if before != nil {
		before.stop()
		<-before.served
	}
}

// wasSuperseded reports whether another exchange takes the stream of x.
func (rt *runtime) wasSuperseded(x *exchange) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return x.superseded
}

// streamOpened is the event store's word that the SDK made a stream for a POST.
func (rt *runtime) streamOpened(ctx context.Context, stream string) {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		rt.mu.Lock()
		defer rt.mu.Unlock()
		rt.attached[stream] = x
		x.streams = append(x.streams, stream)
	}
}

// claim makes a call pending. If one with the same id is pending whose client has gone, as happens when a new client
// takes over a session, that one is cancelled first: it would have the SDK refuse the id.
func (rt *runtime) claim(ctx context.Context, x *exchange, id string) {
	rt.mu.Lock()
	old, ok := rt.calls[id]
	if !ok {
		rt.calls[id] = &pendingCall{by: x, answered: make(chan struct{})}
	}
	abandoned := ok && old.by.gone
	rt.mu.Unlock()
	if !abandoned {
		return
	}
	rt.cancelCall(ctx, id)
	timer := time.NewTimer(replaceTimeout)
	defer timer.Stop()
	select {
	case <-old.answered:
	case <-timer.C:
	case <-ctx.Done():
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if _, taken := rt.calls[id]; !taken {
		rt.calls[id] = &pendingCall{by: x, answered: make(chan struct{})}
	}
}

// cancelCall has the SDK cancel a pending call, as its client would.
func (rt *runtime) cancelCall(ctx context.Context, id string) {
	body := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + rawRPCID(id) + `}}`
	r := (&http.Request{Method: http.MethodPost, Header: http.Header{}}).WithContext(ctx)
	r.Body = io.NopCloser(strings.NewReader(body))
	rt.transport.ServeHTTP(discard{}, r)
}

// answered is the event store's word that a call has its answer.
func (rt *runtime) answered(id string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if c := rt.calls[id]; c != nil {
		close(c.answered)
		delete(rt.calls, id)
	}
}

// detach ends an exchange, after the SDK has let go of it. Calls that the SDK has not answered go on, for a client that
// comes back with Last-Event-ID; those that it did not take end here.
func (rt *runtime) detach(x *exchange, out *outlet) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	defer close(x.served)
	x.gone = true
	if taken := out.taken(); !taken {
		for id, c := range rt.calls {
			if c.by == x {
				close(c.answered)
				delete(rt.calls, id)
			}
		}
	}
	for _, stream := range x.streams {
		if rt.attached[stream] == x {
			delete(rt.attached, stream)
		}
	}
}
