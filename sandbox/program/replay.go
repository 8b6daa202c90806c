package program

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tandem-do/tandem/sandbox/frame"
)

// replay leads a program to where it was before: it goes on with the results and fires its timers in the order in which
// it did so then, at the times that it had then, without waiting. Between two of these steps a program does the same by
// itself, since all that it can learn of the world comes with them.
type replay struct {
	// left are the results that it has still to go on with, in order.
	left []frame.Taken
	// timers is how many timers had fired when it was where it is led to.
	timers uint64
	// early are results that have come before their turn, in the order of their coming.
	early []*frame.Result
	// over is true once the program goes on by itself.
	over bool
}

// errDiverged ends a program that does not do again what it did before.
var errDiverged = errors.New("the program did not do the same again")

func diverged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errDiverged, fmt.Sprintf(format, args...))
}

// replayTurn takes one step of the replay. Errors: errDiverged.
func (e *execution) replayTurn() error {
	r := &e.replay
	until := r.timers
	if len(r.left) > 0 {
		until = r.left[0].Timers
	}
	switch {
	case e.timers.fired < until:
		next := e.timers.next()
		if next == nil {
			return diverged("it has no timer where it had one")
		}
		return e.fire(next)
	case len(r.left) == 0:
		r.over = true
		e.clock.goOn()
		return nil
	}
	taken := r.left[0]
	if _, ok := e.calls[taken.CallID]; !ok {
		return diverged("it has not made call %d", taken.CallID)
	}
	at := slices.IndexFunc(r.early, func(m *frame.Result) bool { return m.CallID == taken.CallID })
	if at < 0 {
		return e.receive()
	}
	result := r.early[at]
	r.early, r.left = slices.Delete(r.early, at, at+1), r.left[1:]
	return e.takeAt(result, taken.Active)
}
