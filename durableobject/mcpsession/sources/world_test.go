package sources_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/durableobject/mcpsession/sources"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/pool"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/seal"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/props"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

// world is an object host with the class, on a disk in memory, and a network of fake sources.
type world struct {
	t      *testing.T
	net    *network
	key    byte
	log    *strings.Builder
	fs     *vfs.MemFS
	pool   *pool.Pool
	router *fakeRouter
	conn   *grpc.ClientConn

	store  *storage.Store
	host   *host.Host
	caller *binding.Router
	cancel context.CancelFunc
	served chan error
}

// in runs a test in a bubble, with a world.
func in(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t: t, net: newNetwork(), fs: vfs.NewMem(), log: &strings.Builder{},
			router: &fakeRouter{joined: make(chan struct{}, 1)},
		}
		w.conn = serve(t, func(s grpc.ServiceRegistrar) { routerpb.RegisterRouterServiceServer(s, w.router) })
		w.start()
		defer w.stop()
		fn(t, w)
	})
}

func serve(t *testing.T, register func(grpc.ServiceRegistrar)) *grpc.ClientConn {
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

func dial(t *testing.T, l *bufconn.Listener) *grpc.ClientConn {
	conn, err := sidecar.Dial("passthrough:///memory", grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func (w *world) start() {
	store, err := storage.Open(storage.Options{Dir: "store", FS: w.fs})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = store
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.pool = pool.New(pool.Options{Log: log})
	class := sources.Class(sources.Options{
		Connector: w.net, Pool: w.pool, Log: log, Sealer: func() (*seal.Sealer, error) {
			return seal.New(seal.Key{w.key})
		},
	})
	w.host, err = host.New(host.Options{
		Address: "host", Router: w.conn, Worker: "mcp", Classes: []durableobject.Class{class},
		Log: slog.New(slog.DiscardHandler),
	}, store)
	if err != nil {
		w.t.Fatal(err)
	}
	l := bufconn.Listen(1 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.served = cancel, make(chan error, 1)
	go func() { w.served <- w.host.Serve(ctx, l, false) }()
	<-w.router.joined
	w.caller = binding.NewRouter(binding.RouterOptions{
		Client: routerpb.NewRouterServiceClient(w.conn),
		Dial:   func(string) (*grpc.ClientConn, error) { return dial(w.t, l), nil },
	})
}

func (w *world) stop() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = w.host.Drain(now) // it says that not all has ended yet
	w.cancel()
	if err := errors.Join(<-w.served, w.caller.Close(), w.store.Close()); err != nil {
		w.t.Error(err)
	}
	w.pool.Close()
}

// crash loses the host and starts another one on the same store.
func (w *world) crash() {
	w.stop()
	w.start()
}

// fakeRouter is a router that knows one host.
type fakeRouter struct {
	routerpb.UnimplementedRouterServiceServer
	joined chan struct{}

	// mu guards the fields below.
	mu    sync.Mutex
	host  string
	epoch uint64
}

// Join implements the service.
func (f *fakeRouter) Join(_ context.Context, r *routerpb.JoinRequest) (*routerpb.JoinResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.host = r.GetHostId()
	f.epoch++
	f.joined <- struct{}{}
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

// on runs a method of an organization's object and returns the name and text of the error.
func on[R any](w *world, organization, method string, arg any) (R, string) {
	w.t.Helper()
	stub := binding.NewNamespace(props.NamespaceSources, w.caller).GetByName(organization)
	r, err := durableobject.Call[R](w.t.Context(), stub, method, arg)
	var e *durableobject.Error
	switch {
	case err == nil:
		return r, ""
	case errors.As(err, &e):
		return r, e.Name + ": " + e.Message
	}
	return r, err.Error()
}

// must is on without an error.
func must[R any](w *world, method string, arg any) R {
	w.t.Helper()
	r, failure := on[R](w, "o", method, arg)
	if failure != "" {
		w.t.Fatalf("%s: %s", method, failure)
	}
	return r
}

func (w *world) create(c props.SourceCreate) props.Source {
	w.t.Helper()
	c.AccountID = "a"
	return must[props.Source](w, props.MethodSourcesCreate, c)
}

// call calls a tool and shows what came of it.
func (w *world) call(path, arguments string) string {
	w.t.Helper()
	r := must[props.SourceResult](w, props.MethodSourcesCall, props.SourceCall{Path: path, Arguments: []byte(arguments)})
	if r.Error != nil {
		return r.Error.Code + ": " + r.Error.Message
	}
	return string(r.Data)
}

// paths returns the paths that a search finds.
func (w *world) paths(query string) string {
	w.t.Helper()
	found := must[props.SourceToolPage](w, props.MethodSourcesSearch, props.SourceSearch{Query: query, Limit: 100})
	var paths []string
	for _, i := range found.Items {
		paths = append(paths, i.Path)
	}
	if found.Total != len(paths) {
		w.t.Errorf("%d found, %d in all", len(paths), found.Total)
	}
	return strings.Join(paths, " ")
}

// network has the fake servers that sources lead to.
type network struct {
	// mu guards the fields below, and the servers.
	mu      sync.Mutex
	servers map[string]*server
	// opened and closed count connections.
	opened, closed int
}

// server is one fake server.
type server struct {
	tools    []upstream.Tool
	document []byte
	origin   string
	// secret is what it demands; rotate is what it gives instead at each connection.
	secret, rotate string
	// err is what everything fails with.
	err error
	// call answers calls.
	call func(ctx context.Context, tool string, arguments json.RawMessage) (json.RawMessage, error)
}

func newNetwork() *network { return &network{servers: map[string]*server{}} }

// serve puts a server at an address, with tools of these names.
func (n *network) serve(url string, tools ...string) *server {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &server{}
	for _, name := range tools {
		s.tools = append(s.tools, tool(name))
	}
	n.servers[url] = s
	return s
}

func tool(name string) upstream.Tool {
	return upstream.Tool{
		Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(`{"type":"object"}`),
		OutputSchema: json.RawMessage(`{"type":"string"}`),
	}
}

// set changes a server.
func (n *network) set(fn func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fn()
}

func (n *network) counts() (opened, closed int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.opened, n.closed
}

func (n *network) reach(s upstream.Spec) (server, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok := n.servers[s.URL+s.BaseURL]
	switch {
	case !ok:
		return server{}, upstream.Errorf(upstream.CodeUnavailable, "nobody is at %s%s", s.URL, s.BaseURL)
	case at.err != nil:
		return server{}, at.err
	case at.secret != s.Auth.Secret:
		return server{}, upstream.Errorf(upstream.CodeUnauthorized, "the server refused the credentials")
	}
	if at.rotate != "" {
		at.secret, at.rotate = at.rotate, ""
		s.Save(at.secret)
	}
	return *at, nil
}

// Inspect implements upstream.Connector.
func (n *network) Inspect(_ context.Context, s upstream.Spec) (upstream.Inspection, error) {
	at, err := n.reach(s)
	return upstream.Inspection{Tools: at.tools, Document: at.document, Server: at.origin}, err
}

// Connect implements upstream.Connector.
func (n *network) Connect(_ context.Context, s upstream.Spec) (upstream.Source, error) {
	if _, err := n.reach(s); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opened++
	return &connection{n, s}, nil
}

// connection is one to a fake server.
type connection struct {
	net  *network
	spec upstream.Spec
}

// Tools implements upstream.Source.
func (c *connection) Tools(context.Context) ([]upstream.Tool, error) {
	at, err := c.net.reach(c.spec)
	return at.tools, err
}

// Call implements upstream.Source. It answers with what it was asked, unless the server says otherwise.
func (c *connection) Call(ctx context.Context, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	c.net.mu.Lock()
	at := *c.net.servers[c.spec.URL+c.spec.BaseURL]
	c.net.mu.Unlock()
	if at.err != nil {
		return nil, at.err
	}
	if at.call != nil {
		return at.call(ctx, tool, arguments)
	}
	return json.RawMessage(fmt.Sprintf(`{"tool":%q,"arguments":%s}`, tool, arguments)), nil
}

// Close implements upstream.Source.
func (c *connection) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.net.closed++
	return nil
}
