package script

import (
	"context"
	"net/http"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/env"
)

// own is a service binding that leads to the script itself: each event is one of its own, on any isolate.
type own struct {
	script *Script
	to     bundle.Service
}

var _ env.Service = (*own)(nil)

// service returns what a binding reaches: the script itself without a wire, another Worker through caller.
func (s *Script) service(to bundle.Service, caller sidecar.Caller) env.Service {
	if to.Worker != s.o.Bundle.Manifest().Name {
		return binding.NewService(to.Worker, to.Entrypoint, to.Props, caller)
	}
	return &own{script: s, to: to}
}

// Fetch implements env.Service.
func (o *own) Fetch(ctx context.Context, r *http.Request) (*http.Response, error) {
	ctx, err := sidecar.Deeper(ctx)
	if err != nil {
		return nil, err
	}
	release, i, err := o.script.pool.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return env.FetchEntrypoint(ctx, i, o.to, r)
}

// Call implements env.Service.
func (o *own) Call(ctx context.Context, method string, args []byte) ([]byte, error) {
	ctx, err := sidecar.Deeper(ctx)
	if err != nil {
		return nil, err
	}
	release, i, err := o.script.pool.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return env.CallEntrypoint(ctx, i, o.to, method, args)
}
