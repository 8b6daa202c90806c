package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// FreeAddress returns a loopback address that nobody listens on at the moment, and that no other test gets until this one
// has ended. Its port is none of those that systems hand out by themselves: on Linux these begin at 32768, in gVisor at
// 16000.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const first, end = 10000, 16000
	locks := filepath.Join(os.TempDir(), "tandem-e2e-ports")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		port := first + rand.IntN(end-first)
		lock, err := os.OpenFile(filepath.Join(locks, fmt.Sprint(port)), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			if l, err := net.Listen("tcp", address); err == nil {
				l.Close()
				t.Cleanup(func() { lock.Close() })
				return address
			}
		}
		lock.Close()
	}
	t.Fatal("no port is free")
	return ""
}

// AwaitListener waits until something listens on an address, for at most two minutes.
func AwaitListener(t testing.TB, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
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
