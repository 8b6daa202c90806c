package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// seen is what a caller sees of an error: its class, its text and the properties that are set.
func seen(err error) string {
	var e *sidecar.Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("%T %v", err, err)
	}
	s := "Error"
	if e.Name != "" {
		s = e.Name
	}
	s += ": " + e.Message
	for _, p := range []struct {
		set  bool
		name string
	}{{e.Remote, "remote"}, {e.Overloaded, "overloaded"}, {e.Retryable, "retryable"}, {e.Reset, "reset"}} {
		if p.set {
			s += " [" + p.name + "]"
		}
	}
	return s
}

const (
	textSectionTimeout = "A call to blockConcurrencyWhile() in a Durable Object waited for too long. " +
		"The call was canceled and the Durable Object was reset."
	textCommitFailed = "Internal error in Durable Object storage write caused object to be reset."
)

// The table of errors that cross a boundary, over the wire: what the object's code does, and what its caller sees.
// Names are kept apart from texts, as from compatibility date 2026-04-21 on.
func TestErrorsOverTheWire(t *testing.T) {
	t.Parallel()
	method := func(f func(ctx context.Context, o *testObject) error) methods {
		return methods{"m": func(ctx context.Context, o *testObject, _ string) (string, error) { return "", f(ctx, o) }}
	}
	throws := func(err error) methods {
		return method(func(context.Context, *testObject) error { return err })
	}
	tests := []struct {
		name    string
		methods methods
		create  func(context.Context, *testObject) error
		want    string
		// after is how long it takes; lives is true when the instance is still there afterwards.
		after time.Duration
		lives bool
	}{
		{
			name: "EX-1 TypeError", methods: throws(durableobject.Exception("TypeError", "t")),
			want: "TypeError: t [remote]", lives: true,
		},
		{
			name: "EX-3 class of its own", methods: throws(durableobject.Exception("CE", "msg")),
			want: "CE: msg [remote]", lives: true,
		},
		{
			name: "EX-3 wrapped", methods: throws(fmt.Errorf("load: %w", durableobject.Exception("CE", "msg"))),
			want: "CE: load: msg [remote]", lives: true,
		},
		{name: "EX-4 plain text", methods: throws(errors.New("a string")), want: "Error: a string [remote]", lives: true},
		{
			name: "EX-5 retryable", methods: throws(&durableobject.Error{Message: "later", Retryable: true}),
			want: "Error: later [remote] [retryable]", lives: true,
		},
		{
			name: "EX-5 overloaded", methods: throws(&durableobject.Error{Message: "busy", Overloaded: true}),
			want: "Error: busy [remote] [overloaded]", lives: true,
		},
		{
			name: "EX-7 abort", methods: method(func(_ context.Context, o *testObject) error {
				o.state.Abort(errors.New("r"))
				return nil
			}), want: "Error: r [reset]",
		},
		{
			name: "EX-7 abort without a reason", methods: method(func(_ context.Context, o *testObject) error {
				o.state.Abort(nil)
				return nil
			}), want: "Error: Application called abort() to reset Durable Object. [reset]",
		},
		{
			name: "EX-7 abort with a class and properties", methods: method(func(_ context.Context, o *testObject) error {
				o.state.Abort(&durableobject.Error{Name: "RangeError", Message: "r", Overloaded: true})
				return nil
			}), want: "RangeError: r [overloaded] [reset]",
		},
		{
			name: "EX-8 constructor", methods: throws(nil), create: func(context.Context, *testObject) error {
				return durableobject.Exception("SyntaxError", "no such thing")
			}, want: "SyntaxError: no such thing [reset]",
		},
		{
			name: "EX-9 blockConcurrencyWhile", methods: method(func(ctx context.Context, o *testObject) error {
				return o.state.BlockConcurrencyWhile(ctx, func(context.Context) error { return errors.New("boom") })
			}), want: "Error: boom [reset]",
		},
		{
			name: "EX-10 and CTX-8", methods: method(func(ctx context.Context, o *testObject) error {
				return o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
					return o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, time.Hour) })
				})
			}), want: "Error: " + textSectionTimeout + " [overloaded] [reset]", after: 30 * time.Second,
		},
		{
			name: "CTX-9", methods: method(func(ctx context.Context, o *testObject) error {
				var dive func(context.Context) error
				dive = func(ctx context.Context) error { return o.state.BlockConcurrencyWhile(ctx, dive) }
				return dive(ctx)
			}), want: "Error: blockConcurrencyWhile() calls are nested too deeply. [reset]",
		},
		{
			name: "EX-13 internal", methods: method(func(context.Context, *testObject) error { panic("secret") }),
			want: "Error: internal error; reference = … [reset]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &testClass{methods: tt.methods}
			bubble(t, c.classes(), func(t *testing.T, s *stack) {
				if tt.create == nil {
					s.serial("a")
				}
				c.create = tt.create
				start, before := time.Now(), c.made
				_, err := s.call("a", "m")
				// EX-15: the class, the text and the properties are all; no stack comes with them.
				if got := hideReference(seen(err)); got != tt.want || strings.ContainsAny(got, "\n\t") {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				if took := time.Since(start); took != tt.after {
					t.Errorf("it took %v, want %v", took, tt.after)
				}
				c.create = nil
				if got := s.serial("a"); (got == before) != tt.lives {
					t.Errorf("afterwards instance %d answers, %d before", got, before)
				}
			})
		})
	}
}

// hideReference replaces the random reference of an internal error.
func hideReference(text string) string {
	const mark = "internal error; reference = "
	i := strings.Index(text, mark)
	if i < 0 {
		return text
	}
	rest := text[i+len(mark):]
	end := strings.IndexByte(rest, ' ')
	if end < 0 {
		end = len(rest)
	}
	if end < 20 {
		return text // no reference
	}
	return text[:i+len(mark)] + "…" + rest[end:]
}

// EX-11 and LC-5: a failed commit replaces the reply. The caller learns that the object was reset, and not why.
func TestFailedCommitOverTheWire(t *testing.T) {
	t.Parallel()
	log := &errorfs.Toggle{Injector: errorfs.ErrInjected.If(errorfs.And(errorfs.Writes, onLog{}))}
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, errorfs.Wrap(vfs.NewMem(), log), (&testClass{}).classes())
		s.serve()
		s.serial("a")
		log.On()
		_, err := durableobject.Call[int](t.Context(), s.stub("a"), "increment", 1)
		if got := seen(err); got != "Error: "+textCommitFailed+" [reset]" {
			t.Errorf("got %s", got)
		}
		<-s.served
		s.served <- nil
		log.Off()
		s.close()
	})
}

// EX-12: whoever calls an object over a connection that is lost may call it again, with any stub.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	c := &testClass{methods: methods{"hang": func(ctx context.Context, o *testObject, _ string) (string, error) {
		return "", o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, time.Hour) })
	}}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		stub := s.stub("a")
		done := make(chan error)
		go func() {
			_, err := durableobject.Call[string](t.Context(), stub, "hang", "")
			done <- err
		}()
		synctest.Wait()
		s.cut()
		if got := seen(<-done); got != "Error: Network connection lost. [retryable]" {
			t.Errorf("got %s", got)
		}
		if _, err := durableobject.Call[int](t.Context(), stub, "serial", nil); err != nil {
			t.Errorf("called again: %v", err)
		}
	})
}

// EX-14: the text and the property of an event too many; the object goes on.
func TestOverloadOverTheWire(t *testing.T) {
	t.Parallel()
	c := &testClass{methods: methods{"slow": func(ctx context.Context, o *testObject, _ string) (string, error) {
		return "", o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
			return o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, time.Second) })
		})
	}}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		s.host.shared.MaxWaiting = 2
		results := make(chan error, 4)
		for range 4 {
			go func() {
				_, err := s.call("a", "slow")
				results <- err
			}()
			synctest.Wait()
		}
		if got := seen(<-results); got != "Error: Durable Object is overloaded. Too many requests queued. [overloaded]" {
			t.Errorf("got %s", got)
		}
		for range 3 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if got := s.serial("a"); got != 1 {
			t.Errorf("got instance %d", got)
		}
	})
}
