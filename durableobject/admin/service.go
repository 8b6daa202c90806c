package admin

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/durableobject/alarm"
	"github.com/tandem-do/tandem/durableobject/storage"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/objectid"
)

const (
	// readTimeout bounds a read of one page, actTimeout an action without a wait of its own, streamTimeout an export
	// or import, MaxWait the wait for an eviction or an alarm.
	readTimeout   = 30 * time.Second
	actTimeout    = 30 * time.Second
	streamTimeout = 15 * time.Minute
	// MaxWait is how long EvictObject and RunAlarm wait at most.
	MaxWait = time.Minute
)

// The errors of Host's methods.
var (
	// ErrNotLive: the object has no live actor.
	ErrNotLive = errors.New("the object is not live")
	// ErrActive: events are under way in the object.
	ErrActive = errors.New("events are under way in the object")
	// ErrBusy: another operator's action on the object is under way.
	ErrBusy = errors.New("another action on this object is under way; try again")
	// ErrDraining: the host takes nothing new.
	ErrDraining = errors.New("the host is draining")
	// ErrNoClass: the host has no class for the namespace.
	ErrNoClass = errors.New("the host has no class for this namespace")
	// ErrPending: the wait was over before the run had ended.
	ErrPending = errors.New("the run has not ended yet")
)

// HostState is what is known of a host.
type HostState struct {
	// Epoch is zero if it has not joined.
	Epoch uint64
	// Draining is true when it takes no new calls.
	Draining bool
}

// Host is what the service asks of the host whose store it serves. Its methods may be called from any goroutine.
type Host interface {
	// State returns the host's own state.
	State() HostState
	// Namespaces returns the namespaces that the host has classes for, sorted.
	Namespaces() []string
	// Actor returns what the object's actor is doing, if there is one, live or broken.
	Actor(namespace string, id objectid.ID) (actor.Snapshot, bool)
	// Evict ends the object's actor once nothing is under way in it. Errors: ErrNotLive; ErrActive after wait.
	Evict(ctx context.Context, namespace string, id objectid.ID, wait time.Duration) error
	// Abort breaks the object's actor; its callers get message. Errors: ErrNotLive.
	Abort(namespace string, id objectid.ID, message string) error
	// Replace breaks the object's actor, if there is one, and calls change while none can be made; events that come
	// meanwhile are refused with message. It says whether there was a live one. Errors: ErrBusy, ErrDraining,
	// change's.
	Replace(namespace string, id objectid.ID, message string, change func() error) (wasLive bool, err error)
	// RunAlarm has the object's alarm run now, and returns how the run ended; alarm.Stale if there is none. Errors:
	// ErrNoClass, ErrDraining, ErrPending when ctx ends first.
	RunAlarm(ctx context.Context, namespace string, id objectid.ID) (alarm.Outcome, error)
}

// Service implements dopb.AdminServiceServer.
type Service struct {
	dopb.UnimplementedAdminServiceServer
	store *storage.Store
	host  Host
	// importing is held by the one import that may be under way, since it holds a whole object in memory.
	importing sync.Mutex
}

var _ dopb.AdminServiceServer = (*Service)(nil)

// New returns the service of a store. host is nil for a store at rest.
func New(store *storage.Store, host Host) *Service { return &Service{store: store, host: host} }

// admit says whether the caller may use the service.
func admit(ctx context.Context) error {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil // a call within the process
	}
	if a, ok := p.Addr.(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		return status.Error(codes.PermissionDenied,
			"the admin service is for the host's own machine only: use its unix socket or a loopback address")
	}
	return nil
}

// act says whether the caller may use the service to change something.
func (s *Service) act(ctx context.Context) error {
	if err := admit(ctx); err != nil {
		return err
	}
	if s.host == nil {
		return status.Error(codes.FailedPrecondition, "no host runs these objects: this needs one")
	}
	return nil
}

// outcome returns an error as the service's callers get it. What it does not know stays as it is, for the server to
// hide.
func outcome(err error) error {
	var code codes.Code
	switch {
	case errors.Is(err, ErrNotLive):
		code = codes.NotFound
	case errors.Is(err, ErrActive), errors.Is(err, ErrNoClass):
		code = codes.FailedPrecondition
	case errors.Is(err, ErrBusy):
		code = codes.Aborted
	case errors.Is(err, ErrDraining):
		code = codes.Unavailable
	case errors.Is(err, storage.ErrFull):
		code = codes.ResourceExhausted
	default:
		return err
	}
	return status.Error(code, err.Error())
}

func notFound(o object) error {
	return status.Errorf(codes.NotFound, "namespace %q has no object %s", o.namespace, o.id)
}

// info returns who replies.
func (s *Service) info() *dopb.HostInfo {
	if s.host == nil {
		return &dopb.HostInfo{HostId: s.store.HostID(), Epoch: s.store.Epoch(), AtRest: true}
	}
	st := s.host.State()
	return &dopb.HostInfo{HostId: s.store.HostID(), Epoch: st.Epoch, Draining: st.Draining}
}
