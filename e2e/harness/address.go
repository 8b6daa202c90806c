package harness

import (
	"context"
	"net"
	"testing"
	"time"
)

// FreeAddress returns a loopback address that nobody listens on at the moment.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// AwaitListener waits until something listens on an address, for at most 20 s.
func AwaitListener(t testing.TB, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var d net.Dialer
		if c, err := d.DialContext(ctx, "tcp", address); err == nil {
			c.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("nothing listens on", address)
		case <-tick.C:
		}
	}
}
