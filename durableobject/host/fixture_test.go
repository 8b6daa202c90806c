package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/objectid"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const leaseTTL = 6 * time.Second

// fakeRouter is a router that knows one host.
type fakeRouter struct {
	routerpb.UnimplementedRouterServiceServer

	mu    sync.Mutex // guards all below
	epoch uint64
	host  string
	// err answers everything but Locate, if set; forgotten makes renewals fail.
	err       error
	forgotten bool
	// seen are the calls, in order, without repetition.
	seen []string
}

func (f *fakeRouter) note(what string) error {
	if len(f.seen) == 0 || f.seen[len(f.seen)-1] != what {
		f.seen = append(f.seen, what)
	}
	return f.err
}

func (f *fakeRouter) Join(_ context.Context, r *routerpb.JoinRequest) (*routerpb.JoinResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.note("join " + strings.Join(r.GetNamespaces(), ",")); err != nil {
		return nil, err
	}
	f.epoch, f.host, f.forgotten = f.epoch+1, r.GetHostId(), false
	return &routerpb.JoinResponse{Epoch: f.epoch, LeaseTtl: durationpb.New(leaseTTL)}, nil
}

func (f *fakeRouter) Renew(_ context.Context, r *routerpb.RenewRequest) (*routerpb.RenewResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what := "renew"
	if r.GetDraining() {
		what = "renew draining"
	}
	if err := f.note(what); err != nil {
		return nil, err
	}
	if f.forgotten || r.GetEpoch() != f.epoch {
		return nil, status.Error(codes.NotFound, "no such lease")
	}
	return &routerpb.RenewResponse{}, nil
}

func (f *fakeRouter) Leave(context.Context, *routerpb.LeaveRequest) (*routerpb.LeaveResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &routerpb.LeaveResponse{}, f.note("leave")
}

func (f *fakeRouter) Locate(_ context.Context, r *routerpb.LocateRequest) (*routerpb.LocateResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.host == "" {
		return nil, status.Error(codes.Unavailable, "no host")
	}
	return &routerpb.LocateResponse{HostId: f.host, Address: "host", Epoch: f.epoch}, nil
}

func (f *fakeRouter) set(change func(*fakeRouter)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeRouter) calls() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.seen, "; ")
}

// stack is a host with a router and a caller, all over memory.
type stack struct {
	t      testing.TB
	store  *storage.Store
	host   *Host
	router *fakeRouter
	// caller calls the host as a worker does.
	caller *binding.Router
	log    lockedBuffer

	connsMu sync.Mutex // guards conns
	// conns are the caller's connections to the host.
	conns []net.Conn

	// stop ends the host, whose Serve then puts its error into served.
	stop   context.CancelFunc
	served chan error
	// listener is where it serves.
	listener *bufconn.Listener
	ends     []func()
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// bubble runs a test with a stack that serves, in a synctest bubble.
func bubble(t *testing.T, classes []durableobject.Class, run func(t *testing.T, s *stack)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, vfs.NewMem(), classes)
		s.serve()
		run(t, s)
		s.close()
	})
}

// newStack makes a stack whose host does not serve yet.
func newStack(t testing.TB, fs vfs.FS, classes []durableobject.Class) *stack {
	return newStackIn(t, fs, "store", classes)
}

func newStackIn(t testing.TB, fs vfs.FS, dir string, classes []durableobject.Class) *stack {
	return newStackBy(t, storage.Options{Dir: dir, FS: fs}, classes)
}

func newStackBy(t testing.TB, so storage.Options, classes []durableobject.Class) *stack {
	s := &stack{t: t, router: &fakeRouter{}, served: make(chan error, 1)}
	rl := bufconn.Listen(1 << 16)
	server := sidecar.NewServer(sidecar.ServerOptions{})
	routerpb.RegisterRouterServiceServer(server, s.router)
	s.background(func(ctx context.Context) error { return sidecar.Serve(ctx, rl, server) })
	conn := dial(t, rl)
	s.ends = append(s.ends, func() { conn.Close() })

	var err error
	if s.store, err = storage.Open(so); err != nil {
		t.Fatal(err)
	}
	s.host, err = New(Options{
		Address: "host", Router: conn, Worker: "w", Classes: classes, Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	}, s.store)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// background runs a part of the stack until close.
func (s *stack) background(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); err != nil {
			s.t.Error(err)
		}
	}()
	s.ends = append(s.ends, func() {
		cancel()
		<-done
	})
}

// serve starts the host, and a caller that finds it, and waits until it has joined.
func (s *stack) serve() {
	l := bufconn.Listen(1 << 16)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.listener = cancel, l
	go func() { s.served <- s.host.Serve(ctx, l, false) }()
	s.caller = binding.NewRouter(binding.RouterOptions{
		Client: s.host.members, Dial: func(string) (*grpc.ClientConn, error) { return s.dialHost(l), nil },
	})
	for s.host.epoch.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
}

// place has the router say that all objects run on the host, which does not serve, for tests that call it directly.
func (s *stack) place() {
	s.host.epoch.Store(1)
	s.router.set(func(f *fakeRouter) { f.host, f.epoch = s.store.HostID(), 1 })
}

// dialHost connects to the host, with connections that cut ends.
func (s *stack) dialHost(l *bufconn.Listener) *grpc.ClientConn {
	conn, err := sidecar.Dial("passthrough:///memory", grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) {
			c, err := l.DialContext(ctx)
			if err != nil {
				return nil, err
			}
			s.connsMu.Lock()
			defer s.connsMu.Unlock()
			s.conns = append(s.conns, c)
			return c, nil
		}))
	if err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// cut ends the caller's connections to the host as a network that fails does.
func (s *stack) cut() {
	s.connsMu.Lock()
	defer s.connsMu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
	s.conns = nil
}

func dial(t testing.TB, l *bufconn.Listener) *grpc.ClientConn {
	conn, err := sidecar.Dial("passthrough:///memory", grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// close ends everything; the host's own error is the test's.
func (s *stack) close() {
	s.t.Helper()
	if s.stop != nil {
		s.caller.Close()
		s.stop()
		if err := <-s.served; err != nil && s.store.Err() == nil {
			s.t.Errorf("serve: %v", err)
		}
	} else if err := s.host.Drain(context.Background()); err != nil {
		s.t.Error(err)
	}
	if err := s.store.Close(); err != nil {
		s.t.Logf("close store: %v", err)
	}
	for i := range s.ends {
		s.ends[len(s.ends)-1-i]()
	}
}

// stub returns a stub for an object of class Test, whose calls go over the wire.
func (s *stack) stub(name string) *binding.Stub {
	return binding.NewNamespace("w-Test", s.caller).GetByName(name)
}

// target returns the target of a direct call of the host.
func (s *stack) target(name string) sidecar.Target {
	return sidecar.Target{
		Namespace: "w-Test", ID: objectid.NewNamespace("w-Test").FromName(name), Name: name, HasName: true,
		Epoch: s.host.epoch.Load(),
	}
}

// testObject is the instance of class Test; what it does is the test's.
type testObject struct {
	state  *durableobject.State
	serial int
	class  *testClass
	// runs is for tests that count in the instance.
	runs int
}

// testClass is the code of class Test.
type testClass struct {
	methods map[string]func(ctx context.Context, o *testObject, arg string) (string, error)
	fetch   func(ctx context.Context, o *testObject, w http.ResponseWriter, r *http.Request) error
	alarm   func(ctx context.Context, o *testObject, a durableobject.AlarmInfo) error
	// create is optional: it ends the constructor.
	create func(ctx context.Context, o *testObject) error

	mu   sync.Mutex // guards made
	made int
}

func (o *testObject) Fetch(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	return o.class.fetch(ctx, o, w, r)
}

func (o *testObject) Alarm(ctx context.Context, a durableobject.AlarmInfo) error {
	return o.class.alarm(ctx, o, a)
}

// classes returns the class for a host.
func (c *testClass) classes() []durableobject.Class {
	class := durableobject.Class{
		Name: "Test",
		New: func(ctx context.Context, s *durableobject.State) (any, error) {
			c.mu.Lock()
			c.made++
			o := &testObject{state: s, serial: c.made, class: c}
			c.mu.Unlock()
			if c.create != nil {
				return o, c.create(ctx, o)
			}
			return o, nil
		},
		Methods: map[string]durableobject.Method{
			"serial": durableobject.Func(func(o *testObject, _ context.Context, _ any) (int, error) {
				return o.serial, nil
			}),
			"increment": durableobject.Func((*testObject).increment),
			"read":      durableobject.Func((*testObject).read),
		},
	}
	for name, f := range c.methods {
		class.Methods[name] = durableobject.Func(func(o *testObject, ctx context.Context, arg string) (string, error) {
			return f(ctx, o, arg)
		})
	}
	return []durableobject.Class{class}
}

func (o *testObject) increment(ctx context.Context, by int) (int, error) {
	n, err := o.read(ctx, nil)
	if err != nil {
		return 0, err
	}
	n += by
	return n, durableobject.Put(ctx, o.state.Storage(), "n", n)
}

func (o *testObject) read(ctx context.Context, _ any) (int, error) {
	n, _, err := durableobject.Get[int](ctx, o.state.Storage(), "n")
	return n, err
}

// call calls a method that takes and returns text.
func (s *stack) call(name, method string) (string, error) {
	return durableobject.Call[string](s.t.Context(), s.stub(name), method, "")
}

// serial returns which instance answers.
func (s *stack) serial(name string) int {
	s.t.Helper()
	n, err := durableobject.Call[int](s.t.Context(), s.stub(name), "serial", nil)
	if err != nil {
		s.t.Errorf("serial: %v", err)
	}
	return n
}

// wantReason checks an error's reason and text.
func wantReason(t *testing.T, err error, reason sidecar.Reason, message string) *sidecar.Error {
	t.Helper()
	var e *sidecar.Error
	if !errors.As(err, &e) || e.Reason != reason || message != "" && e.Message != message {
		t.Errorf("got %v (%s), want %v %q", err, describeError(err), reason, message)
		return &sidecar.Error{}
	}
	return e
}

func describeError(err error) string {
	var e *sidecar.Error
	if errors.As(err, &e) {
		return fmt.Sprintf("%+v", *e)
	}
	return fmt.Sprintf("%T", err)
}

// pause waits as code does that knows nothing of turns.
func pause(ctx context.Context, d time.Duration) error {
	if !sleep(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}
