package lifetime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/proto/lifetime"
)

var errCause = errors.New("the cause")

type key struct{}

// ends are all the ways in which a context ends.
func ends() map[string]func(t *testing.T) (c *lifetime.Context, end func(), err, cause error) {
	return map[string]func(t *testing.T) (*lifetime.Context, func(), error, error){
		"its owner ends it": func(*testing.T) (*lifetime.Context, func(), error, error) {
			c := new(lifetime.Context)
			c.Begin(context.Background(), time.Now().Add(time.Hour))
			return c, func() { c.End(errCause) }, context.Canceled, errCause
		},
		"its owner ends it without a cause": func(*testing.T) (*lifetime.Context, func(), error, error) {
			c := new(lifetime.Context)
			c.Begin(context.Background(), time.Time{})
			return c, func() { c.End(nil) }, context.Canceled, context.Canceled
		},
		"the parent ends": func(*testing.T) (*lifetime.Context, func(), error, error) {
			parent, cancel := context.WithCancelCause(context.Background())
			c := new(lifetime.Context)
			c.Begin(parent, time.Time{})
			return c, func() { cancel(errCause) }, context.Canceled, errCause
		},
		"a parent of its kind ends": func(*testing.T) (*lifetime.Context, func(), error, error) {
			parent, c := new(lifetime.Context), new(lifetime.Context)
			parent.Begin(context.Background(), time.Time{})
			c.Begin(parent, time.Time{})
			return c, func() { parent.End(errCause) }, context.Canceled, errCause
		},
		"its deadline": func(*testing.T) (*lifetime.Context, func(), error, error) {
			c := new(lifetime.Context)
			c.Begin(context.Background(), time.Now().Add(time.Minute))
			return c, func() { time.Sleep(time.Minute) }, context.DeadlineExceeded, context.DeadlineExceeded
		},
		"the parent's deadline": func(t *testing.T) (*lifetime.Context, func(), error, error) {
			parent, cancel := context.WithTimeoutCause(context.Background(), time.Minute, errCause)
			t.Cleanup(cancel)
			c := new(lifetime.Context)
			c.Begin(parent, time.Now().Add(time.Hour))
			return c, func() { time.Sleep(time.Minute) }, context.DeadlineExceeded, errCause
		},
	}
}

// A context ends in the same way whether somebody waits for that, asks afterwards, or has made others from it.
func TestEnd(t *testing.T) {
	t.Parallel()
	for name, begin := range ends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, how := range []string{"asked later", "awaited", "child"} {
					c, end, err, cause := begin(t)
					defer c.End(nil)
					var watched context.Context = c
					switch how {
					case "awaited":
						c.Done()
					case "child":
						child, cancel := context.WithCancel(c)
						defer cancel()
						watched = child
					}
					if e := watched.Err(); e != nil {
						t.Fatalf("%s: ended before its time: %v", how, e)
					}
					end()
					synctest.Wait()
					if e := watched.Err(); e != err { //nolint:errorlint // contexts return these very values
						t.Errorf("%s: Err is %v, want %v", how, e, err)
					}
					if e := context.Cause(watched); e != cause { //nolint:errorlint // as above
						t.Errorf("%s: Cause is %v, want %v", how, e, cause)
					}
					select {
					case <-watched.Done():
					default:
						t.Errorf("%s: Done is open", how)
					}
				}
			})
		})
	}
}

func TestOnlyTheFirstEndCounts(t *testing.T) {
	t.Parallel()
	for _, await := range []bool{false, true} {
		var c lifetime.Context
		c.Begin(context.Background(), time.Time{})
		if await {
			c.Done()
		}
		c.End(errCause)
		c.End(errors.New("another"))
		if err := context.Cause(&c); err != errCause { //nolint:errorlint // this very value
			t.Errorf("awaited %v: Cause is %v", await, err)
		}
	}
}

func TestValuesAreTheParents(t *testing.T) {
	t.Parallel()
	var c lifetime.Context
	c.Begin(context.WithValue(context.Background(), key{}, "v"), time.Time{})
	for _, step := range []func(){func() {}, func() { c.Done() }, func() { c.End(nil) }} {
		step()
		if v := c.Value(key{}); v != "v" {
			t.Errorf("value is %v", v)
		}
	}
}

func TestDeadlineIsTheEarlier(t *testing.T) {
	t.Parallel()
	soon, late := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	parent, cancel := context.WithDeadline(context.Background(), soon)
	defer cancel()
	for _, own := range []time.Time{{}, late} {
		var c lifetime.Context
		c.Begin(parent, own)
		if d, ok := c.Deadline(); !ok || !d.Equal(soon) {
			t.Errorf("own %v: deadline is %v, %v", own, d, ok)
		}
	}
}

func BenchmarkUnawaited(b *testing.B) {
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	deadline := time.Now().Add(time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		var c lifetime.Context
		c.Begin(parent, deadline)
		if c.Err() != nil {
			b.Fatal("ended")
		}
		c.End(nil)
	}
}
