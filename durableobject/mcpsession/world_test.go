package mcpsession

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/props"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

// world is an object host with the application's classes, on a disk in memory, and what it needs around it: a router
// that knows this host alone, a sandbox that runs Go functions, and a caller that reaches it over gRPC as a worker
// does.
type world struct {
	t   testing.TB
	env *environment
	// disk is what fs is on.
	disk    *vfs.MemFS
	fs      vfs.FS
	syncs   *syncs
	sandbox *fakeSandbox
	router  *fakeRouter
	// conn is the connection to the router.
	conn *grpc.ClientConn

	store  *storage.Store
	host   *host.Host
	caller *binding.Router
	cancel context.CancelFunc
	served chan error
	// draining tells the application that the host drains, if drainable was called.
	draining chan struct{}
}

// newWorld returns a world that ends with the test.
func newWorld(t testing.TB, o Options) *world {
	w := &world{
		t: t, syncs: &syncs{}, sandbox: newFakeSandbox(), router: &fakeRouter{}, disk: vfs.NewCrashableMem(),
	}
	w.fs = errorfs.Wrap(w.disk, w.syncs)
	sandbox := serve(t, func(s grpc.ServiceRegistrar) { sandboxpb.RegisterSandboxServiceServer(s, w.sandbox) })
	w.conn = serve(t, func(s grpc.ServiceRegistrar) { routerpb.RegisterRouterServiceServer(s, w.router) })
	o.Sandbox = sandboxpb.NewSandboxServiceClient(sandbox)
	w.env = newEnvironment(o)
	w.start()
	t.Cleanup(w.stop)
	return w
}

// serve runs a gRPC server in memory until the test ends, and returns a connection to it.
func serve(t testing.TB, register func(grpc.ServiceRegistrar)) *grpc.ClientConn {
	l := bufconn.Listen(1 << 20)
	server := sidecar.NewServer(sidecar.ServerOptions{})
	register(server)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sidecar.Serve(ctx, l, server) }()
	conn := dial(t, l)
	t.Cleanup(func() {
		conn.Close()
		cancel()
		<-served
	})
	return conn
}

func dial(t testing.TB, l *bufconn.Listener) *grpc.ClientConn {
	conn, err := sidecar.Dial("passthrough:///memory", grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// start starts a host on the store and waits until it takes calls.
func (w *world) start() {
	store, err := storage.Open(storage.Options{Dir: "store", FS: w.fs})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = store
	w.env.incarnation.Add(1)
	w.host, err = host.New(host.Options{
		Address: "host", Router: w.conn, Worker: "mcp", Classes: w.env.classes(),
		Log: slog.New(slog.DiscardHandler),
	}, store)
	if err != nil {
		w.t.Fatal(err)
	}
	l := bufconn.Listen(1 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.served = cancel, make(chan error, 1)
	joined := w.router.next()
	go func() { w.served <- w.host.Serve(ctx, l, false) }()
	<-joined
	w.caller = binding.NewRouter(binding.RouterOptions{
		Client: routerpb.NewRouterServiceClient(w.conn),
		Dial:   func(string) (*grpc.ClientConn, error) { return dial(w.t, l), nil },
	})
}

// stop loses the host: nothing that runs is waited for.
func (w *world) stop() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = w.host.Drain(now) // it says that not all has ended yet
	w.cancel()
	if err := <-w.served; err != nil {
		w.t.Errorf("host: %v", err)
	}
	w.caller.Close()
	if err := w.store.Close(); err != nil {
		w.t.Errorf("store: %v", err)
	}
}

// drainable makes draining, for a host that is not used yet.
func (w *world) drainable() {
	w.draining = make(chan struct{})
	w.env.Draining = w.draining
}

// crash loses the host and starts another one on the same store.
func (w *world) crash() {
	w.stop()
	w.start()
}

// powerCut is crash without what was not durable.
func (w *world) powerCut() {
	w.disk = w.disk.CrashClone(vfs.CrashCloneCfg{})
	w.stop()
	w.fs = errorfs.Wrap(w.disk, w.syncs)
	w.start()
}

// fakeRouter is a router that knows the one host that joined last.
type fakeRouter struct {
	routerpb.UnimplementedRouterServiceServer

	// mu guards the fields below.
	mu     sync.Mutex
	host   string
	epoch  uint64
	joined chan struct{}
}

// next returns what is closed when the next host has joined.
func (f *fakeRouter) next() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.joined = make(chan struct{})
	return f.joined
}

// Join implements the service.
func (f *fakeRouter) Join(_ context.Context, r *routerpb.JoinRequest) (*routerpb.JoinResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.host = r.GetHostId()
	f.epoch++
	close(f.joined)
	return &routerpb.JoinResponse{Epoch: f.epoch, LeaseTtl: durationpb.New(time.Hour)}, nil
}

// Renew implements the service.
func (f *fakeRouter) Renew(context.Context, *routerpb.RenewRequest) (*routerpb.RenewResponse, error) {
	return &routerpb.RenewResponse{}, nil
}

// Leave implements the service.
func (f *fakeRouter) Leave(context.Context, *routerpb.LeaveRequest) (*routerpb.LeaveResponse, error) {
	return &routerpb.LeaveResponse{}, nil
}

// Locate implements the service.
func (f *fakeRouter) Locate(_ context.Context, r *routerpb.LocateRequest) (*routerpb.LocateResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := objectid.ID(r.GetObjectId())
	return &routerpb.LocateResponse{Slot: id.Slot(), HostId: f.host, Address: "host", Epoch: f.epoch}, nil
}

// syncs counts how often the store's log was made durable.
type syncs struct {
	n atomic.Uint64
	// takes is how long that takes, in nanoseconds.
	takes atomic.Int64
}

var _ errorfs.Injector = (*syncs)(nil)

// MaybeError implements errorfs.Injector.
func (s *syncs) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		if strings.HasSuffix(op.Path, ".log") {
			time.Sleep(time.Duration(s.takes.Load()))
			s.n.Add(1)
		}
	}
	return nil
}

// String implements errorfs.Injector.
func (s *syncs) String() string { return "count" }

// commits returns how many durable commits fn makes.
func (w *world) commits(fn func()) uint64 {
	synctest.Wait()
	before := w.syncs.n.Load()
	fn()
	synctest.Wait()
	return w.syncs.n.Load() - before
}

// namespace returns the binding of a class.
func (w *world) namespace(key string) *binding.Namespace { return binding.NewNamespace(key, w.caller) }

// stored reports whether an object has durable state.
func (w *world) stored(key string, id objectid.ID) bool {
	w.t.Helper()
	ids, err := w.store.Objects(key, nil, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.Contains(ids, id)
}

// user is an identity and the client that it uses: what a worker does for it.
type user struct {
	w  *world
	id props.Identity
	// mode is the elicitation mode of the endpoint that it uses.
	mode string
	// approvals is the worker's approval page, if it has one.
	approvals string
	// intent, if set, is sent instead of what the request asks for.
	intent string
	// vanishes has DELETE never arrive: unlike the SDK's client for TypeScript, the one for Go sends it when closed.
	vanishes bool
}

func (w *world) user(account, organization string) *user {
	return &user{w: w, id: props.Identity{AccountID: account, OrganizationID: organization}}
}

var _ http.RoundTripper = (*user)(nil)

// RoundTrip sends a request to its session's object, as the worker does.
func (u *user) RoundTrip(r *http.Request) (*http.Response, error) {
	sessions := u.w.namespace(props.NamespaceSession)
	id, intent := sessions.IDs().NewUnique(), props.IntentCreate
	if s := r.Header.Get(props.HeaderSessionID); s != "" {
		parsed, err := sessions.IDs().Parse(s)
		if err != nil {
			return nil, err
		}
		id, intent = parsed, props.IntentUse
	}
	if u.intent != "" {
		intent = u.intent
	}
	if u.vanishes && r.Method == http.MethodDelete {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	}
	r = r.Clone(r.Context())
	r.Header.Set(props.HeaderIntent, intent)
	r.Header.Set(props.HeaderElicitationMode, u.mode)
	if u.approvals != "" {
		r.Header.Set(props.HeaderApprovals, u.approvals)
	}
	resp, err := sessions.Get(id).WithProps(u.id.Encode()).Fetch(r.Context(), r)
	if err == nil && intent == props.IntentCreate && resp.StatusCode == http.StatusOK {
		if got := resp.Header.Get(props.HeaderSessionID); got != id.String() {
			return nil, fmt.Errorf("session id %q, want %q", got, id)
		}
	}
	return resp, err
}

// connect returns a client of a new session.
func (u *user) connect(t *testing.T, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: "http://worker/mcp", HTTPClient: &http.Client{Transport: u}, MaxRetries: -1,
		DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// post sends one JSON-RPC message, as a client that knows nothing but the session's id.
func (u *user) post(t *testing.T, session, body string) (*http.Response, string) {
	t.Helper()
	return u.send(t, http.MethodPost, session, body, nil)
}

func (u *user) send(t *testing.T, method, session, body string, header http.Header) (*http.Response, string) {
	t.Helper()
	r := request(t.Context(), method, session, body)
	for k, v := range header {
		r.Header[http.CanonicalHeaderKey(k)] = v
	}
	resp, err := u.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// tool calls a tool and returns its text and its result.
func tool1(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (string, *mcp.CallToolResult) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text, _ := shown(t, r)
	return text, r
}

func execute(t *testing.T, s *mcp.ClientSession, code string) (string, *mcp.CallToolResult) {
	t.Helper()
	return tool1(t, s, "execute", map[string]any{"code": code})
}

func resume(t *testing.T, s *mcp.ClientSession, id, action string) (string, *mcp.CallToolResult) {
	t.Helper()
	return tool1(t, s, "resume", map[string]any{"executionId": id, "action": action})
}

// field returns a field of a result's structuredContent.
func field(t *testing.T, r *mcp.CallToolResult, name string) string {
	t.Helper()
	_, s := shown(t, r)
	v, _ := s[name].(string)
	return v
}

// fakeSandbox runs programs that are Go functions, by the code that names them.
type fakeSandbox struct {
	sandboxpb.UnimplementedSandboxServiceServer

	// mu guards the fields below.
	mu       sync.Mutex
	programs map[string]func(*program) error
	clocks   []bool
	// starts are those of all programs, running is how many run.
	starts  []*sandboxpb.Start
	running int
}

// runs returns how many programs were started and how many run.
func (s *fakeSandbox) runs() (started, running int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.starts), s.running
}

func newFakeSandbox() *fakeSandbox {
	s := &fakeSandbox{programs: map[string]func(*program) error{}}
	s.set("return 6 * 7", func(p *program) error { return p.done("42", false) })
	return s
}

// set says what code does.
func (s *fakeSandbox) set(code string, fn func(*program) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.programs[code] = fn
}

func (s *fakeSandbox) clock() []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.clocks)
}

// Execute implements the service.
func (s *fakeSandbox) Execute(stream sandboxpb.SandboxService_ExecuteServer) error {
	m, err := stream.Recv()
	if err != nil {
		return err
	}
	s.mu.Lock()
	fn := s.programs[m.GetStart().GetCode()]
	s.starts = append(s.starts, m.GetStart())
	s.running++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.running--
		s.mu.Unlock()
	}()
	if fn == nil {
		return status.Error(codes.InvalidArgument, "no such program")
	}
	p := &program{stream: stream, start: m.GetStart(), results: map[uint64]chan *sandboxpb.ToolResult{}}
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			if c := m.GetClock(); c != nil {
				s.mu.Lock()
				s.clocks = append(s.clocks, c.Stopped)
				s.mu.Unlock()
			}
			if r := m.GetToolResult(); r != nil {
				p.mu.Lock()
				c := p.results[r.CallId]
				p.taken = append(p.taken, &sandboxpb.Taken{CallId: r.CallId, ActiveNs: uint64(len(p.results))})
				p.mu.Unlock()
				c <- r
			}
		}
	}()
	return fn(p)
}

// program is one program that a fakeSandbox runs.
type program struct {
	stream sandboxpb.SandboxService_ExecuteServer
	start  *sandboxpb.Start

	// mu guards the fields below, and sending.
	mu      sync.Mutex
	last    uint64
	taken   []*sandboxpb.Taken
	results map[uint64]chan *sandboxpb.ToolResult
}

// begin makes a tool call.
func (p *program) begin(path, args string) (<-chan *sandboxpb.ToolResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	c := make(chan *sandboxpb.ToolResult, 1)
	p.results[p.last] = c
	taken := p.taken
	p.taken = nil
	return c, p.stream.Send(&sandboxpb.ExecuteResponse{Message: &sandboxpb.ExecuteResponse_ToolCall{
		ToolCall: &sandboxpb.ToolCall{CallId: p.last, Path: path, ArgumentsJson: []byte(args), Taken: taken},
	}})
}

// call makes a tool call and waits for what it resolves to, or throws.
func (p *program) call(path, args string) (value string, thrown string, err error) {
	c, err := p.begin(path, args)
	if err != nil {
		return "", "", err
	}
	return p.wait(c)
}

// wait waits for what a call that was begun resolves to, or throws.
func (p *program) wait(c <-chan *sandboxpb.ToolResult) (value string, thrown string, err error) {
	select {
	case r := <-c:
		return string(r.GetValueJson()), r.GetThrown(), nil
	case <-p.stream.Context().Done():
		return "", "", p.stream.Context().Err()
	}
}

// done ends the program with a value.
func (p *program) done(value string, isString bool) error {
	return p.end(&sandboxpb.Done{
		Outcome: sandboxpb.Outcome_OUTCOME_COMPLETED, ResultJson: []byte(value), ResultIsString: isString,
	})
}

// fail ends it with an exception.
func (p *program) fail(message string) error {
	return p.end(&sandboxpb.Done{Outcome: sandboxpb.Outcome_OUTCOME_EXCEPTION, Error: message})
}

func (p *program) end(d *sandboxpb.Done) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stream.Send(&sandboxpb.ExecuteResponse{Message: &sandboxpb.ExecuteResponse_Done{Done: d}})
}

// callOnce is a program that returns what one tool call comes to.
func callOnce(path, args string) func(*program) error {
	return func(p *program) error {
		value, thrown, err := p.call(path, args)
		switch {
		case err != nil:
			return err
		case thrown != "":
			return p.fail(thrown)
		}
		return p.done(value, false)
	}
}

// policy adds a policy to an organization.
func (u *user) policy(t *testing.T, owner, pattern, action string) props.Policy {
	t.Helper()
	stub := u.w.namespace(props.NamespacePolicies).GetByName(u.id.OrganizationID)
	p, err := durableobject.Call[props.Policy](t.Context(), stub, props.MethodPoliciesCreate,
		props.PolicyCreate{AccountID: u.id.AccountID, Owner: owner, Pattern: pattern, Action: action})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// encode returns a value as JSON.
func encode(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// elicit returns a client's handler that counts how often it was asked.
func elicit(asked *int, answer *string) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		*asked++
		return &mcp.ElicitResult{Action: *answer, Content: map[string]any{}}, nil
	}
}

func timeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}
