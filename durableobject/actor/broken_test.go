package actor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// serial says which instance answers.
func serial(_ context.Context, o *object, _ string) (string, error) {
	return strconv.Itoa(o.serial), nil
}

// CTX-7, CTX-8, CTX-9, CTX-10: each way to break an object: what its running, waiting and next callers see.
func TestBroken(t *testing.T) {
	t.Parallel()
	const timeout = "A call to blockConcurrencyWhile() in a Durable Object waited for too long. " +
		"The call was canceled and the Durable Object was reset."
	tests := []struct {
		name       string
		run        func(ctx context.Context, o *object) error
		reason     BrokenReason
		message    string // a prefix
		properties string
		after      time.Duration
		letsIn     bool // the waiting event gets its turn before
	}{
		{
			name:   "abort",
			run:    func(_ context.Context, o *object) error { o.state.Abort(errors.New("r")); return nil },
			reason: ReasonAborted, message: "r", properties: "reset",
		},
		{
			name:   "abort without reason",
			run:    func(_ context.Context, o *object) error { o.state.Abort(nil); return nil },
			reason: ReasonAborted, message: "Application called abort() to reset Durable Object.", properties: "reset",
		},
		{
			name:   "panic",
			run:    func(context.Context, *object) error { panic("secret of the class") },
			reason: ReasonPanic, message: "internal error; reference = ", properties: "reset",
		},
		{
			name: "panic in await",
			run: func(ctx context.Context, o *object) error {
				return o.state.Await(ctx, func(context.Context) error { panic("secret of the class") })
			},
			reason: ReasonPanic, message: "internal error; reference = ", properties: "reset", letsIn: true,
		},
		{
			name: "critical section fails",
			run: func(ctx context.Context, o *object) error {
				return o.state.BlockConcurrencyWhile(ctx, func(context.Context) error { return errors.New("boom") })
			},
			reason: ReasonInputGate, message: "boom", properties: "reset",
		},
		{
			name: "critical section takes too long",
			run: func(ctx context.Context, o *object) error {
				return o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
					return o.state.Await(ctx, func(ctx context.Context) error { return sleep(ctx, time.Hour) })
				})
			},
			reason: ReasonInputGate, message: timeout, properties: "overloaded reset", after: 30 * time.Second,
		},
		{
			name: "critical sections nest too deeply",
			run: func(ctx context.Context, o *object) error {
				var dive func(ctx context.Context) error
				dive = func(ctx context.Context) error { return o.state.BlockConcurrencyWhile(ctx, dive) }
				return dive(ctx)
			},
			reason: ReasonInputGate, message: "blockConcurrencyWhile() calls are nested too deeply.", properties: "reset",
		},
		{
			name: "shutdown",
			run: func(_ context.Context, o *object) error {
				o.state.actor.Break(ReasonShutdown, ShutdownError())
				return nil
			},
			reason: ReasonShutdown, message: "The Durable Object's host is shutting down.", properties: "retryable reset",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			begin := map[int]chan struct{}{}
			var lasting error
			h := handler{
				"lasting": func(ctx context.Context, o *object, _ string) (string, error) {
					// It waits outside a turn while the object breaks.
					lasting = o.state.Await(ctx, func(ctx context.Context) error {
						<-ctx.Done()
						return nil
					})
					if err := o.put(ctx, "n", 9); !errors.Is(err, storage.ErrClosed) {
						return "", fmt.Errorf("put in a broken object: %w", err)
					}
					return "", nil
				},
				"break": func(ctx context.Context, o *object, _ string) (string, error) {
					if err := o.put(ctx, "n", 1); err != nil { // not committed yet
						return "", err
					}
					<-begin[0]
					return "", tt.run(ctx, o)
				},
				"serial": serial,
				"read":   read,
			}
			bubble(t, h, func(t *testing.T, w *world) {
				begin[0] = make(chan struct{})
				start := time.Now()
				calls := []*result{w.start("lasting"), w.start("break")}
				if waiting := w.start("serial"); !tt.letsIn {
					calls = append(calls, waiting)
				}
				close(begin[0])
				for _, c := range calls {
					<-c.done
					if c.err == nil || !strings.HasPrefix(c.err.Error(), tt.message) {
						t.Errorf("got error %v, want %q", c.err, tt.message)
						continue
					}
					wantError(t, c.err, c.err.Error(), tt.properties)
				}
				if took := time.Since(start); took != tt.after {
					t.Errorf("it took %v, want %v", took, tt.after)
				}
				if lasting == nil || !strings.HasPrefix(lasting.Error(), tt.message) {
					t.Errorf("Await returned %v", lasting)
				}
				if broken := w.reasons(); !slices.Equal(broken, []BrokenReason{tt.reason}) {
					t.Errorf("broken: got %v, want %v", broken, tt.reason)
				}
				v, err := w.call("serial")
				want(t, v, err, "2")
				if log := w.log.String(); strings.Contains(log, "secret of the class") != (tt.reason == ReasonPanic) ||
					tt.reason == ReasonPanic && !strings.Contains(log, "broken_test.go") {
					t.Errorf("log: %s", log)
				}
			})
		})
	}
}

// CTX-10 and G-11: what was not committed when an object was aborted is lost; what was is not.
func TestAbortDropsUncommittedWrites(t *testing.T) {
	t.Parallel()
	h := handler{
		"increment": increment,
		"abort": func(ctx context.Context, o *object, _ string) (string, error) {
			if _, err := increment(ctx, o, ""); err != nil {
				return "", err
			}
			o.state.Abort(nil)
			return "", nil
		},
		"read": read,
	}
	bubble(t, h, func(t *testing.T, w *world) {
		v, err := w.call("increment")
		want(t, v, err, "1")
		if _, err := w.call("abort"); err == nil {
			t.Error("abort: no error")
		}
		v, err = w.call("read")
		want(t, v, err, "1")
	})
}

// CTX-5 and EX-8: the instance is made before the first event; if that fails, whoever waits gets the error.
func TestConstructor(t *testing.T) {
	t.Parallel()
	h := handler{"serial": serial, "read": read}
	bubble(t, h, func(t *testing.T, w *world) {
		w.create = func(ctx context.Context, o *object) error {
			// It waits, and yet no event is let in before it is done.
			if err := o.state.Await(ctx, func(ctx context.Context) error { return sleep(ctx, time.Second) }); err != nil {
				return err
			}
			if o.serial == 1 {
				return &sidecar.Error{Name: "RangeError", Message: "first instance", Reason: sidecar.ReasonUnplaced}
			}
			return o.put(ctx, "n", 10*o.serial)
		}
		calls := []*result{w.start("read"), w.start("read")}
		for _, c := range calls {
			<-c.done
			wantError(t, c.err, "first instance", "reset")
			if e := sidecar.FromError(c.err); e.Name != "RangeError" || e.Reason != sidecar.ReasonBroken {
				t.Errorf("got %+v", e)
			}
		}
		calls = []*result{w.start("read"), w.start("read")}
		for _, c := range calls {
			<-c.done
			want(t, c.value, c.err, "20")
		}
		w.create = func(context.Context, *object) error { panic("in the constructor") }
		w.named("o").Break(ReasonAborted, abortError(nil))
		if _, err := w.call("read"); err == nil || !strings.HasPrefix(err.Error(), "internal error") {
			t.Errorf("got %v", err)
		}
		w.create = nil
		v, err := w.call("serial")
		want(t, v, err, "4")
	})
}

// The instance that the first caller's event had made is everybody's: it is made even if that caller gives up.
func TestConstructorOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	bubble(t, handler{"serial": serial}, func(t *testing.T, w *world) {
		w.create = func(ctx context.Context, o *object) error {
			return o.state.Await(ctx, func(ctx context.Context) error { return sleep(ctx, time.Second) })
		}
		ctx, cancel := context.WithCancel(t.Context())
		first, second := w.startAs(ctx, "serial"), w.start("serial")
		cancel()
		<-second.done
		want(t, second.value, second.err, "1")
		<-first.done
		if !slices.Equal(w.reasons(), nil) {
			t.Errorf("broken: %v", w.reasons())
		}
	})
}

// G-8: a commit that fails breaks the object: the reply that was ready is replaced by the error.
func TestBrokenCommit(t *testing.T) {
	t.Parallel()
	toggle := &errorfs.Toggle{Injector: errorfs.ErrInjected.If(errorfs.And(errorfs.Writes, walFile{}))}
	bubbleOn(t, errorfs.Wrap(vfs.NewMem(), toggle), handler{"increment": increment}, func(t *testing.T, w *world) {
		v, err := w.call("increment")
		want(t, v, err, "1")
		toggle.On()
		_, err = w.call("increment")
		wantError(t, err, "Internal error in Durable Object storage write caused object to be reset.", "reset")
		if e := sidecar.FromError(err); e.Reason != sidecar.ReasonStorage {
			t.Errorf("got reason %v", e.Reason)
		}
		if broken := w.reasons(); !slices.Equal(broken, []BrokenReason{ReasonOutputGate}) {
			t.Errorf("broken: %v", w.reasons())
		}
		// The store is broken for good: a new instance can't read either, and says no more.
		_, err = w.call("increment")
		wantError(t, err, "Internal error in Durable Object storage write caused object to be reset.", "reset")
		toggle.Off()
	})
}

// walFile matches operations on Pebble's log.
type walFile struct{}

func (walFile) Evaluate(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") }
func (walFile) String() string              { return "wal" }

// EX-1, EX-3, EX-4, EX-5: what callers see of a class's error.
func TestOutward(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("inside knowledge"))
	remote := func(r sidecar.Reason, name, message string) *sidecar.Error {
		return &sidecar.Error{Reason: r, Name: name, Message: message, Remote: true}
	}
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want *sidecar.Error
	}{
		{"plain", t.Context(), errors.New("a text"), remote(sidecar.ReasonException, "Error", "a text")},
		{
			"named", t.Context(), &sidecar.Error{Name: "TypeError", Message: "t"},
			remote(sidecar.ReasonException, "TypeError", "t"),
		},
		{
			"wrapped", t.Context(), fmt.Errorf("load: %w", &sidecar.Error{Name: "TypeError", Message: "t"}),
			remote(sidecar.ReasonException, "TypeError", "load: t"),
		},
		{
			"properties are kept", t.Context(),
			&sidecar.Error{Message: "busy", Overloaded: true, Retryable: true, Reason: sidecar.ReasonOverloaded},
			&sidecar.Error{
				Reason: sidecar.ReasonException, Name: "Error", Message: "busy", Remote: true, Overloaded: true,
				Retryable: true,
			},
		},
		{
			"an epoch further down is not ours", t.Context(),
			&sidecar.Error{Reason: sidecar.ReasonStaleEpoch, Message: "stale", Epoch: 7},
			remote(sidecar.ReasonException, "Error", "stale"),
		},
		{
			"no such method", t.Context(), &sidecar.Error{Reason: sidecar.ReasonNoSuchMethod, Message: "none"},
			remote(sidecar.ReasonNoSuchMethod, "Error", "none"),
		},
		{
			"storage", t.Context(), fmt.Errorf("save: %w", &storage.Error{Class: "RangeError", Message: "too large"}),
			remote(sidecar.ReasonException, "RangeError", "save: too large"),
		},
		{
			"canceled", canceled, fmt.Errorf("wait: %w", context.Canceled),
			&sidecar.Error{Reason: sidecar.ReasonCanceled, Message: "The call was canceled."},
		},
		{
			"the cause of a cancellation stays inside", canceled, context.Cause(canceled),
			&sidecar.Error{Reason: sidecar.ReasonCanceled, Message: "The call was canceled."},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := outward(tt.ctx, tt.err)
			got.Cause = nil
			if *got != *tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestEvict(t *testing.T) {
	t.Parallel()
	const idle = 10 * time.Second
	h := handler{
		"serial": serial,
		"slow": func(ctx context.Context, o *object, _ string) (string, error) {
			return "", o.state.Await(ctx, func(ctx context.Context) error { return sleep(ctx, 20*time.Second) })
		},
		"background": func(_ context.Context, o *object, _ string) (string, error) {
			o.state.WaitUntil(func(ctx context.Context) error { return sleep(ctx, 20*time.Second) })
			return "", nil
		},
	}
	bubble(t, h, func(t *testing.T, w *world) {
		check := func(when string, wantEvicted bool, wantAgain time.Duration) {
			t.Helper()
			if evicted, again := w.named("o").Evict(idle); evicted != wantEvicted || again != wantAgain {
				t.Errorf("%s: evicted %v, again in %v; want %v, %v", when, evicted, again, wantEvicted, wantAgain)
			}
		}
		w.call("serial")
		time.Sleep(9 * time.Second)
		check("after 9 s", false, time.Second)
		time.Sleep(time.Second)
		check("after 10 s", true, 0)
		v, err := w.call("serial")
		want(t, v, err, "2")
		for _, method := range []string{"slow", "background"} {
			c := w.start(method)
			time.Sleep(15 * time.Second)
			check(method+" runs", false, idle)
			time.Sleep(6 * time.Second)
			<-c.done
			check(method+" ended", false, 9*time.Second)
		}
		v, err = w.call("serial")
		want(t, v, err, "2")
		if len(w.reasons()) != 0 {
			t.Errorf("broken: %v", w.reasons())
		}
	})
}

// CTX-11: work after the reply; its error is not the caller's.
func TestWaitUntil(t *testing.T) {
	t.Parallel()
	var seen []string
	h := handler{
		"work": func(ctx context.Context, o *object, _ string) (string, error) {
			o.state.WaitUntil(func(ctx context.Context) error {
				if err := o.put(ctx, "n", 1); !errors.Is(err, ErrNoTurn) {
					return fmt.Errorf("put outside a turn: %w", err)
				}
				if err := sleep(ctx, time.Second); err != nil {
					return err
				}
				return o.state.Enter(ctx, func(ctx context.Context) error { return o.put(ctx, "n", 2) })
			})
			return "replied", nil
		},
		"fail": func(_ context.Context, o *object, _ string) (string, error) {
			o.state.WaitUntil(func(context.Context) error { return errors.New("not the caller's business") })
			return "replied", nil
		},
		"hang": func(_ context.Context, o *object, _ string) (string, error) {
			o.state.WaitUntil(func(ctx context.Context) error {
				<-ctx.Done()
				seen = append(seen, context.Cause(ctx).Error())
				return nil
			})
			return "replied", nil
		},
		"panic": func(_ context.Context, o *object, _ string) (string, error) {
			o.state.WaitUntil(func(context.Context) error { panic("in the background") })
			return "replied", nil
		},
		"abort": func(_ context.Context, o *object, _ string) (string, error) {
			o.state.Abort(errors.New("enough"))
			o.state.WaitUntil(func(context.Context) error { panic("not reached") })
			return "", nil
		},
		"read": read,
	}
	bubble(t, h, func(t *testing.T, w *world) {
		v, err := w.call("work")
		want(t, v, err, "replied")
		time.Sleep(2 * time.Second)
		v, err = w.call("read")
		want(t, v, err, "2")
		v, err = w.call("fail")
		want(t, v, err, "replied")
		synctest.Wait()
		if !strings.Contains(w.log.String(), "not the caller's business") {
			t.Errorf("log: %s", w.log.String())
		}
		v, err = w.call("hang")
		want(t, v, err, "replied")
		_, err = w.call("abort")
		wantError(t, err, "enough", "reset")
		synctest.Wait()
		if w.background != 0 || len(seen) != 1 || seen[0] != "enough" {
			t.Errorf("%d in the background, seen %q", w.background, seen)
		}
		v, err = w.call("panic")
		want(t, v, err, "replied")
		synctest.Wait()
		if broken := w.reasons(); broken[len(broken)-1] != ReasonPanic {
			t.Errorf("broken: %v", w.reasons())
		}
	})
}

// A class's error may wrap ErrNotLive, as when it used another object's State: its event did run, and must not run
// again.
func TestEventWhoseErrorIsNotLive(t *testing.T) {
	t.Parallel()
	ran := 0
	var leaked *State
	h := handler{
		"leak": func(_ context.Context, o *object, _ string) (string, error) {
			leaked = o.state
			return "", nil
		},
		"use": func(ctx context.Context, o *object, _ string) (string, error) {
			ran++
			if _, err := leaked.Namespace(testNamespace).GetByName("x").Call(ctx, "leak", nil); err == nil {
				return "", errors.New("the stub of an evicted object worked")
			}
			return "", fmt.Errorf("enter: %w", leaked.Enter(ctx, func(context.Context) error { return nil }))
		},
	}
	bubble(t, h, func(t *testing.T, w *world) {
		w.call("leak")
		if evicted, _ := w.named("o").Evict(0); !evicted {
			t.Fatal("not evicted")
		}
		_, err := w.call("use")
		wantError(t, err, "enter: the Durable Object's instance was evicted", "remote")
		if ran != 1 {
			t.Errorf("the event ran %d times", ran)
		}
	})
}

// What an instance asked to be told of its end it is told, once, however that comes.
func TestOnEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Actor){
		"evict":  func(a *Actor) { a.Evict(0) },
		"break":  func(a *Actor) { a.Break(ReasonAborted, abortError(nil)) },
		"retire": func(a *Actor) { <-a.Retire() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := 0
			bubble(t, handler{"f": func(_ context.Context, o *object, _ string) (string, error) {
				o.state.OnEnd(func() { told++ })
				return "", nil
			}}, func(t *testing.T, w *world) {
				v, err := w.call("f")
				want(t, v, err, "")
				a := w.named("o")
				end(a)
				a.Break(ReasonShutdown, ShutdownError())
				a.state.OnEnd(func() { told += 10 })
			})
			if told != 11 {
				t.Errorf("told %d, want 11", told)
			}
		})
	}
}
