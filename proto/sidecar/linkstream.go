package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"google.golang.org/grpc"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// linkStream is one Connect stream of a Link. Everything in it is guarded by the link's mu.
//
//	opening ──host's header──► open ──Draining──► draining ──end──► lost
//	   └───────────failure─────────┴────────failure────────────────►┘
//
// It is the link's cur while it is opening or open.
type linkStream struct {
	link *Link
	// calls are those that wait for their reply, by call_id; last is the highest one given.
	calls map[uint64]*pendingCall
	last  uint64
	// uploads are the bodies of requests whose responses have begun, and that have not been sent to their end.
	uploads map[uint64]*upload
	// queue are the frames that the writer has not taken.
	queue []*dopb.CallerFrame
	// wake holds a token while queue is not empty.
	wake chan struct{}
	// lost is true when the stream has ended.
	lost bool
	// session is what is known of stubs. It is guarded by itself.
	session session
	// end ends the session's lifetime.
	end context.CancelCauseFunc
	// sweeper looks for calls that have expired, while there are any that can; sweeping is true meanwhile.
	sweeper  *time.Timer
	sweeping bool
}

// pendingCall is a call that waits for its reply.
type pendingCall struct {
	stream *linkStream
	id     uint64
	// sent is true once the writer has taken the call's frame: from then on it may run. Guarded by the
	// link's mu.
	sent bool
	// settled takes the outcome, once.
	settled chan settlement
	// upload is the request's body where that has a stream of its own.
	upload *upload
	// args are the stubs of the arguments, request what lists them, and exports their numbers there.
	args    []Stub
	request *dopb.RpcRequest
	exports []uint64
	// pending is what calls on the result follow; nil without any.
	pending *Pending
	// stubs are those of the result. They are there once the call is settled.
	stubs []Stub
	// expires is when the link's own deadline ends the call; zero means that its context has one, or none is wanted.
	expires time.Time
}

// settlement is how a call ended: with the host's frame, or with this side's error.
type settlement struct {
	frame *dopb.HostFrame
	err   error
}

func newLinkStream(l *Link) *linkStream {
	s := &linkStream{link: l, calls: map[uint64]*pendingCall{}, wake: make(chan struct{}, 1)}
	s.session = session{timeout: l.timeout, push: s.pushStub, spawn: l.spawn, outcome: func(_ context.Context, err error) *Error {
		return FromError(err)
	}}
	s.session.ctx, s.end = context.WithCancelCause(l.ctx)
	s.session.begin()
	return s
}

// pushStub queues a frame about stubs.
func (s *linkStream) pushStub(f *dopb.StubFrame) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.pushLocked(&dopb.CallerFrame{Frame: &dopb.CallerFrame_Stub{Stub: f}})
}

// spawn runs f on a goroutine that Close waits for; it reports false once the link is closed.
func (l *Link) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.wg.Go(f)
	return true
}

func (s *linkStream) pushLocked(f *dopb.CallerFrame) {
	if s.lost {
		return
	}
	s.queue = append(s.queue, f)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run opens the stream and writes to it until it is lost. Its reader is a goroutine of its own.
func (s *linkStream) run() {
	ctx, cancel := context.WithCancel(s.link.ctx)
	defer cancel()
	stream, err := s.open(ctx, cancel)
	if err != nil {
		s.lose(fmt.Errorf("open the stream: %w", err))
		return
	}
	s.link.wg.Go(func() {
		defer cancel()
		s.lose(s.read(stream))
	})
	w := batcher[*dopb.CallerFrame]{weigh: weighCaller}
	for {
		select {
		case <-s.wake:
			runtime.Gosched() // see batcher
		case <-ctx.Done():
			return
		}
		err := w.write(s.take(w.spare()), func(batch []*dopb.CallerFrame) error {
			return stream.Send(&dopb.ConnectRequest{Frames: batch})
		})
		if err != nil {
			return // the reader finds out why
		}
	}
}

// open opens the stream and waits for the host's header, so that a call is sent to a living host only.
func (s *linkStream) open(ctx context.Context, cancel context.CancelFunc) (
	grpc.BidiStreamingClient[dopb.ConnectRequest, dopb.ConnectResponse], error,
) {
	patience := time.AfterFunc(connectTimeout, cancel)
	defer patience.Stop()
	stream, err := s.link.client.Connect(ctx)
	if err != nil {
		return nil, err
	}
	md, err := stream.Header()
	if err == nil && md == nil {
		// A stream that ended without a header says why to Recv.
		if _, err = stream.Recv(); err == nil || errors.Is(err, io.EOF) {
			err = errors.New("the host ended the stream")
		}
	}
	return stream, err
}

// take returns the frames that wait, and leaves spare in their place. Their calls count as sent from now on;
// one that its caller has given up already is left out.
func (s *linkStream) take(spare []*dopb.CallerFrame) []*dopb.CallerFrame {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	kept := s.queue[:0]
	for _, f := range s.queue {
		p := s.calls[f.GetCallId()]
		if p != nil {
			p.sent = true
		} else if f.GetCall() != nil {
			continue
		}
		kept = append(kept, f)
	}
	s.queue = spare
	return kept
}

// read takes replies until the stream ends, and returns why it did.
func (s *linkStream) read(stream grpc.ServerStreamingClient[dopb.ConnectResponse]) error {
	for {
		batch, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, f := range batch.GetFrames() {
			if err := s.receive(f); err != nil {
				return err
			}
		}
	}
}

// receive takes one frame. An error ends the stream: the host breaks the protocol.
func (s *linkStream) receive(f *dopb.HostFrame) error {
	switch r := f.GetResult().(type) {
	case *dopb.HostFrame_Stub:
		return s.session.receive(r.Stub)
	case *dopb.HostFrame_Draining:
		s.drain(f.GetCallId())
		return nil
	case *dopb.HostFrame_WantBody:
		s.link.mu.Lock()
		up := s.uploads[f.GetCallId()]
		if p := s.calls[f.GetCallId()]; p != nil {
			up = p.upload
		}
		s.link.mu.Unlock()
		if up != nil {
			s.link.startUpload(up)
		}
		return nil
	}
	s.link.mu.Lock()
	p := s.calls[f.GetCallId()]
	delete(s.calls, f.GetCallId())
	if p != nil && p.upload != nil && f.GetFetch().GetDownloadToken() != "" {
		s.keepUploadLocked(f.GetCallId(), p.upload)
	}
	s.link.mu.Unlock()
	stubs := f.GetRpc().GetStubs()
	if len(stubs) > 0 || p != nil && (len(p.exports) > 0 || p.pending != nil) {
		if err := s.settleStubs(f, p); err != nil {
			return err
		}
	}
	if p != nil {
		p.settled <- settlement{frame: f}
	}
	return nil
}

// settleStubs takes the stubs of a reply, and takes back those of the call's arguments.
func (s *linkStream) settleStubs(f *dopb.HostFrame, p *pendingCall) error {
	refs := f.GetRpc().GetStubs()
	stubs, err := s.session.bring(refs)
	if err != nil {
		if p != nil {
			p.settled <- settlement{err: disconnected(err)}
		}
		return err
	}
	if p != nil {
		s.session.withdraw(p.exports, f.GetKept())
		p.pending.arrived()
	}
	if len(refs) > 0 {
		s.pushStub(&dopb.StubFrame{Frame: &dopb.StubFrame_Drop{Drop: &dopb.StubDrop{Calls: []uint64{f.GetCallId()}}}})
	}
	if p == nil {
		Value{Stubs: stubs}.Drop()
		return nil
	}
	p.stubs = stubs
	return nil
}

// keepUploadLocked keeps a request's body that may be wanted after the response's head, until it or the response has
// ended.
func (s *linkStream) keepUploadLocked(id uint64, up *upload) {
	if s.uploads == nil {
		s.uploads = map[uint64]*upload{}
	}
	s.uploads[id] = up
	context.AfterFunc(up.ctx, func() {
		s.link.mu.Lock()
		defer s.link.mu.Unlock()
		delete(s.uploads, id)
	})
}

// drain fails the calls after last, which the host does not run, and has the next call open a new stream.
func (s *linkStream) drain(last uint64) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if s.link.cur == s {
		s.link.cur = nil
	}
	for id, p := range s.calls {
		if id > last {
			delete(s.calls, id)
			p.settled <- settlement{err: drainingError()}
		}
	}
}

// lose ends the stream: its calls fail as disconnected.
func (s *linkStream) lose(cause error) {
	if errors.Is(cause, io.EOF) {
		cause = errors.New("the host ended the stream")
	}
	if c := context.Cause(s.link.ctx); c != nil {
		cause = c
	}
	defer func() {
		s.session.close(cause)
		s.end(cause)
	}()
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.lost = true
	if s.link.cur == s {
		s.link.cur = nil
	}
	for id, p := range s.calls {
		delete(s.calls, id)
		if p.sent {
			p.settled <- settlement{err: disconnected(cause)}
		} else {
			p.settled <- settlement{err: notSent(cause)}
		}
	}
	s.queue = nil
}

func drainingError() *Error {
	return &Error{Reason: ReasonDraining, Message: "The host takes no new calls.", Retryable: true}
}
