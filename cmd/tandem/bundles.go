package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"google.golang.org/grpc"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/durableobject/jsclass"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/deploy"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// hostedScripts are the scripts whose classes an object host runs.
type hostedScripts struct {
	flags *bundleFlags
	sys   system
	log   *slog.Logger
	// services reaches the Workers of service bindings.
	services sidecar.Caller
	// cache is behind caches of all scripts, each of which has its own part. It stays when a script is replaced.
	cache *webapi.MemoryCache
	// stuck is called when a script cannot be stopped.
	stuck func()
	// mu guards running: the scripts by the places of their bundles.
	mu      sync.Mutex
	running []*jsclass.Script
}

// start compiles the scripts, and returns their classes by Worker.
func (s *hostedScripts) start(list []deploy.Version) ([]host.WorkerClasses, error) {
	var classes []host.WorkerClasses
	seen := map[string]bool{}
	for _, v := range list {
		name := v.Bundle.Manifest().Name
		if seen[name] {
			return nil, usagef("two bundles are of the Worker %q", name)
		}
		seen[name] = true
		script, err := s.compile(v, len(list) > 1)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errProject, err)
		}
		s.mu.Lock()
		s.running = append(s.running, script)
		s.mu.Unlock()
		classes = append(classes, host.WorkerClasses{Worker: name, Classes: script.Classes()})
	}
	return classes, nil
}

// compile compiles a script, whose lines are marked with its Worker's name when it is one of several.
func (s *hostedScripts) compile(v deploy.Version, several bool) (*jsclass.Script, error) {
	label := ""
	if several {
		label = "[" + v.Bundle.Manifest().Name + "] "
	}
	return jsclass.New(jsclass.Options{
		Bundle: v.Bundle, Secrets: v.Secrets, OnLog: printLog(s.sys, label), Log: s.log, Services: s.services,
		Limits: s.flags.limits(), OnStuck: s.stuck, Cache: s.cache.Of(v.Bundle.Manifest().Name),
		Fetch: outbound(), //nolint:bodyclose // whoever calls it closes them
	})
}

// deployers make the scripts' classes get other code when their bundles have changed.
func (s *hostedScripts) deployers(h *host.Host, list []deploy.Version) []*deploy.Deployer {
	var all []*deploy.Deployer
	for i, v := range list {
		all = append(all, deploy.New(deploy.Options{
			Running: v, Log: s.log,
			Load: func() (deploy.Version, error) { return s.flags.read(i) },
			Switch: func(ctx context.Context, next deploy.Version) error {
				return s.replace(ctx, h, i, next)
			},
		}))
	}
	return all
}

// replace gives one Worker's classes the code of another version.
func (s *hostedScripts) replace(ctx context.Context, h *host.Host, i int, next deploy.Version) error {
	script, err := s.compile(next, len(s.flags.files) > 1)
	if err != nil {
		return err
	}
	if len(next.Bundle.Manifest().Classes) > 0 {
		err = script.Check(ctx, h.Clock())
	}
	if err == nil {
		err = h.DeployWorker(ctx, next.Bundle.Manifest().Name, script.Classes())
	}
	if errors.Is(err, host.ErrDraining) {
		err = deploy.ErrEnding
	}
	if err != nil {
		script.Close()
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[i].Close()
	s.running[i] = script
	return nil
}

func (s *hostedScripts) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, script := range s.running {
		script.Close()
	}
}

// serveBundles runs the host with the classes of bundles.
func (f *hostFlags) serveBundles(ctx context.Context, sys system, reflection bool, log *slog.Logger) error {
	list, err := f.bundle.open()
	if err != nil {
		return err
	}
	router, err := sidecar.Dial(f.router)
	if err != nil {
		return err
	}
	defer router.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	caller := binding.NewRouter(binding.RouterOptions{Client: routerpb.NewRouterServiceClient(router)})
	defer caller.Close() //nolint:errcheck // the process ends
	scripts := &hostedScripts{
		flags: &f.bundle, sys: sys, log: log, services: caller, stuck: func() { stop(errStuck) },
		cache: webapi.NewMemoryCache(webapi.DefaultCacheBytes, nil),
	}
	defer scripts.close()
	classes, err := scripts.start(list)
	if err != nil {
		return err
	}
	l, err := sidecar.Listen(f.listen)
	if err != nil {
		return err
	}
	address := f.address
	if address == "" {
		address = target(l.Addr())
	}
	var platform []durableobject.Class
	if f.platform {
		platform = services(caller)
	}
	reload, stopReload := reloads()
	defer stopReload()
	var following sync.WaitGroup
	err = host.Serve(ctx, host.Options{
		Listener: l, Address: address, Dir: f.dir, Router: router, Worker: classes[0].Worker, Classes: classes[0].Classes,
		Others: classes[1:], Services: platform, TestClock: f.testClock, StrictLimits: f.strictLimits,
		OnStart: func(h *host.Host) {
			deployers := scripts.deployers(h, list)
			h.Register(func(r grpc.ServiceRegistrar) { deploy.Register(r, deployers...) })
			following.Go(func() { deploy.Follow(ctx, reload, deployers...) })
		},
		Reflection: reflection, Log: log,
	})
	stop(nil)
	following.Wait()
	if context.Cause(ctx) == errStuck { //nolint:errorlint // it is not wrapped
		return errors.Join(errStuck, err)
	}
	return err
}
