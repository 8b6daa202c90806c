package sidecar_test

import (
	"context"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// A call whose context has no deadline gets the link's, at both ends; one that has its own keeps it.
func TestCallTimeout(t *testing.T) {
	t.Parallel()
	type seen struct {
		left  time.Duration
		ended chan struct{}
	}
	calls := make(chan seen, 1)
	hang := handlerFuncs{call: func(ctx context.Context, _ sidecar.Target, _ string, _ []byte) ([]byte, error) {
		d, _ := ctx.Deadline()
		s := seen{time.Until(d), make(chan struct{})} // a channel of the bubble
		calls <- s
		<-ctx.Done()
		close(s.ended)
		return nil, ctx.Err()
	}}
	bubble(t, handler(hang), func(t *testing.T, n *network) {
		link := sidecar.NewLink(n.conn, sidecar.LinkOptions{CallTimeout: 10 * time.Second})
		defer link.Close()
		for _, c := range []struct{ own, least, most time.Duration }{
			{0, 10 * time.Second, 10*time.Second + 625*time.Millisecond},
			{3 * time.Second, 3 * time.Second, 3 * time.Second},
			{0, 10 * time.Second, 10*time.Second + 625*time.Millisecond}, // the sweeper runs again
		} {
			ctx, cancel := context.Background(), func() {}
			if c.own > 0 {
				ctx, cancel = context.WithTimeout(ctx, c.own)
			}
			began := time.Now()
			_, err := link.Call(ctx, target("x"), "m", nil)
			cancel()
			wantReason(t, err, sidecar.ReasonDeadline)
			if took := time.Since(began); took < c.least || took > c.most {
				t.Errorf("the call took %v, want %v to %v", took, c.least, c.most)
			}
			s := <-calls
			if s.left != c.least {
				t.Errorf("the host has %v for it, want %v", s.left, c.least)
			}
			<-s.ended
		}
	})
}
