package idp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tandem-do/tandem/tools/loopback"
	"github.com/tandem-do/tandem/worker/directory"
)

// stopTimeout is how long requests that run may take after ctx ended.
const stopTimeout = 5 * time.Second

// Options say how the development authorization server runs.
type Options struct {
	// Listener takes HTTP requests. Serve closes it.
	Listener net.Listener
	// PublicURL is the issuer, such as http://127.0.0.1:8789: an origin without a path.
	PublicURL string
	// Audience is the resource that tokens are for, and the only one that a request may name: the MCP
	// endpoint's URL.
	Audience string
	// Dir holds the signing key, the clients and the refresh tokens.
	Dir string
	// Directory is where users and organizations are: sqlite:PATH or postgres://…
	Directory string
	// Log takes the server's log; nil discards it.
	Log *slog.Logger
}

// validate reports every option that is wrong, and returns o with its defaults and without trailing slashes.
func (o Options) validate() (Options, error) {
	var errs []error
	if o.Listener == nil {
		errs = append(errs, errors.New("idp: the listener is missing"))
	}
	o.PublicURL = strings.TrimSuffix(o.PublicURL, "/")
	if u, err := url.Parse(o.PublicURL); err != nil || !isHTTP(u) || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		errs = append(errs, fmt.Errorf("idp: public URL %q is not an http or https origin", o.PublicURL))
	}
	if u, err := url.Parse(o.Audience); err != nil || !isHTTP(u) || u.Fragment != "" {
		errs = append(errs, fmt.Errorf("idp: audience %q is not an http or https URL", o.Audience))
	}
	if o.Dir == "" {
		errs = append(errs, errors.New("idp: the state directory is missing"))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(errs...)
}

// isHTTP reports whether u is an absolute http or https URL without a user.
func isHTTP(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// Serve runs the server until ctx ends, then finishes the requests that run, for 5 s at most. A state
// directory that is damaged or of a newer format is left as it is and named in the error.
func Serve(ctx context.Context, o Options) error {
	o, err := o.validate()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	key, err := loadKey(o.Dir)
	if err != nil {
		return err
	}
	db, err := openStore(ctx, o.Dir)
	if err != nil {
		return err
	}
	dir, err := directory.Open(ctx, o.Directory)
	if err != nil {
		return errors.Join(fmt.Errorf("open directory: %w", err), db.close())
	}
	s, err := newServer(o, key, db, dir)
	if err == nil {
		err = s.serve(ctx, o.Listener)
	}
	return errors.Join(err, dir.Close(), db.close())
}

// serve answers requests until ctx ends.
func (s *server) serve(ctx context.Context, l net.Listener) error {
	web := &http.Server{
		Handler:           loopback.Only(s.routes(), s.publicHost()),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve http: %w", err)
		}
		return nil
	})
	g.Go(func() error { return s.db.sweepUntil(ctx, s.log) })
	g.Go(func() error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if err := web.Shutdown(ctx); err != nil {
			return web.Close()
		}
		return nil
	})
	s.log.Info("authorization server started", "http", l.Addr().String())
	err := g.Wait()
	s.documents.close()
	s.log.Info("authorization server stopped")
	return err
}
