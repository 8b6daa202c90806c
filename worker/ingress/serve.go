package ingress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of the server.
const (
	headerTimeout = 10 * time.Second
	// writeTimeout is how long a client may take for one piece of a response. Each piece gets it anew, since event
	// streams stay open; without it a client that stops reading would hold its call at the host for ever.
	writeTimeout   = time.Minute
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	// DrainTimeout is how long requests may go on after the end of Serve's context, cutTimeout how long they may take
	// for an answer once they are cut off. A host that drains after the worker has the rest of a stack's ten seconds.
	DrainTimeout = 6 * time.Second
	cutTimeout   = time.Second
)

// ErrStopping is the cause of the end of a request's context when the worker cuts the request off. Its client still
// waits for an answer, unlike one whose request was canceled.
var ErrStopping = errors.New("worker is stopping")

// Serve takes requests from l until ctx ends, then no new ones, and returns when those that run have ended or after
// DrainTimeout, when their contexts end with ErrStopping. It closes l.
func (in *Ingress) Serve(ctx context.Context, l net.Listener) error {
	// Requests outlive ctx by the time of the drain.
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	unread := newFresh()
	s := &http.Server{
		Handler:           in,
		ConnState:         unread.state,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout, // until a response begins
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(in.log.Handler(), slog.LevelDebug),
	}
	served, closed := make(chan error, 1), sync.OnceValue(l.Close)
	go func() { served <- s.Serve(onceListener{l, closed}) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	in.log.Info("ingress draining", "running", in.running.Load())
	drain, cancel := context.WithTimeout(base, DrainTimeout)
	defer cancel()
	if err := closed(); err != nil {
		in.log.Warn("ingress cannot close its listener", "err", err)
	}
	end := <-served
	s.SetKeepAlivesEnabled(false)
	unread.settle()
	err := s.Shutdown(drain)
	if err != nil {
		in.log.Warn("ingress cut requests off", "running", in.running.Load())
		cut(ErrStopping)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutTimeout)
		defer cancel()
		if err = s.Shutdown(last); err != nil {
			err = s.Close()
		}
	}
	if !errors.Is(end, net.ErrClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// onceListener is a listener that the drain closes first, and the server once more. Its connections are conns.
type onceListener struct {
	net.Listener
	close func() error
}

// Accept implements net.Listener.
func (l onceListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(c), nil
}

// Close implements net.Listener.
func (l onceListener) Close() error { return l.close() }
