package gate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tandem-do/tandem/durableobject/gate"
)

// patientCommit is a commit that a test ends and makes slow.
type patientCommit struct{ done, slow chan struct{} }

func (c *patientCommit) Done() <-chan struct{} { return c.done }
func (c *patientCommit) Slow() <-chan struct{} { return c.slow }
func (c *patientCommit) Err() error            { return nil }

// Whoever waits for a patient commit learns of its end and of the gate's at once, and of the end of its context once the
// commit is slow.
func TestPatientCommit(t *testing.T) {
	t.Parallel()
	cause, broken := errors.New("cause"), errors.New("broken")
	type happen func(c *patientCommit, g *gate.OutputGate, cancel context.CancelCauseFunc)
	for name, c := range map[string]struct {
		happen happen
		over   bool
		want   error
	}{
		"done": {func(c *patientCommit, _ *gate.OutputGate, _ context.CancelCauseFunc) {
			close(c.done)
		}, true, nil},
		"broken": {func(_ *patientCommit, g *gate.OutputGate, _ context.CancelCauseFunc) {
			g.Break(broken) //nolint:errcheck // it returns what it was given
		}, true, broken},
		"cancelled": {func(_ *patientCommit, _ *gate.OutputGate, cancel context.CancelCauseFunc) {
			cancel(cause)
		}, false, nil},
		"slow": {func(c *patientCommit, _ *gate.OutputGate, _ context.CancelCauseFunc) {
			close(c.slow)
		}, false, nil},
		"cancelled and slow": {func(c *patientCommit, _ *gate.OutputGate, cancel context.CancelCauseFunc) {
			cancel(cause)
			close(c.slow)
		}, true, cause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var g gate.OutputGate
				commit := &patientCommit{done: make(chan struct{}), slow: make(chan struct{})}
				g.Lock(commit)
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				told := make(chan error, 1)
				go func() { told <- g.Wait(ctx) }()
				synctest.Wait()
				c.happen(commit, &g, cancel)
				synctest.Wait()
				select {
				case err := <-told:
					if !c.over || err != c.want { //nolint:errorlint // these very values
						t.Errorf("over with %v, want %v, %v", err, c.over, c.want)
					}
				default:
					if c.over {
						t.Error("still waiting")
					}
					g.Break(broken) //nolint:errcheck // ends the test
					<-told
				}
			})
		})
	}
}
