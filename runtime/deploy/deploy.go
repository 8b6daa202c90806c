package deploy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// Timeout bounds one deployment.
const Timeout = 2 * time.Minute

// Errors of a deployment.
var (
	// ErrOther is of a bundle of another Worker.
	ErrOther = errors.New("the bundle is another Worker's")
	// ErrEnding is of a process that is ending.
	ErrEnding = errors.New("the process is ending")
)

// Version is a Worker as a process can run it.
type Version struct {
	// Bundle is the script.
	Bundle *bundle.Bundle
	// Secrets are the values of its secrets, by name.
	Secrets map[string]string
}

// Equal says whether two versions are the same to a script.
func (v Version) Equal(w Version) bool {
	return v.Bundle.Hash() == w.Bundle.Hash() && maps.Equal(v.Secrets, w.Secrets)
}

// Options say how a process deploys.
type Options struct {
	// Running is what it runs at first. Required.
	Running Version
	// Load reads what it shall run. Required.
	Load func() (Version, error)
	// Switch starts a version, checks that it starts, and has it take new events. After an error the present one must go on
	// as if nothing had been. Required. It is called by one goroutine at a time.
	Switch func(ctx context.Context, v Version) error
	// Log is told of each deployment; nil discards it.
	Log *slog.Logger
}

// Result is how a deployment ended.
type Result struct {
	// Running is what the process runs.
	Running Version
	// Previous is the hash of the bundle before.
	Previous string
	// Changed is false when the process ran it already.
	Changed bool
}

// Deployer takes deployments. Make it with New.
type Deployer struct {
	o Options
	// turn is held during a deployment, guards running.
	turn    chan struct{}
	running Version
}

// New returns a deployer.
func New(o Options) *Deployer {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Deployer{o: o, turn: make(chan struct{}, 1), running: o.Running}
}

// Deploy reads the version that there is and switches to it if it is another. Errors: those of Load, ErrOther, those of
// Switch, and the end of ctx. The result says what runs after an error too, unless it is that of ctx.
func (d *Deployer) Deploy(ctx context.Context) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	defer func() { <-d.turn }()
	start := time.Now()
	r, err := d.deploy(ctx)
	name := d.running.Bundle.Manifest().Name
	switch {
	case err != nil:
		d.o.Log.Error("a new version was refused, the present one goes on", "worker", name,
			"bundle", short(d.running.Bundle), "err", err)
	case r.Changed:
		d.o.Log.Info("a new version runs", "worker", name, "bundle", short(r.Running.Bundle),
			"previous", r.Previous[:shortHash], "took", time.Since(start).Round(time.Millisecond))
	default:
		d.o.Log.Info("the bundle and its secrets are those that run", "worker", name, "bundle", short(r.Running.Bundle))
	}
	return r, err
}

// shortHash is how much of a hash is told people.
const shortHash = 12

func short(b *bundle.Bundle) string { return b.Hash()[:shortHash] }

func (d *Deployer) deploy(ctx context.Context) (Result, error) {
	have := d.running.Bundle
	r := Result{Running: d.running, Previous: have.Hash()}
	next, err := d.o.Load()
	if err != nil {
		return r, err
	}
	if a, b := have.Manifest().Name, next.Bundle.Manifest().Name; a != b {
		return r, fmt.Errorf("%w: it is %q, and %q runs here", ErrOther, b, a)
	}
	if next.Equal(d.running) {
		return r, nil
	}
	if err := d.o.Switch(ctx, next); err != nil {
		return r, err
	}
	d.running, r.Running, r.Changed = next, next, true
	return r, nil
}

// Follow has deployers deploy for each value of requests, until ctx ends. Who sends them learns the outcome from the log.
func Follow[T any](ctx context.Context, requests <-chan T, deployers ...*Deployer) {
	for {
		select {
		case <-requests:
			for _, d := range deployers {
				_, _ = d.Deploy(ctx) // it is in the log
			}
		case <-ctx.Done():
			return
		}
	}
}
