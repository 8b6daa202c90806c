package scenario

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// suite is what the tests share: the executable and one stack.
type suite struct {
	binary string
	stack  *harness.Stack
}

// shared is set before the first test runs and never again.
var shared suite

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tandem-e2e-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	if shared.binary, err = harness.Build(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	stack, attached := harness.Attach()
	if !attached {
		if stack, err = harness.Start(ctx, harness.Options{Binary: shared.binary}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer stack.Stop()
	}
	shared.stack = stack
	code := m.Run()
	if code != 0 {
		fmt.Fprintf(os.Stderr, "\n== log of the stack\n%s\n", stack.Log())
	}
	return code
}

// start starts a stack of the test's own, for tests that kill its processes.
func start(t *testing.T, o harness.Options) *harness.Stack {
	t.Helper()
	o.Binary = shared.binary
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s, err := harness.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("log of the stack:\n%s", s.Log())
		}
	})
	return s
}

// pause waits for real time to pass: what is tested is a timeout of the stack itself.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// portOf returns the port of a URL.
func portOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}
