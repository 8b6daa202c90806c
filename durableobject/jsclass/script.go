package jsclass

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/proto/lifetime"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

//go:embed state.js
var stateSource string

// compileState compiles the script of ctx, once a process.
var compileState = sync.OnceValues(func() (*goja.Program, error) {
	return goja.Compile("tandem-internal:state", stateSource, true)
})

// Options say how a script's classes run.
type Options struct {
	// Bundle is the script. Required.
	Bundle *bundle.Bundle
	// Secrets are the values of its secrets, by name.
	Secrets map[string]string
	// Isolates is how many isolates the objects share; zero means GOMAXPROCS.
	Isolates int
	// Limits bound events.
	Limits isolate.Limits
	// OnStuck is isolate.Options.OnStuck.
	OnStuck func()
	// Fetch sends requests to the world; nil refuses them.
	Fetch webapi.Fetcher
	// Cache is behind caches, at the exits of objects; nil refuses to keep anything.
	Cache webapi.Cache
	// Services reaches the Workers of service bindings, the script's own too; nil refuses them.
	Services sidecar.Caller
	// OnLog is told of console lines and uncaught errors, from any goroutine. It must not block.
	OnLog func(isolate.Entry)
	// Log takes faults of the engine; nil discards them.
	Log *slog.Logger
}

// Script is a bundle whose classes run. Make it with New, and Close it when no object of it is live any more.
type Script struct {
	o       Options
	program *isolate.Program

	pool []*seat
	// closing are the isolates that are being closed after a fault. It is closed when the script is.
	closing lifetime.Group
}

// seat is the place of an isolate in the pool, which is filled at first need and again after a fault.
type seat struct {
	// mu is held while the isolate is made, guards isolate.
	mu      sync.Mutex
	isolate *isolate.Isolate
}

// New compiles a script. It runs nothing yet: isolates are made when objects need them. Errors say what is wrong with the
// script.
func New(o Options) (*Script, error) {
	if o.Isolates <= 0 {
		o.Isolates = runtime.GOMAXPROCS(0)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := o.Bundle.Manifest()
	p, err := isolate.Compile(isolate.Source{
		Name: "worker.js", Code: string(o.Bundle.Code()), SourceMap: o.Bundle.SourceMap(),
	})
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", m.Name, err)
	}
	s := &Script{o: o, program: p, pool: make([]*seat, o.Isolates)}
	for n := range s.pool {
		s.pool[n] = &seat{}
	}
	return s, nil
}

// Check starts an isolate, and says what is wrong with the script if that does not go well: its top level fails, or it
// does not export a class that its manifest names.
func (s *Script) Check(ctx context.Context, c clock.Clock) error {
	i, err := s.isolateFor(ctx, objectid.ID{}, c)
	if x, ok := errors.AsType[*isolate.Exception](err); ok {
		return fmt.Errorf("the script does not start: %s", x.Stack)
	}
	if err != nil {
		return fmt.Errorf("the script does not start: %w", err)
	}
	var missing []string
	work := i.NewContext(isolate.ContextOptions{})
	err = work.Run(ctx, func(*isolate.Event) (goja.Value, error) {
		for _, one := range s.o.Bundle.Manifest().Classes {
			if _, ok := goja.AssertConstructor(i.Exports().Get(one.Name)); !ok {
				missing = append(missing, one.Name)
			}
		}
		return goja.Undefined(), nil
	}, nil)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("the script does not export the Durable Object classes %q", missing)
	}
	return err
}

// Classes returns the classes that the bundle's manifest names, for host.Options.Classes.
func (s *Script) Classes() []durableobject.Class {
	var out []durableobject.Class
	for _, c := range s.o.Bundle.Manifest().Classes {
		one := durableobject.Foreign(c.Name, &class{script: s, Class: c})
		one.Key = c.Key
		out = append(out, one)
	}
	return out
}

// Close ends the isolates. Objects that live fail.
func (s *Script) Close() {
	s.closing.Close()
	for _, seat := range s.pool {
		seat.mu.Lock()
		if seat.isolate != nil {
			seat.isolate.Close()
		}
		seat.mu.Unlock()
	}
	s.closing.Wait()
}

// compatibility is what the script asked for.
func (s *Script) compatibility() isolate.Compatibility {
	m := s.o.Bundle.Manifest()
	return isolate.Compatibility{Date: m.CompatibilityDate, Flags: m.CompatibilityFlags}
}

// isolateFor returns the isolate on which an object lives.
func (s *Script) isolateFor(ctx context.Context, id objectid.ID, c clock.Clock) (*isolate.Isolate, error) {
	seat := s.pool[int(uint16(id[0])|uint16(id[1])<<8)%len(s.pool)]
	seat.mu.Lock()
	defer seat.mu.Unlock()
	if i := seat.isolate; i != nil {
		select {
		case <-i.Condemned():
		default:
			return i, nil
		}
		s.closing.Go(i.Close) // it waits for what the isolate's events read from elsewhere
	}
	if s.closing.Closed() {
		return nil, isolate.ErrClosed
	}
	seat.isolate = nil
	i, err := isolate.New(context.WithoutCancel(ctx), s.program, s.isolateOptions(c))
	if err != nil {
		return nil, err
	}
	seat.isolate = i
	return i, nil
}

func (s *Script) isolateOptions(c clock.Clock) isolate.Options {
	bindings := env.Options{
		Manifest: s.o.Bundle.Manifest(), Secrets: s.o.Secrets,
		Namespace: func(key string) *binding.Namespace { return binding.NewNamespace(key, outgoing{}) },
	}
	if s.o.Services != nil {
		bindings.Service = func(to bundle.Service) env.Service {
			return binding.NewService(to.Worker, to.Entrypoint, to.Props, outgoing{services: s.o.Services})
		}
	}
	o := bindings.Isolate(webapi.Options{Fetch: s.fetch(), Cache: s.cache()})
	o.Install = append(o.Install, installState)
	o.Limits, o.Clock, o.OnLog, o.Log, o.OnStuck = s.o.Limits, isolateClock{c}, s.o.OnLog, s.o.Log, s.o.OnStuck
	return o
}

// fetch sends an object's requests to the world, after its output gate.
func (s *Script) fetch() webapi.Fetcher {
	if s.o.Fetch == nil {
		return nil
	}
	return func(ctx context.Context, q *http.Request) (*http.Response, error) {
		return fetchOut(ctx, q, s.o.Fetch)
	}
}

// isolateClock is the clock of a host's objects, for isolates.
type isolateClock struct{ clock clock.Clock }

// Now returns the time.
func (c isolateClock) Now() time.Time { return c.clock.Now() }

// AfterFunc calls f after d.
func (c isolateClock) AfterFunc(d time.Duration, f func()) func() bool {
	return c.clock.AfterFunc(d, f).Stop
}

// class is one class of a script.
type class struct {
	script *Script
	bundle.Class
}

var _ actor.Class = (*class)(nil)

// engine is what the package keeps in an isolate.
type engine struct {
	realm     *webapi.Realm
	classes   *env.Classes
	alarmInfo goja.Callable
	// state, storage and transaction are the prototypes of what scripts have of objects, and facets what all states have.
	state, storage, transaction, facets *goja.Object
	// kv and sql make properties of storage.
	kv, sql *goja.Object
	// isArray is the language's, and toMap makes a Map of an array of keys and values.
	isArray, toMap goja.Callable
}

type engineKey struct{}

func engineOf(i *isolate.Isolate) *engine { return i.Value(engineKey{}).(*engine) }

// installState makes the classes of ctx.
func installState(i *isolate.Isolate) error {
	program, err := compileState()
	if err != nil {
		return fmt.Errorf("compile the classes of ctx: %w", err)
	}
	g := &engine{realm: webapi.Of(i)}
	if g.classes, err = env.ClassesOf(g.realm); err != nil {
		return err
	}
	v, err := i.Runtime().RunProgram(program)
	if err != nil {
		return err
	}
	run, _ := goja.AssertFunction(v)
	host := i.Runtime().NewObject()
	install := func(o *goja.Object, functions map[string]func(goja.FunctionCall) goja.Value) {
		for name, f := range functions {
			err = errors.Join(err, o.Set(name, i.Function(name, 0, f)))
		}
	}
	p := &operations{isolate: i, engine: g}
	install(host, p.hostFunctions())
	for name, methods := range map[string]map[string]func(goja.FunctionCall) goja.Value{
		"operations": p.operationMethods(), "kv": p.kvMethods(),
	} {
		o := i.Runtime().NewObject()
		install(o, methods)
		err = errors.Join(err, host.Set(name, o))
	}
	g.isArray, _ = goja.AssertFunction(i.Runtime().Get("Array").(*goja.Object).Get("isArray"))
	if err != nil {
		return err
	}
	if v, err = run(goja.Undefined(), host, g.classes.Internals); err != nil {
		return err
	}
	o := v.(*goja.Object)
	for name, prototype := range map[string]**goja.Object{
		"state": &g.state, "storage": &g.storage, "transaction": &g.transaction, "facets": &g.facets,
		"kv": &g.kv, "sql": &g.sql,
	} {
		*prototype = o.Get(name).(*goja.Object)
	}
	g.classes.IsState = func(v goja.Value) bool {
		_, ok := g.realm.Attached(v).(*stateHandle)
		return ok
	}
	g.alarmInfo, _ = goja.AssertFunction(o.Get("alarmInfo"))
	g.toMap, _ = goja.AssertFunction(o.Get("toMap"))
	i.Runtime().ForOf(o.Get("platform"), func(c goja.Value) bool {
		g.realm.AddPlatformClass(c.(*goja.Object))
		return true
	})
	i.SetValue(engineKey{}, g)
	return nil
}
