package main

import (
	"fmt"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// startApplication starts the MCP application several times, on a new state directory and on one that is there.
func startApplication(t *steps, s settings, binary string) error {
	for range s.rounds {
		dir := t.TempDir() + "/state"
		for _, state := range []string{"new", "existing"} {
			began := time.Now()
			stack, err := harness.Start(t.ctx, harness.Options{Binary: binary, StateDir: dir})
			if err != nil {
				return err
			}
			fmt.Printf("ready after %s (%s state directory)\n", time.Since(began).Round(time.Millisecond), state)
			stack.Stop()
		}
	}
	return nil
}
