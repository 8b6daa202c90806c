package script

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/deploy"
)

const (
	// OldTimeout is how long the events of a version may go on after another one has taken its place.
	OldTimeout = 5 * time.Minute
	// maxOld is how many versions may be finishing at once; those before are cut off.
	maxOld = 4
	// oldPoll is how often a version that is finishing is looked at.
	oldPoll = 20 * time.Millisecond
)

// versions takes events to the version of the Worker that is to run, and lets those of earlier ones finish.
type versions struct {
	options Options
	caller  sidecar.Caller
	// current is the version that takes new events.
	current atomic.Pointer[Script]
	// changed gets a token with each new version.
	changed chan struct{}
	// registered is closed once the router has answered the first registration, or has not in time.
	registered chan struct{}

	// finishing counts the goroutines that wait for old versions.
	finishing sync.WaitGroup
	mu        sync.Mutex // guards what follows
	// old are the versions that are finishing, the oldest first, each with what cuts it off.
	old []context.CancelFunc
	// closed is true once no version may come.
	closed bool
}

var (
	_ http.Handler          = (*versions)(nil)
	_ sidecar.InvokeHandler = (*versions)(nil)
)

func newVersions(ctx context.Context, o Options, caller sidecar.Caller) (*versions, error) {
	s, err := New(ctx, o, caller)
	if err != nil {
		return nil, err
	}
	v := &versions{options: s.o, caller: caller, changed: make(chan struct{}, 1), registered: make(chan struct{})}
	v.current.Store(s)
	return v, nil
}

// enter counts an event of the version that takes it; leave has to be called when it is over.
func (v *versions) enter() *Script {
	for {
		s := v.current.Load()
		s.running.Add(1)
		if !s.retired.Load() {
			return s
		}
		s.leave() // another version came between the two steps
	}
}

func (s *Script) leave() { s.running.Add(-1) }

// ServeHTTP implements http.Handler.
func (v *versions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := v.enter()
	defer s.leave()
	s.ServeHTTP(w, r)
}

// Fetch implements sidecar.Handler.
func (v *versions) Fetch(ctx context.Context, t sidecar.Target, w http.ResponseWriter, r *http.Request) error {
	s := v.enter()
	defer s.leave()
	return entrypoints{s}.Fetch(ctx, t, w, r)
}

// Call implements sidecar.Handler.
func (v *versions) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	s := v.enter()
	defer s.leave()
	return entrypoints{s}.Call(ctx, t, method, args)
}

// Invoke implements sidecar.InvokeHandler.
func (v *versions) Invoke(ctx context.Context, t sidecar.Target, in sidecar.Invocation) (sidecar.Value, error) {
	s := v.enter()
	defer s.leave()
	if t.Entrypoint == cron.Entrypoint {
		return in.Plain(func(method string, args []byte) ([]byte, error) { return entrypoints{s}.Call(ctx, t, method, args) })
	}
	return entrypoints{s}.Invoke(ctx, t, in)
}

// Scheduled takes a scheduled event to the version that is to run.
func (v *versions) Scheduled(ctx context.Context, e cron.Event) (cron.Result, error) {
	s := v.enter()
	defer s.leave()
	return s.Scheduled(ctx, e)
}

// replace starts a version and has it take new events; it is deploy.Options.Switch. Events of the one before finish, for
// OldTimeout at most.
func (v *versions) replace(ctx context.Context, next deploy.Version) error {
	o := v.options
	o.Bundle, o.Secrets = next.Bundle, next.Secrets
	s, err := New(ctx, o, v.caller)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		s.Close()
		return deploy.ErrEnding
	}
	old := v.current.Swap(s)
	old.retired.Store(true)
	if len(v.old) == maxOld {
		v.old[0]()
		v.old = append(v.old[:0:0], v.old[1:]...)
	}
	finish, cut := context.WithTimeout(context.WithoutCancel(ctx), OldTimeout)
	v.old = append(v.old, cut)
	v.finishing.Go(func() {
		defer cut()
		old.finish(finish)
	})
	select {
	case v.changed <- struct{}{}:
	default:
	}
	return nil
}

// finish waits until a version has no more events, or ctx ends, and closes it.
func (s *Script) finish(ctx context.Context) {
	tick := time.NewTicker(oldPoll)
	defer tick.Stop()
	for s.running.Load() > 0 || s.pool.open() > 0 {
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
			s.log.Warn("events of a version that was replaced are cut off", "bundle", s.o.Bundle.Hash()[:12],
				"running", s.running.Load())
		}
		break
	}
	s.Close()
	s.log.Debug("a version that was replaced has ended", "bundle", s.o.Bundle.Hash()[:12])
}

// close ends all versions: events that run fail.
func (v *versions) close() {
	v.mu.Lock()
	v.closed = true
	for _, cut := range v.old {
		cut()
	}
	v.mu.Unlock()
	v.current.Load().Close()
	v.finishing.Wait()
}
