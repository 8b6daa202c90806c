package traces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/tandem-do/tandem/tools/loopback"
)

// Bounds and defaults.
const (
	defaultMaxAge   = 24 * time.Hour
	defaultMaxBytes = 256 << 20
	minMaxBytes     = 64 << 10
	trimEvery       = time.Minute
	stopTimeout     = 5 * time.Second
)

// Options say how the trace store runs.
type Options struct {
	// HTTP serves the index page, the span search and OTLP/HTTP; GRPC serves OTLP/gRPC. Serve closes both.
	HTTP, GRPC net.Listener
	// Dir holds the spans; empty keeps them in memory.
	Dir string
	// MaxAge and MaxBytes bound what is kept. Defaults: 24 h, 256 MiB. MaxBytes is at least 64 KiB.
	MaxAge   time.Duration
	MaxBytes int64
	// Links are shown on the index page: a name and a URL each.
	Links [][2]string
	// Log takes the store's log; nil discards it.
	Log *slog.Logger
}

// withDefaults fills in what is zero, and reports every option that is out of range.
func (o Options) withDefaults() (Options, error) {
	if o.MaxAge == 0 {
		o.MaxAge = defaultMaxAge
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var errs []error
	if o.HTTP == nil || o.GRPC == nil {
		errs = append(errs, errors.New("traces: a listener is missing"))
	}
	if o.MaxAge < time.Second {
		errs = append(errs, fmt.Errorf("traces: max age %v is under 1s", o.MaxAge))
	}
	if o.MaxBytes < minMaxBytes {
		errs = append(errs, fmt.Errorf("traces: max bytes %d is under %d", o.MaxBytes, minMaxBytes))
	}
	return o, errors.Join(errs...)
}

// Serve runs the store until ctx ends, then finishes the requests that run, for 5 s at most. A directory
// that is corrupt, of a newer format or in use is left as it is and named in the error.
func Serve(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	s, err := openStore(o)
	if err != nil {
		return err
	}
	err = serve(ctx, o, s)
	return errors.Join(err, s.close())
}

// serve runs both servers and the trimming over s.
func serve(ctx context.Context, o Options, s *store) error {
	h, err := newHandler(s, o)
	if err != nil {
		return err
	}
	web := &http.Server{
		Handler: loopback.Only(h), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	rpc := newGRPC(s)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := web.Serve(o.HTTP); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve http: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		if err := rpc.Serve(o.GRPC); err != nil {
			return fmt.Errorf("serve grpc: %w", err)
		}
		return nil
	})
	g.Go(func() error { return s.trimUntil(ctx) })
	g.Go(func() error {
		<-ctx.Done()
		return stop(ctx, web, rpc)
	})
	o.Log.Info("trace store started", "http", o.HTTP.Addr().String(), "grpc", o.GRPC.Addr().String())
	err = g.Wait()
	o.Log.Info("trace store stopped")
	return err
}

// stop lets both servers finish what runs, and cuts it off after stopTimeout.
func stop(ctx context.Context, web *http.Server, rpc *grpc.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var g errgroup.Group
	g.Go(func() error {
		if err := web.Shutdown(ctx); err != nil {
			return web.Close()
		}
		return nil
	})
	g.Go(func() error {
		stopped := context.AfterFunc(ctx, rpc.Stop)
		defer stopped()
		rpc.GracefulStop()
		return nil
	})
	return g.Wait()
}
