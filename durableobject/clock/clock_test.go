package clock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// open returns a test clock that is closed with the bubble.
func open(t *testing.T, dir string) *Test {
	t.Helper()
	c, err := OpenTest(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func advance(t *testing.T, c *Test, by time.Duration) Advanced {
	t.Helper()
	a, err := c.Advance(t.Context(), by)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The zero Clock is package time's.
func TestReal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		began, fired := time.Now(), make(chan time.Duration, 1)
		timer := c.AfterFunc(time.Hour, func() { fired <- time.Since(began) })
		timer.Reset(time.Minute)
		if d := <-fired; d != time.Minute || c.Since(began) != d || c.Until(began) != -d || !c.Now().Equal(time.Now()) {
			t.Errorf("fired after %v, since %v", d, c.Since(began))
		}
		cause := errors.New("over")
		ctx, cancel := c.WithTimeout(t.Context(), time.Second, cause)
		defer cancel()
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || context.Cause(ctx) != cause {
			t.Errorf("ended as %v, %v", ctx.Err(), context.Cause(ctx))
		}
		c.Hold(callback{}).Release()
		if (Timer{}).Stop() || (Timer{}).Made() || !timer.Made() || timer.Stop() {
			t.Error("timers are not what they should be")
		}
	})
}

// A test clock runs with real time, ahead of it.
func TestRunsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := open(t, "")
		clk, began := c.Clock(), time.Now()
		a := advance(t, c, time.Hour)
		if a.To.Sub(began) != time.Hour || c.Ahead() != time.Hour || a.Left != 0 || a.Running != nil {
			t.Errorf("advanced to %v: %+v", a.To.Sub(began), a)
		}
		fired := make(chan time.Time, 2)
		clk.AfterFunc(2*time.Second, func() { fired <- time.Now() })
		stopped := clk.AfterFunc(time.Second, func() { t.Error("fired though stopped") })
		if !stopped.Stop() || stopped.Stop() {
			t.Error("Stop does not say whether it stopped")
		}
		if at := <-fired; at.Sub(began) != 2*time.Second {
			t.Errorf("fired after %v of real time", at.Sub(began))
		}
		if now := clk.Now(); now.Sub(began) != time.Hour+2*time.Second {
			t.Errorf("the clock is at %v", now.Sub(began))
		}
		if stopped.Reset(time.Second) {
			t.Error("a stopped timer was said to be set")
		}
		stopped.Stop()
	})
}

// A context of a test clock ends by that, names no deadline, and hands its end to what is derived from it.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := open(t, "")
		cause := errors.New("over")
		for name, tt := range map[string]struct {
			cause, parent error
			by            time.Duration
			want          []error
		}{
			"expires":             {by: time.Minute, want: []error{context.DeadlineExceeded}},
			"expires for a cause": {by: time.Minute, cause: cause, want: []error{context.DeadlineExceeded, cause}},
			"parent":              {by: time.Second, parent: cause, want: []error{context.Canceled}},
			"canceled":            {by: time.Second, want: []error{context.Canceled}},
		} {
			parent, end := context.WithCancelCause(t.Context())
			ctx, cancel := c.Clock().WithTimeout(parent, time.Minute, tt.cause)
			child, cancelChild := context.WithCancel(ctx)
			if _, ok := child.Deadline(); ok {
				t.Errorf("%s: it names a deadline", name)
			}
			advance(t, c, tt.by)
			if tt.by < time.Minute {
				if ctx.Err() != nil {
					t.Errorf("%s: it ended early: %v", name, ctx.Err())
				}
				if tt.parent != nil {
					end(tt.parent)
				} else {
					cancel()
				}
			}
			<-child.Done()
			for _, want := range tt.want {
				if !errors.Is(ctx.Err(), want) || !errors.Is(child.Err(), want) {
					t.Errorf("%s: ended as %v, derived %v, want %v", name, ctx.Err(), child.Err(), want)
				}
			}
			if cause := context.Cause(child); tt.parent != nil && cause != tt.parent || tt.cause != nil && !errors.Is(cause, tt.cause) {
				t.Errorf("%s: cause is %v", name, cause)
			}
			cancelChild()
			cancel()
			end(nil)
		}
	})
}

// What holds the clock for too long is late: the advance goes on, waits for it at the end, and says what still runs.
func TestLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := open(t, "")
		clk := c.Clock()
		var order []string
		woken := make(chan struct{})
		clk.AfterFunc(time.Second, func() {
			<-woken // as a handler that waits for time itself
			order = append(order, "first ends")
		})
		clk.AfterFunc(2*time.Second, func() {
			order = append(order, "second")
			close(woken)
		})
		began := time.Now()
		a := advance(t, c, time.Minute)
		if got := strings.Join(order, ", "); got != "second, first ends" || time.Since(began) != Patience || a.Running != nil {
			t.Errorf("%s after %v, %+v", got, time.Since(began), a)
		}

		hold := clk.Hold(callback{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began = time.Now()
		a, err := c.Advance(ctx, time.Hour)
		if err != nil || fmt.Sprint(a.Running) != "[a timer's func]" || a.Left != 0 || time.Since(began) != time.Minute {
			t.Errorf("got %+v, %v after %v", a, err, time.Since(began))
		}
		hold.Release()
		hold.Release()
		advance(t, c, time.Hour)
	})
}

// An advance whose context ends stays where it is, and what is kept says so.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := open(t, dir)
		clk := c.Clock()
		ctx, cancel := context.WithCancelCause(t.Context())
		clk.AfterFunc(time.Minute, func() { cancel(errors.New("enough")) })
		later := 0
		clk.AfterFunc(2*time.Minute, func() { later++ })
		a, err := c.Advance(ctx, time.Hour)
		if err != nil || a.Left != 59*time.Minute || c.Ahead() != time.Minute || later != 0 {
			t.Errorf("got %+v, %v, ahead by %v, %d fired", a, err, c.Ahead(), later)
		}
		if again := open(t, dir); again.Ahead() != time.Minute {
			t.Errorf("kept is %v", again.Ahead())
		}
		if _, err := c.Advance(ctx, time.Hour); err != nil && !strings.Contains(err.Error(), "enough") {
			t.Errorf("got %v", err)
		}
		advance(t, c, time.Hour)
		if later != 1 {
			t.Errorf("%d fired", later)
		}
	})
}

// Advances are made one at a time, and who waits for a turn can give up.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := open(t, "")
		gate := make(chan struct{})
		c.Clock().AfterFunc(time.Second, func() { <-gate })
		done := make(chan Advanced)
		go func() {
			a, _ := c.Advance(t.Context(), time.Hour)
			done <- a
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("no turn"))
		defer cancel()
		if _, err := c.Advance(ctx, time.Hour); err == nil || !strings.Contains(err.Error(), "no turn") {
			t.Errorf("got %v", err)
		}
		close(gate)
		if a := <-done; a.To.Sub(a.From) != time.Hour || c.Ahead() > time.Hour {
			t.Errorf("got %+v", a)
		}
	})
}

// After Close nothing fires, and Close waits for what does.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := open(t, "")
		ended := false
		c.Clock().AfterFunc(0, func() {
			time.Sleep(time.Second)
			ended = true
		})
		left := c.Clock().AfterFunc(time.Minute, func() { t.Error("fired after Close") })
		c.Close()
		if !ended || left.Stop() || left.Reset(0) || left.Reset(time.Second) {
			t.Error("it was not closed")
		}
		advance(t, c, time.Hour)
		time.Sleep(time.Hour)
	})
}

func TestRefusedAdvance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(filePrefix+MaxAhead.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := open(t, dir)
	fresh := open(t, "")
	for _, by := range []time.Duration{-1, MaxAdvance + 1} {
		if _, err := fresh.Advance(t.Context(), by); !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), by.String()) {
			t.Errorf("by %v: %v", by, err)
		}
	}
	if _, err := full.Advance(t.Context(), 1); !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), MaxAhead.String()) {
		t.Errorf("got %v", err)
	}
	lost := open(t, filepath.Join(dir, "absent"))
	if _, err := lost.Advance(t.Context(), time.Hour); err == nil || lost.Ahead() != 0 {
		t.Errorf("an advance that can't be kept: %v, ahead by %v", err, lost.Ahead())
	}
}

// How far a clock is ahead is kept, and without a test clock the state is refused.
func TestKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir)
	if err := CheckReal(dir); err != nil {
		t.Errorf("a fresh directory is refused: %v", err)
	}
	advance(t, c, 90*time.Minute)
	advance(t, c, 0)
	if again := open(t, dir); again.Ahead().Round(time.Second) != 90*time.Minute {
		t.Errorf("kept is %v", again.Ahead())
	}
	var ahead *AheadError
	if err := CheckReal(dir); !errors.As(err, &ahead) || ahead.By.Round(time.Second) != 90*time.Minute ||
		!strings.Contains(err.Error(), dir+" is 1h30m0s ahead") || !strings.Contains(err.Error(), "--test-clock") {
		t.Errorf("got %v", err)
	}
	for name, text := range map[string]string{
		"empty": "", "foreign": "12:00\n", "negative": filePrefix + "-1h\n", "too far": filePrefix + "2000000h\n",
		"long": filePrefix + strings.Repeat("1h", maxFile),
	} {
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenTest(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, fileName)) {
			t.Errorf("%s: %v", name, err)
		}
		if err := CheckReal(dir); err == nil {
			t.Errorf("%s: taken for real time", name)
		}
	}
}
