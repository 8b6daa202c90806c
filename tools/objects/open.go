package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/tandem-do/tandem/durableobject/admin"
	"github.com/tandem-do/tandem/durableobject/storage"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/tools/dev"
)

const (
	// probeTimeout bounds the look whether the socket of a stack is served.
	probeTimeout = 2 * time.Second
	// readTimeout bounds a call that waits for nothing, streamTimeout an export or import.
	readTimeout   = 40 * time.Second
	streamTimeout = 15 * time.Minute
)

// Options say where the objects are and how to print.
type Options struct {
	// Address is the gRPC target of an object host; if empty, StateDir tells.
	Address string
	// StateDir is the state directory of `tandem dev`, or the store directory of an object host.
	StateDir string
	// JSON prints one JSON document a line instead of tables.
	JSON bool
	// Stdout takes what was asked for.
	Stdout io.Writer
}

// Client is a way to the objects. Close it.
type Client struct {
	options Options
	source  source
	// actions is nil for a store at rest.
	actions dopb.AdminServiceClient
	closers []func() error
	// now tells the time by which the objects live, for the distance to alarms.
	now func() time.Time
}

// source is what both a host and a store at rest can be asked.
type source interface {
	ListNamespaces(context.Context, *dopb.ListNamespacesRequest) (*dopb.ListNamespacesResponse, error)
	ListObjects(context.Context, *dopb.ListObjectsRequest) (*dopb.ListObjectsResponse, error)
	GetObject(context.Context, *dopb.GetObjectRequest) (*dopb.GetObjectResponse, error)
	ListKeys(context.Context, *dopb.ListKeysRequest) (*dopb.ListKeysResponse, error)
	// Export calls send with each piece of the archive.
	Export(ctx context.Context, r *dopb.ExportObjectRequest, send func([]byte) error) error
}

var (
	_ source = (*admin.Service)(nil)
	_ source = remote{}
)

// Open finds the objects. Errors say what to do; they are *dev.StateError and *dev.BusyError where those fit.
func Open(ctx context.Context, o Options) (*Client, error) {
	c := &Client{options: o, now: time.Now}
	if o.Address != "" {
		return c, c.connect(ctx, o.Address)
	}
	running, err := dev.FindRunning(o.StateDir)
	if err != nil {
		return nil, err
	}
	if running != nil && served(ctx, running.ObjectsAddress) {
		return c, c.connect(ctx, running.ObjectsAddress)
	}
	err = c.openAtRest()
	if running != nil && errors.Is(err, storage.ErrLocked) {
		return nil, &dev.BusyError{
			What: "the object store in " + o.StateDir, Holder: fmt.Sprintf("a stack (pid %d)", running.Pid),
			Advice: "its object host does not answer at present; try again",
		}
	}
	if errors.Is(err, storage.ErrLocked) {
		return nil, &dev.BusyError{
			What: "the object store in " + o.StateDir, Advice: "give --address the address of the object host that runs on it",
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// served reports whether somebody serves a unix socket.
func served(ctx context.Context, target string) bool {
	path, ok := strings.CutPrefix(target, "unix:")
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// connect uses an object host.
func (c *Client) connect(ctx context.Context, target string) error {
	conn, err := sidecar.Dial(target)
	if err != nil {
		return err
	}
	c.closers = append(c.closers, conn.Close)
	c.actions = dopb.NewAdminServiceClient(conn)
	c.source = remote{client: c.actions}
	c.takeClock(ctx, dopb.NewClockServiceClient(conn))
	return nil
}

// takeClock tells times by the host's clock, where that can be moved and is ahead of real time.
func (c *Client) takeClock(ctx context.Context, host dopb.ClockServiceClient) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	// An error is a host that lives by real time; one that does not answer fails what comes next.
	if r, err := host.GetClock(ctx, &dopb.GetClockRequest{}); err == nil {
		ahead := r.GetAhead().AsDuration()
		c.now = func() time.Time { return time.Now().Add(ahead) }
	}
}

// openAtRest uses the store in the state directory.
func (c *Client) openAtRest() error {
	dir := c.options.StateDir
	if !storage.IsStore(dir) {
		dir = dev.ObjectsDir(dir)
	}
	store, err := storage.OpenReadOnly(storage.Options{Dir: dir})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		reason := "holds no objects yet; start a stack on it with tandem dev"
		if _, serr := os.Stat(c.options.StateDir); serr != nil {
			reason = "does not exist; give --state-dir the one of a stack, or --address"
		}
		return &dev.StateError{Dir: c.options.StateDir, Reason: reason}
	case errors.Is(err, storage.ErrLocked):
		return err
	case err != nil:
		return &dev.StateError{Dir: c.options.StateDir, Reason: "can't be read", Cause: err}
	}
	c.closers = append(c.closers, store.Close)
	c.source = admin.New(store, nil)
	return nil
}

// Close gives everything back.
func (c *Client) Close() error {
	var errs []error
	for _, f := range c.closers {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// act returns the host's service, or says that there is none.
func (c *Client) act() (dopb.AdminServiceClient, error) {
	if c.actions == nil {
		return nil, fmt.Errorf("no stack runs on %s, and this needs one: start it with tandem dev --state-dir %s",
			c.options.StateDir, c.options.StateDir)
	}
	return c.actions, nil
}

// remote is a host as a source.
type remote struct{ client dopb.AdminServiceClient }

// ListNamespaces implements source.
func (r remote) ListNamespaces(ctx context.Context, q *dopb.ListNamespacesRequest) (
	*dopb.ListNamespacesResponse, error,
) {
	return call(ctx, r.client.ListNamespaces, q)
}

// ListObjects implements source.
func (r remote) ListObjects(ctx context.Context, q *dopb.ListObjectsRequest) (*dopb.ListObjectsResponse, error) {
	return call(ctx, r.client.ListObjects, q)
}

// GetObject implements source.
func (r remote) GetObject(ctx context.Context, q *dopb.GetObjectRequest) (*dopb.GetObjectResponse, error) {
	return call(ctx, r.client.GetObject, q)
}

// ListKeys implements source.
func (r remote) ListKeys(ctx context.Context, q *dopb.ListKeysRequest) (*dopb.ListKeysResponse, error) {
	return call(ctx, r.client.ListKeys, q)
}

// call makes a call that waits for nothing.
func call[Q, R any](ctx context.Context, rpc func(context.Context, Q, ...grpc.CallOption) (R, error), q Q) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return rpc(ctx, q)
}

// Export implements source.
func (r remote) Export(ctx context.Context, q *dopb.ExportObjectRequest, send func([]byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	stream, err := r.client.ExportObject(ctx, q)
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = send(m.GetData())
		}
		if err != nil {
			return err
		}
	}
}
