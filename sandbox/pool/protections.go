package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tandem-do/tandem/sandbox/frame"
)

// ErrUnprotected says that the machine does not allow a protection, and that the pool may not do without.
var ErrUnprotected = errors.New("the machine does not protect itself from programs")

// Ready waits until the first child was started, and says why that failed. It fails with ErrUnprotected, with ErrClosed
// and with the cause of ctx's end. It is called once.
func (p *Pool) Ready(ctx context.Context) error {
	select {
	case err := <-p.first:
		return err
	case <-p.closing:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// startSeparated starts a child, kept apart as well as the machine allows it.
func (p *Pool) startSeparated() (*child, error) {
	for {
		c, err := startChild(p.o.Command, p.separation)
		if err == nil {
			return c, nil
		}
		next, ok := p.separation.next(err)
		if !ok {
			return nil, err
		}
		p.separation = next
	}
}

// checkProtections fails if a child lacks one and that is not accepted.
func (p *Pool) checkProtections(c *child) error {
	if _, off := sortProtections(c.protections); p.o.RequireProtections && len(off) > 0 {
		return fmt.Errorf("%w: %s", ErrUnprotected, strings.Join(off, "; "))
	}
	return nil
}

// logReady says that the sandbox takes programs, and what stands between them and the machine.
func (p *Pool) logReady(c *child) {
	on, off := sortProtections(c.protections)
	p.o.Log.Info("sandbox takes programs", "protections", strings.Join(on, ", "))
	if len(off) > 0 {
		p.o.Log.Warn("sandbox lacks protections", "protections", strings.Join(off, "; "))
	}
}

// sortProtections returns the names of those that are on, and of the others with the reasons.
func sortProtections(all []frame.Protection) (on, off []string) {
	for _, p := range all {
		if p.Off == "" {
			on = append(on, p.Name)
		} else {
			off = append(off, p.Name+" ("+p.Off+")")
		}
	}
	return on, off
}
