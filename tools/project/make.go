package project

import (
	"context"
	"io"

	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/bundle/build"
)

// MakeOptions are what a project's own build command has.
type MakeOptions struct {
	// Env is its environment, as os.Environ gives it.
	Env []string
	// Out is where its output goes; nil drops it.
	Out io.Writer
}

// Make runs the project's build command, builds its script and makes a bundle of both. A fault of the project is a
// *build.Error, or an *Error when the script's file is not there.
func (p *Project) Make(ctx context.Context, o MakeOptions) (*bundle.Bundle, []build.Message, error) {
	if err := p.runCommand(ctx, o); err != nil {
		return nil, nil, err
	}
	r, err := build.Build(ctx, p.Build)
	if err != nil {
		return nil, nil, p.explain(err)
	}
	b, err := r.Bundle(p.Manifest)
	return b, r.Warnings, err // Bundle adds warnings
}

// runCommand runs the build command if there is one.
func (p *Project) runCommand(ctx context.Context, o MakeOptions) error {
	if p.Command == nil {
		return nil
	}
	out := o.Out
	if out == nil {
		out = io.Discard
	}
	purpose := "WRANGLER_COMMAND=dev"
	if p.Build.Mode == build.Production {
		purpose = "WRANGLER_COMMAND=deploy"
	}
	return p.Command.Run(ctx, append(append([]string(nil), o.Env...), purpose), out)
}
