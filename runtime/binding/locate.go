package binding

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/tandem-do/tandem/proto/objectid"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
)

const (
	// maxCached is how many slots are remembered: 64 namespaces in full.
	maxCached = 64 * objectid.Slots
	// locateTimeout bounds one question to the router.
	locateTimeout = 2 * time.Second
)

// location is where the objects of a slot run, or a Worker.
type location struct {
	// epoch is that of the slot's host; zero for a Worker.
	epoch uint64
	// callers reach the slot's host, or each of the Worker's processes.
	callers []sidecar.Caller
	turn    atomic.Uint32
}

// next returns who takes the next call.
func (l *location) next() sidecar.Caller {
	if len(l.callers) == 1 {
		return l.callers[0]
	}
	return l.callers[int(l.turn.Add(1)-1)%len(l.callers)]
}

// lookup is a question to the router for which any number of calls wait.
type lookup struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when at and err are set
	at     *location
	err    error
}

// hostLink is the connection to one host.
type hostLink struct {
	address string
	conn    *grpc.ClientConn
	link    *sidecar.Link
}

func (l *hostLink) close() error { return errors.Join(l.link.Close(), l.conn.Close()) }

// locate returns where a slot is, from memory or from the router. Errors are *sidecar.Error.
func (r *Router) locate(ctx context.Context, key slotKey, id objectid.ID) (*location, error) {
	r.mu.RLock()
	at := r.cache[key]
	r.mu.RUnlock()
	if at != nil {
		return at, nil
	}
	l := r.ask(ctx, key, id)
	if l == nil {
		return nil, unplaced(sidecar.ErrClosed)
	}
	select {
	case <-l.done:
		return l.at, l.err
	case <-ctx.Done():
		return nil, sidecar.FromError(ctx.Err())
	}
}

// ask joins the question for a slot, or asks it. It returns nil when the router is closed.
func (r *Router) ask(ctx context.Context, key slotKey, id objectid.ID) *lookup {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	if l := r.lookups[key]; l != nil {
		return l
	}
	l := &lookup{done: make(chan struct{})}
	// The question outlives the call that asks first, for the others that wait; its trace is that call's.
	ctx, l.cancel = context.WithTimeout(context.WithoutCancel(ctx), locateTimeout)
	r.lookups[key] = l
	r.wg.Go(func() {
		defer l.cancel()
		l.at, l.err = r.lookUp(ctx, key, id)
		r.answer(key, l)
	})
	return l
}

// lookUp asks the router.
func (r *Router) lookUp(ctx context.Context, key slotKey, id objectid.ID) (at *location, err error) {
	if key.worker != "" {
		return r.findWorker(ctx, key.worker)
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanPlacementLocate)
	span.SetString(telemetry.AttrNamespace, key.namespace)
	defer func() { span.End(err) }()
	found, err := r.o.Client.Locate(ctx, &routerpb.LocateRequest{Namespace: key.namespace, ObjectId: id[:]})
	if err != nil {
		return nil, sidecar.FromError(err)
	}
	caller, err := r.callerFor(found)
	if err != nil {
		return nil, sidecar.FromError(fmt.Errorf("reach host %s: %w", found.GetHostId(), err))
	}
	return &location{epoch: found.GetEpoch(), callers: []sidecar.Caller{caller}}, nil
}

// answer remembers the router's answer and gives it to those who wait.
func (r *Router) answer(key slotKey, l *lookup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lookups, key)
	if l.err == nil && !r.closed {
		for other := range r.cache {
			if len(r.cache) < maxCached {
				break
			}
			delete(r.cache, other)
		}
		r.cache[key] = l.at
	}
	close(l.done)
}

// forget drops what is remembered of a slot, unless something newer is.
func (r *Router) forget(key slotKey, at *location) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache[key] == at {
		delete(r.cache, key)
	}
}

// callerFor returns the link to a host, which it makes when there is none to its present address.
func (r *Router) callerFor(found *routerpb.LocateResponse) (sidecar.Caller, error) {
	if r.o.Local != nil && found.GetHostId() == r.o.LocalHostID {
		return r.o.Local, nil
	}
	return r.link(found.GetHostId(), found.GetAddress())
}

// link returns the link under a key, which it makes when there is none to this address.
func (r *Router) link(key, address string) (sidecar.Caller, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, sidecar.ErrClosed
	}
	have := r.links[key]
	if have != nil && have.address == address {
		return have.link, nil
	}
	conn, err := r.o.Dial(address)
	if err != nil {
		return nil, err
	}
	link := sidecar.NewLink(conn, sidecar.LinkOptions{CallTimeout: r.o.CallTimeout})
	l := &hostLink{address: address, conn: conn, link: link}
	r.links[key] = l
	if have != nil {
		r.wg.Go(func() { have.close() }) //nolint:errcheck // the host is elsewhere now
	}
	return l.link, nil
}
