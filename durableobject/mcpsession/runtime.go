package mcpsession

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
)

var errDisposed = errors.New("the session's runtime was disposed of")

// caller is on whose behalf, and through which object, a tool of the MCP server is called.
type caller struct {
	env   *environment
	state *durableobject.State
	owner props.Identity
	// mode is the elicitation mode; empty if a request that stands alone names none.
	mode string
	// approvals is where pauses are answered with ElicitationBrowser: see HeaderApprovals.
	approvals string
	// asks is set where a pause is put to the client of a request that stands alone.
	asks bool
	// rt is the session's runtime; nil for a request that stands alone.
	rt *runtime
}

// callerKey finds the caller in the contexts that the SDK gives to handlers.
type callerKey struct{}

// runtime is what a session has in memory between its first use and its disposal: the SDK's server session, the streams
// and the events kept for them. Its goroutine keeps the object alive. Its methods may be called from any goroutine.
type runtime struct {
	caller caller
	// ctx ends at disposal, with a cause. It carries the caller and nothing else.
	ctx    context.Context
	cancel context.CancelCauseFunc
	events *eventStore

	// ready is closed when transport, or err, is set; closed when nothing of the runtime is left.
	ready, closed chan struct{}
	transport     *mcp.StreamableServerTransport
	server        *mcp.ServerSession
	err           error

	// mu guards the fields below.
	mu       sync.Mutex
	inflight int
	// quiet is closed when nothing is in flight, if somebody waits for that.
	quiet chan struct{}
	// lastActive is when the last request or call began or ended.
	lastActive time.Time
	// paused has the paused executions that the session was told of, with their deadlines.
	paused map[executionID]time.Time
	// attached has the exchange of each stream that a client is attached to, calls those not answered yet.
	attached map[string]*exchange
	calls    map[string]*pendingCall
}

// newRuntime makes the runtime of a session. Call it in a turn. saved is what the SDK must know of a session that was
// initialized before; nil for a new one.
func newRuntime(ctx context.Context, c caller, saved *mcp.ServerSessionState) *runtime {
	rt := &runtime{
		events: newEventStore(c.state.ID().String()), ready: make(chan struct{}), closed: make(chan struct{}),
		lastActive: c.state.Clock().Now(), paused: map[executionID]time.Time{},
		attached: map[string]*exchange{}, calls: map[string]*pendingCall{},
	}
	c.rt = rt
	rt.caller = c
	rt.ctx, rt.cancel = context.WithCancelCause(detached{ctx})
	rt.events.opened, rt.events.answered = rt.streamOpened, rt.answered
	c.state.WaitUntil(func(ctx context.Context) error { return rt.live(ctx, saved) })
	return rt
}

// live connects the SDK, and closes everything when the runtime is disposed of or the object ends.
func (rt *runtime) live(object context.Context, saved *mcp.ServerSessionState) error {
	defer close(rt.closed)
	defer context.AfterFunc(object, func() { rt.cancel(context.Cause(object)) })()
	defer rt.cancel(errDisposed)
	rt.transport = &mcp.StreamableServerTransport{SessionID: rt.events.session, EventStore: rt.events}
	ctx := context.WithValue(rt.ctx, callerKey{}, &rt.caller)
	server, err := rt.caller.env.server(rt.caller.mode).Connect(ctx, rt.transport, &mcp.ServerSessionOptions{State: saved})
	rt.server, rt.err = server, err
	close(rt.ready)
	if err != nil {
		return err
	}
	select {
	case <-rt.ctx.Done():
	case <-rt.caller.env.Draining:
		rt.untilQuiet()
		rt.cancel(errDisposed)
	}
	return server.Close()
}

// untilQuiet waits until nothing is in flight, or the runtime's end.
func (rt *runtime) untilQuiet() {
	rt.mu.Lock()
	quiet := make(chan struct{})
	if rt.inflight == 0 {
		close(quiet)
	} else {
		rt.quiet = quiet
	}
	rt.mu.Unlock()
	select {
	case <-quiet:
	case <-rt.ctx.Done():
	}
}

// connected waits until the SDK is.
func (rt *runtime) connected(ctx context.Context) error {
	select {
	case <-rt.ready:
		return rt.err
	case <-ctx.Done():
		return props.ErrUnavailable
	}
}

// gone reports whether the runtime was disposed of.
func (rt *runtime) gone() bool { return rt.ctx.Err() != nil }

// begin notes that a request or call has begun, end that it has ended.
func (rt *runtime) begin() { rt.count(1) }
func (rt *runtime) end()   { rt.count(-1) }

func (rt *runtime) count(n int) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.inflight += n
	rt.lastActive = rt.caller.state.Clock().Now()
	if rt.inflight == 0 && rt.quiet != nil {
		close(rt.quiet)
		rt.quiet = nil
	}
}

// notePaused notes that the session's client was told of a paused execution.
func (rt *runtime) notePaused(p *pause) {
	id, err := parseExecutionID(p.ID)
	if err != nil {
		return
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.paused[id] = p.Deadline
}

// noteAnswered notes that a paused execution was resumed.
func (rt *runtime) noteAnswered(id executionID) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	delete(rt.paused, id)
}

// activity says what the runtime has been doing. Pauses whose deadline has passed no longer count.
func (rt *runtime) activity(now time.Time) sessionActivity {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for id, deadline := range rt.paused {
		if !deadline.After(now) {
			delete(rt.paused, id)
		}
	}
	return sessionActivity{lastActive: rt.lastActive, inflight: rt.inflight, paused: len(rt.paused)}
}

// takePaused returns the paused executions and forgets them.
func (rt *runtime) takePaused() []executionID {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	ids := make([]executionID, 0, len(rt.paused))
	for id := range rt.paused {
		ids = append(ids, id)
	}
	clear(rt.paused)
	return ids
}
