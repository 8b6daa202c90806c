package sidecar_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// handlerFuncs is a Handler made of functions.
type handlerFuncs struct {
	fetch func(ctx context.Context, t sidecar.Target, w http.ResponseWriter, r *http.Request) error
	call  func(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error)
}

func (h handlerFuncs) Fetch(ctx context.Context, t sidecar.Target, w http.ResponseWriter, r *http.Request) error {
	return h.fetch(ctx, t, w, r)
}

func (h handlerFuncs) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	return h.call(ctx, t, method, args)
}

// network is an in-memory host that can be stopped and started again, and a link to it.
type network struct {
	t        testing.TB
	link     *sidecar.Link
	conn     *grpc.ClientConn
	listener *bufconn.Listener
	server   *sidecar.Server
	stop     context.CancelFunc
	served   chan error

	mu     sync.Mutex // guards dialed
	dialed net.Conn
}

// start returns a network whose host has the handler that register registers. Call close at the end.
func start(t testing.TB, register func(s *sidecar.Server)) *network {
	n := &network{t: t}
	n.serve(register)
	conn, err := sidecar.Dial("passthrough:///host", grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) {
			c, err := n.listener.DialContext(ctx)
			n.mu.Lock()
			defer n.mu.Unlock()
			n.dialed = c
			return c, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	n.conn, n.link = conn, sidecar.NewLink(conn, sidecar.LinkOptions{})
	return n
}

func handler(h sidecar.Handler) func(*sidecar.Server) {
	return func(s *sidecar.Server) { sidecar.RegisterHandler(s, h) }
}

func (n *network) serve(register func(s *sidecar.Server)) {
	n.listener, n.server = bufconn.Listen(256<<10), sidecar.NewServer(sidecar.ServerOptions{})
	register(n.server)
	ctx, stop := context.WithCancel(context.Background())
	n.stop, n.served = stop, make(chan error, 1)
	go func(l net.Listener, s *sidecar.Server, served chan error) {
		served <- sidecar.Serve(ctx, l, s)
	}(n.listener, n.server, n.served)
}

// cut closes the connection.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialed.Close()
}

// halt ends the host and waits for it.
func (n *network) halt() {
	n.stop()
	if err := <-n.served; err != nil {
		n.t.Errorf("serve: %v", err)
	}
}

func (n *network) close() {
	if err := errors.Join(n.link.Close(), n.conn.Close()); err != nil {
		n.t.Error(err)
	}
	n.halt()
}

// bubble runs a test against a host with this handler inside a synctest bubble.
func bubble(t *testing.T, register func(s *sidecar.Server), test func(t *testing.T, n *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := start(t, register)
		defer n.close()
		test(t, n)
	})
}

var namespace = objectid.NewNamespace("app-Class")

func target(name string) sidecar.Target {
	return sidecar.Target{
		Namespace: "app-Class", ID: namespace.FromName(name), Name: name, HasName: true, Epoch: 7,
		Props: []byte(`{"a":1}`),
	}
}

// wantReason checks an error's reason and returns the error.
func wantReason(t testing.TB, err error, want sidecar.Reason) *sidecar.Error {
	t.Helper()
	e, ok := errors.AsType[*sidecar.Error](err)
	if !ok {
		t.Fatalf("got error %v (%T), want *sidecar.Error with %v", err, err, want)
	}
	if e.Reason != want {
		t.Fatalf("got reason %v (%v, cause %v), want %v", e.Reason, e, e.Cause, want)
	}
	return e
}
