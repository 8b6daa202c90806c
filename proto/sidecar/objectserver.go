package sidecar

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/parked"
)

// maxRepliesWaiting is how many frames may wait for a caller that does not read them; beyond it the stream
// is ended.
const maxRepliesWaiting = 4 * MaxCallsInFlight

// maxParked is how many goroutines of a stream wait for a further call.
const maxParked = 256

var (
	errCallerGone     = errors.New("the connection to the caller was lost")
	errCallerCanceled = errors.New("the caller gave up")
	errNotCollected   = errors.New("nobody came for the response's body")
	errCallEnded      = errors.New("the call has ended")
)

// RegisterHandler serves ObjectService on s with h, whose calls run until Serve's end.
//
// Calls for one target are handed to goroutines in the order in which they were sent; which of these comes
// first is then the scheduler's choice. RegisterOrderedHandler leaves it no choice.
func RegisterHandler(s *Server, h Handler) { register(s, h, false) }

// RegisterOrderedHandler is RegisterHandler for a handler that calls Entered in each of its calls once it
// has taken the call's place in the object's queue. Until then, or until it returns, no later call of the
// same Link for the same target enters.
func RegisterOrderedHandler(s *Server, h Handler) { register(s, h, true) }

func register(s *Server, h Handler, ordered bool) {
	dopb.RegisterObjectServiceServer(s.Server, &objectServer{
		server: s, handler: h, ordered: ordered, bodies: map[string]bodyStream{},
	})
}

// objectServer is the service. It is shared by all connections.
type objectServer struct {
	dopb.UnimplementedObjectServiceServer
	server  *Server
	handler Handler
	ordered bool

	mu sync.Mutex // guards bodies
	// bodies are those that wait for their stream, by token.
	bodies map[string]bodyStream
}

// bodyStream is an *uploadBody or a *download.
type bodyStream any

func (o *objectServer) expect(token string, b bodyStream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bodies[token] = b
}

func (o *objectServer) forget(token string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.bodies, token)
}

// claim returns the body of this kind that waits under token, which no other stream can claim then.
func claim[B bodyStream](o *objectServer, token string) (B, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, ok := o.bodies[token].(B)
	if ok {
		delete(o.bodies, token)
	}
	return b, ok
}

// Connect implements dopb.ObjectServiceServer. It writes; a goroutine of its own reads.
func (o *objectServer) Connect(stream grpc.BidiStreamingServer[dopb.ConnectRequest, dopb.ConnectResponse]) error {
	// The header tells the caller that it speaks to a living host.
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	// The calls' contexts come from one without the stream's values, which every look-up of a call would go through.
	ctx, cancel := newLifetime()
	defer cancel(errCallerGone)
	defer context.AfterFunc(stream.Context(), func() { cancel(context.Cause(stream.Context())) })()
	c := &callerConn{
		objects: o, ctx: ctx, wake: make(chan struct{}, 1),
		calls: map[uint64]*hostCall{}, entering: map[targetKey]*hostCall{},
	}
	c.workers = parked.New(parked.Options[*hostCall]{
		Do: (*hostCall).run, Max: maxParked, Go: o.server.goroutines.Go, Done: ctx.Done(),
	})
	c.session = session{ctx: ctx, push: c.pushStub, spawn: c.spawnStub, result: c.resultOf, outcome: c.stubOutcome}
	c.session.begin()
	defer func() { c.session.close(cmp.Or(context.Cause(ctx), errCallerGone)) }()
	o.server.goroutines.Go(func() {
		if err := c.read(stream); err != nil {
			cancel(err)
		}
	})
	return c.serve(stream)
}

// serve writes frames until the caller is gone, or until it or this server takes no more calls and all
// have been replied to.
func (c *callerConn) serve(stream grpc.ServerStreamingServer[dopb.ConnectResponse]) error {
	w := batcher[*dopb.HostFrame]{weigh: weighHost}
	send := func(batch []*dopb.HostFrame) error {
		return stream.Send(&dopb.ConnectResponse{Frames: batch})
	}
	draining := c.objects.server.draining
	for {
		select {
		case <-c.wake:
			runtime.Gosched() // see batcher
		case <-draining:
			draining = nil
			c.drain()
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		}
		frames, done := c.take(w.spare())
		if err := w.write(frames, send); err != nil {
			return err
		}
		if done {
			return nil
		}
	}
}

// read takes frames until the caller ends the stream (nil) or it is lost.
func (c *callerConn) read(stream interface {
	Recv() (*dopb.ConnectRequest, error)
}) error {
	for {
		batch, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			c.endOfCalls()
			return nil
		}
		if err != nil {
			return err
		}
		for _, f := range batch.GetFrames() {
			if err := c.receive(f); err != nil {
				return err
			}
		}
	}
}

// Upload implements dopb.ObjectServiceServer. The call's goroutine reads the stream meanwhile.
func (o *objectServer) Upload(stream grpc.ClientStreamingServer[dopb.UploadRequest, dopb.UploadResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	b, ok := claim[*uploadBody](o, first.GetToken())
	if !ok {
		return status.Error(codes.NotFound, "no running call has announced this upload_token")
	}
	b.attach(stream, first.GetData())
	select {
	case <-b.ended:
		return stream.SendAndClose(&dopb.UploadResponse{})
	case <-b.ctx.Done():
		return status.Error(codes.Aborted, errCallEnded.Error())
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
}

// Download implements dopb.ObjectServiceServer. The call's goroutine writes the stream meanwhile.
func (o *objectServer) Download(req *dopb.DownloadRequest, stream grpc.ServerStreamingServer[dopb.DownloadResponse],
) error {
	d, ok := claim[*download](o, req.GetToken())
	if !ok {
		return status.Error(codes.NotFound, "no running call has announced this download_token")
	}
	d.attach(stream)
	select {
	case <-d.ended:
		return d.outcome()
	case <-stream.Context().Done():
		d.detach()
		return stream.Context().Err()
	}
}
