package script

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/deploy"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
	"github.com/tandem-do/tandem/worker/ingress"
	"github.com/tandem-do/tandem/worker/scheduled"
)

// HealthPath answers probes once the process takes requests, and the router knows it or has not answered in time.
const HealthPath = "/cdn-cgi/tandem/health"

// Options say how a script's worker process runs.
type Options struct {
	// Listener takes HTTP requests. Serve closes it.
	Listener net.Listener
	// Router is the connection to the router process.
	Router *grpc.ClientConn
	// Services takes the calls of other processes to the script's entrypoints, which find it by the router's registry at
	// ServicesAddress, a gRPC target. Serve closes it. Without it the script can be reached by HTTP alone.
	Services        net.Listener
	ServicesAddress string
	// Bundle is the script. Required.
	Bundle *bundle.Bundle
	// Secrets are the values of its secrets, by name.
	Secrets map[string]string
	// Isolates is how many isolates share the requests; zero means GOMAXPROCS.
	Isolates int
	// Limits bound events.
	Limits isolate.Limits
	// OnStuck is isolate.Options.OnStuck.
	OnStuck func()
	// Fetch sends requests to the world; nil refuses them.
	Fetch webapi.Fetcher
	// Cache is behind caches; nil means one in memory, of webapi.DefaultCacheBytes.
	Cache webapi.Cache
	// Development shows clients the stacks of uncaught errors, takes /cdn-cgi/local/scheduled, and has request.cf be a
	// placeholder.
	Development bool
	// OnLog is told of console lines and uncaught errors, from any goroutine. It must not block.
	OnLog func(isolate.Entry)
	// OnRequest is told of each request that was answered; nil drops them.
	OnRequest func(Request)
	// Load reads the version of the Worker that there is by now, for deployments; each value of Reload, and each call of
	// the deployment service at Services, asks for one. Nil means that the process runs what it was given.
	Load   func() (deploy.Version, error)
	Reload <-chan os.Signal
	// Log takes the process's log; nil discards it.
	Log *slog.Logger
}

// Request is what there is to say of a request that was answered.
type Request struct {
	Method, Path string
	Status       int
	Took         time.Duration
}

// Validate says all that is wrong with the options.
func (o Options) Validate() error {
	var errs []error
	if o.Listener == nil {
		errs = append(errs, errors.New("listener is missing"))
	}
	if o.Router == nil {
		errs = append(errs, errors.New("connection to the router is missing"))
	}
	if o.Bundle == nil {
		errs = append(errs, errors.New("bundle is missing"))
	}
	if o.Services != nil && o.ServicesAddress == "" {
		errs = append(errs, errors.New("the address of services is missing"))
	}
	if o.Isolates < 0 {
		errs = append(errs, errors.New("number of isolates is negative"))
	}
	return errors.Join(errs...)
}

// Serve runs the worker process until ctx ends, then finishes the requests that run. Errors: those of Validate, a script
// that cannot be compiled or throws as it starts (ErrScript), a listener that breaks.
func Serve(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return errors.Join(fmt.Errorf("worker options: %w", err), o.close())
	}
	client := routerpb.NewRouterServiceClient(o.Router)
	router := binding.NewRouter(binding.RouterOptions{Client: client})
	return errors.Join(serve(ctx, o, router, client), router.Close())
}

// close closes the listeners of a process that does not come to serve.
func (o *Options) close() error {
	var errs []error
	for _, l := range []net.Listener{o.Listener, o.Services} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// serve runs a worker process whose objects and services are reached through caller.
func serve(ctx context.Context, o Options, caller sidecar.Caller, client routerpb.RouterServiceClient) error {
	v, err := newVersions(ctx, o, caller)
	if err != nil {
		return errors.Join(err, o.close())
	}
	defer v.close()
	routes := []ingress.Route{{Path: HealthPath, Handler: http.HandlerFunc(v.health), AnyHost: true}}
	if o.Development {
		for _, path := range scheduled.Paths() {
			routes = append(routes, ingress.Route{Path: path, Handler: v.scheduled()})
		}
	}
	in, err := ingress.New(ingress.Options{
		Routes: routes, Fallback: ingress.Route{Handler: duplex(v), AnyHost: true}, Log: o.Log,
	})
	if err != nil {
		return errors.Join(err, o.close())
	}
	return v.takeEvents(ctx, in, client)
}

// takeEvents takes requests, calls and deployments until ctx ends.
func (v *versions) takeEvents(ctx context.Context, in *ingress.Ingress, client routerpb.RouterServiceClient) error {
	var g errgroup.Group
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o := &v.options
	var d *deploy.Deployer
	if o.Load != nil {
		d = deploy.New(deploy.Options{
			Running: deploy.Version{Bundle: o.Bundle, Secrets: o.Secrets}, Load: o.Load, Switch: v.replace, Log: o.Log,
		})
		g.Go(func() error {
			deploy.Follow(ctx, o.Reload, d)
			return nil
		})
	}
	var again []chan struct{}
	if o.Services != nil {
		again = append(again, v.serveEntrypoints(ctx, &g, stop, client, d))
	} else {
		close(v.registered)
	}
	if address := o.Listener.Addr(); o.Services != nil || o.Development && address.Network() == "tcp" {
		told := make(chan struct{}, 1)
		again = append(again, told)
		g.Go(func() error {
			v.keepSchedules(ctx, address, told)
			return nil
		})
	}
	g.Go(func() error {
		v.announce(ctx, again)
		return nil
	})
	g.Go(func() error {
		err := in.Serve(ctx, o.Listener)
		stop(err)
		return err
	})
	return g.Wait()
}

// announce passes the word of each new version on, until ctx ends.
func (v *versions) announce(ctx context.Context, to []chan struct{}) {
	for {
		select {
		case <-v.changed:
		case <-ctx.Done():
			return
		}
		for _, c := range to {
			select {
			case c <- struct{}{}:
			default: // it has word
			}
		}
	}
}

// serveEntrypoints registers the process and takes calls of others until ctx ends. A token in again has the process
// registered as it is by now.
func (v *versions) serveEntrypoints(ctx context.Context, g *errgroup.Group, stop func(error),
	client routerpb.RouterServiceClient, d *deploy.Deployer,
) (again chan struct{}) {
	server := sidecar.NewServer(sidecar.ServerOptions{Reflection: v.options.Development, Log: v.options.Log})
	sidecar.RegisterHandler(server, v)
	if d != nil {
		deploy.Register(server.Server, d)
	}
	r := newRegistration(v, client, v.options.ServicesAddress)
	again = make(chan struct{}, 1)
	g.Go(func() error {
		pause := r.register(ctx, 0, grpc.WaitForReady(true)) // the router may be starting too
		close(v.registered)
		r.keep(ctx, pause, again)
		<-ctx.Done()
		r.end(context.WithoutCancel(ctx))
		return nil
	})
	g.Go(func() error {
		err := sidecar.Serve(ctx, v.options.Services, server)
		stop(err)
		return err
	})
	return again
}

// bodyGrace is how long the rest of a request's body is waited for once its event is over.
const bodyGrace = 2 * time.Second

// duplex lets a script answer while it still reads the request, over HTTP/1 too.
func duplex(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex() // HTTP/2 always is
		next.ServeHTTP(w, r)
		// The server would close the body when it has called off its read for the next request. Where that meets the body's
		// end it begins another one, and the next request breaks the connection.
		_ = control.Flush()
		_ = control.SetReadDeadline(time.Now().Add(bodyGrace)) // the script may still read it, from a slow client
		_ = r.Body.Close()
	})
}

func (v *versions) health(w http.ResponseWriter, r *http.Request) {
	select {
	case <-v.registered:
	case <-r.Context().Done():
		return
	}
	ingress.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// Script runs a bundle's default export, or the listeners of a script that has none. Make it with New and Close it.
type Script struct {
	o    Options
	log  *slog.Logger
	pool *pool
	// cf is request.cf of a client's request; nil means that there is none.
	cf webapi.CF
	// running counts the events that were let in, and retired is true once they belong to another version.
	running atomic.Int64
	retired atomic.Bool
}

// New compiles the script and runs its top level once. Objects are reached through caller. Of the options, Listener and
// Router are not used.
func New(ctx context.Context, o Options, caller sidecar.Caller) (*Script, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnLog == nil {
		o.OnLog = func(isolate.Entry) {}
	}
	if o.Isolates == 0 {
		o.Isolates = runtime.GOMAXPROCS(0)
	}
	if o.Cache == nil {
		o.Cache = webapi.NewMemoryCache(webapi.DefaultCacheBytes, nil)
	}
	m := o.Bundle.Manifest()
	program, err := isolate.Compile(isolate.Source{
		Name: "worker.js", Code: string(o.Bundle.Code()), SourceMap: o.Bundle.SourceMap(),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrScript, err)
	}
	bindings := env.Options{
		Manifest: m, Secrets: o.Secrets,
		Namespace: func(key string) *binding.Namespace { return binding.NewNamespace(key, caller) },
	}
	s := &Script{o: o, log: o.Log}
	if o.Development {
		s.cf = developmentCF
	}
	bindings.Service = func(to bundle.Service) env.Service { return s.service(to, caller) }
	iso := bindings.Isolate(webapi.Options{Fetch: o.Fetch, Cache: o.Cache})
	iso.Limits, iso.OnLog, iso.Log, iso.OnStuck = o.Limits, o.OnLog, o.Log, o.OnStuck
	s.pool = newPool(program, o.Isolates, iso)
	release, _, err := s.pool.take(ctx)
	if err != nil {
		s.pool.close()
		return nil, startError(err)
	}
	release()
	return s, nil
}

// ErrScript is wrapped by the error of a script that cannot be compiled, or throws as it starts.
var ErrScript = errors.New("the script does not start")

// startError says that the script's top level failed, with its stack.
func startError(err error) error {
	if x, ok := errors.AsType[*isolate.Exception](err); ok {
		return fmt.Errorf("%w: %s", ErrScript, x.Stack)
	}
	return fmt.Errorf("%w: %w", ErrScript, err)
}

// Close ends the isolates: events that run fail.
func (s *Script) Close() { s.pool.close() }
