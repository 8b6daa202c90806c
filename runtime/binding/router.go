package binding

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

const (
	// defaultPatience is how long a call waits for its object's host to be reachable.
	defaultPatience = 5 * time.Second
	// firstPause and maxPause bound the pauses between two attempts of a call, which double.
	firstPause = 20 * time.Millisecond
	maxPause   = 500 * time.Millisecond
)

// Router is a sidecar.Caller that finds the host of each call's object, or the processes of each call's Worker, which
// take turns: it asks the router once per slot or Worker, remembers the answer, and asks again when a host refuses the
// epoch, drains or cannot be reached.
//
// A call that has surely not run is made again, until it runs or Patience is over, which is
// ReasonUnplaced. A Worker that the router does not know is ReasonNoSuchWorker at once. A call that may have run is
// never made again: ReasonDisconnected is the caller's to judge. It may be used from any goroutine.
type Router struct {
	o RouterOptions

	mu sync.RWMutex // guards all below
	// cache holds what Locate said; lookups are the questions under way.
	cache   map[slotKey]*location
	lookups map[slotKey]*lookup
	// links are the connections to hosts, by host_id, and to Workers' processes, by linkKey.
	links  map[string]*hostLink
	closed bool

	// first counts the look-ups of Workers: which of the processes takes the first call after one.
	first atomic.Uint32

	wg sync.WaitGroup // lookups, and links that are being closed
	// closing is closed by Close.
	closing chan struct{}
}

var _ sidecar.Invoker = (*Router)(nil)

// RouterOptions say how a Router works.
type RouterOptions struct {
	// Client is the router process.
	Client routerpb.RouterServiceClient
	// LocalHostID and Local, when set, deliver calls for objects placed on this very host without a wire.
	LocalHostID string
	Local       sidecar.Caller
	// Patience is how long a call is tried again while it has surely not run. Default: 5 s.
	Patience time.Duration
	// CallTimeout is the deadline of a call whose context has none, as in sidecar.LinkOptions; zero means none.
	CallTimeout time.Duration
	// Dial connects to a host. Default: sidecar.Dial.
	Dial func(target string) (*grpc.ClientConn, error)
}

// NewRouter returns a router. Close it to end its links.
func NewRouter(o RouterOptions) *Router {
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	if o.Dial == nil {
		o.Dial = func(target string) (*grpc.ClientConn, error) { return sidecar.Dial(target) }
	}
	return &Router{
		o: o, cache: map[slotKey]*location{}, lookups: map[slotKey]*lookup{}, links: map[string]*hostLink{},
		closing: make(chan struct{}),
	}
}

// Fetch implements sidecar.Caller. A body of at most sidecar.MaxInlineBodyBytes with a known length is held
// in memory; a larger one is not touched before an object reads it, after which the call is not made again.
func (r *Router) Fetch(ctx context.Context, t sidecar.Target, req *http.Request) (*http.Response, error) {
	body, err := newReplay(req)
	if err != nil {
		return nil, err
	}
	defer body.release()
	var resp *http.Response
	err = r.send(ctx, t, body.again, func(c sidecar.Caller, t sidecar.Target) (err error) {
		resp, err = c.Fetch(ctx, t, body.request()) //nolint:bodyclose // the caller closes it
		return err
	})
	if err != nil {
		body.abandon()
		return nil, err
	}
	resp.Request = req
	return resp, nil
}

// Call implements sidecar.Caller.
func (r *Router) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	var value []byte
	err := r.send(ctx, t, always, func(c sidecar.Caller, t sidecar.Target) (err error) {
		value, err = c.Call(ctx, t, method, args)
		return err
	})
	return value, err
}

// Invoke implements sidecar.Invoker.
func (r *Router) Invoke(ctx context.Context, t sidecar.Target, in sidecar.Invocation) (sidecar.Value, error) {
	var value sidecar.Value
	err := r.send(ctx, t, always, func(c sidecar.Caller, t sidecar.Target) (err error) {
		value, err = sidecar.Invoke(ctx, c, t, in)
		return err
	})
	return value, err
}

func always() bool { return true }

// send makes a call where its object runs, and makes it again while it has surely not run and again says
// that it can be. Errors are *sidecar.Error.
func (r *Router) send(ctx context.Context, t sidecar.Target, again func() bool,
	call func(sidecar.Caller, sidecar.Target) error,
) error {
	w := waiter{patience: r.o.Patience}
	key := keyOf(&t)
	for {
		at, err := r.locate(ctx, key, t.ID)
		if err == nil {
			t.Epoch = at.epoch
			if err = call(at.next(), t); err == nil {
				return nil
			}
			if !surelyNotRun(err) {
				return err
			}
			r.forget(key, at)
			if !again() {
				return away(&t, err)
			}
		} else if !worthAsking(err) {
			return err
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return sidecar.FromError(ctx.Err())
		}
		if r.isClosed() || !w.wait(ctx) {
			return away(&t, err)
		}
	}
}

// away is unplaced for a target.
func away(t *sidecar.Target, cause error) *sidecar.Error {
	e := unplaced(cause)
	if t.Worker != "" && e.Message == messageUnplaced {
		e.Message = fmt.Sprintf("Worker %q cannot be reached at present.", t.Worker)
	}
	return e
}

// surelyNotRun reports whether the call of err has not run and may be made again elsewhere.
func surelyNotRun(err error) bool {
	e, ok := errors.AsType[*sidecar.Error](err)
	if !ok || e.Remote {
		return false
	}
	switch e.Reason {
	case sidecar.ReasonStaleEpoch, sidecar.ReasonDraining:
		return true
	case sidecar.ReasonDisconnected:
		return errors.Is(err, sidecar.ErrNotSent)
	}
	return false
}

// worthAsking reports whether the router may answer otherwise soon.
func worthAsking(err error) bool {
	e, ok := errors.AsType[*sidecar.Error](err)
	if !ok {
		return false
	}
	switch e.Reason {
	case sidecar.ReasonUnplaced, sidecar.ReasonDisconnected, sidecar.ReasonDraining, sidecar.ReasonDeadline:
		return true
	}
	return false
}

const messageUnplaced = "The object cannot be reached at present."

// unplaced says that a call was given up before it ran.
func unplaced(cause error) *sidecar.Error {
	e := &sidecar.Error{
		Reason: sidecar.ReasonUnplaced, Message: messageUnplaced, Retryable: true,
		Cause: errors.Join(sidecar.ErrNotSent, cause),
	}
	if c, ok := errors.AsType[*sidecar.Error](cause); ok && c.Reason == sidecar.ReasonUnplaced {
		e.Message = c.Message
	}
	return e
}

// waiter makes the pauses between the attempts of one call: none before the second, since what was remembered
// may just have been old, then longer and longer ones.
type waiter struct {
	patience time.Duration
	until    time.Time
	pause    time.Duration
}

// wait waits for the next attempt's time. It reports false at once when that is too late.
func (w *waiter) wait(ctx context.Context) bool {
	now := time.Now()
	if w.until.IsZero() {
		w.until = now.Add(w.patience)
		if d, ok := ctx.Deadline(); ok && d.Before(w.until) {
			w.until = d
		}
		w.pause = firstPause
		return now.Before(w.until)
	}
	pause := w.pause/2 + rand.N(w.pause/2)
	if !now.Add(pause).Before(w.until) {
		return false
	}
	w.pause = min(2*w.pause, maxPause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return true // the next attempt says why
	}
}

// Close ends every link: calls under way fail as disconnected, new ones as unplaced.
func (r *Router) Close() error {
	r.mu.Lock()
	if !r.closed {
		close(r.closing)
	}
	r.closed = true
	links := r.links
	r.links, r.cache = map[string]*hostLink{}, map[slotKey]*location{}
	for _, l := range r.lookups {
		l.cancel()
	}
	r.mu.Unlock()
	var err error
	for id, l := range links {
		if e := l.close(); e != nil {
			err = errors.Join(err, fmt.Errorf("close the link to host %s: %w", id, e))
		}
	}
	r.wg.Wait()
	return err
}

func (r *Router) isClosed() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.closed
}

// slotKey names a slot of a namespace, or a Worker, which has no namespace.
type slotKey struct {
	namespace string
	slot      uint32
	worker    string
}

func keyOf(t *sidecar.Target) slotKey {
	if t.Worker != "" {
		return slotKey{worker: t.Worker}
	}
	return slotKey{namespace: t.Namespace, slot: t.ID.Slot()}
}
