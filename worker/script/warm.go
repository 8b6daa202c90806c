package script

import (
	"context"
	"fmt"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// Warm runs an empty script: what a process makes once for all of its scripts is there when the first one comes.
func Warm(ctx context.Context) error {
	b, err := bundle.New(&bundle.Manifest{Name: "warm", Format: bundle.FormatModules, Main: "worker.js"},
		[]byte("(async function () { return {}; })"), nil)
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	s, err := New(ctx, Options{Bundle: b, Isolates: 1}, nil)
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	s.Close()
	return nil
}
