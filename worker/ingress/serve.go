package ingress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
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
	// DrainTimeout is how long requests may go on after the end of Serve's context.
	DrainTimeout = 10 * time.Second
)

// Serve takes requests from l until ctx ends, then no new ones, and returns when those that run have ended or after
// DrainTimeout, when they are cut off. It closes l.
func (in *Ingress) Serve(ctx context.Context, l net.Listener) error {
	// Requests outlive ctx by the time of the drain.
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	s := &http.Server{
		Handler:           in,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout, // until a response begins
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(in.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	in.log.Info("ingress draining", "running", in.running.Load())
	drain, cancel := context.WithTimeout(base, DrainTimeout)
	defer cancel()
	err := s.Shutdown(drain)
	if err != nil {
		in.log.Warn("ingress cut requests off", "running", in.running.Load())
		cut(errors.New("worker is stopping"))
		err = s.Close()
	}
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}
