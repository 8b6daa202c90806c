package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// benchStart starts a stack several times, on a new state directory and on one that is there.
func benchStart(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		binary, err := harness.Build(ctx, t.TempDir())
		if err != nil {
			return err
		}
		for range s.rounds {
			dir := t.TempDir() + "/state"
			for _, state := range []string{"new", "existing"} {
				began := time.Now()
				stack, err := harness.Start(ctx, harness.Options{Binary: binary, StateDir: dir})
				if err != nil {
					return err
				}
				fmt.Printf("ready after %s (%s state directory)\n", time.Since(began).Round(time.Millisecond), state)
				stack.Stop()
			}
		}
		return nil
	})
}
