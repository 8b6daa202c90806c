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

	"github.com/tandem-do/tandem/proto/sidecar"
)

// sleep waits as code does that knows nothing of turns.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// G-1, G-2 and G-12: read-modify-writes that wait for storage only count up; with another wait in between they
// overwrite each other.
func TestConcurrentIncrements(t *testing.T) {
	t.Parallel()
	h := handler{
		"storage only": increment,
		"wait between": func(ctx context.Context, o *object, _ string) (string, error) {
			n, err := o.get(ctx, "m")
			if err != nil {
				return "", err
			}
			err = o.state.Await(ctx, func(ctx context.Context) error { return sleep(ctx, 20*time.Millisecond) })
			if err != nil {
				return "", err
			}
			return strconv.Itoa(n + 1), o.put(ctx, "m", n+1)
		},
	}
	bubble(t, h, func(t *testing.T, w *world) {
		for method, wanted := range map[string]string{"storage only": "1 2 3 4 5", "wait between": "1 1 1 1 1"} {
			var calls []*result
			for range 5 {
				calls = append(calls, w.start(method))
			}
			var got []string
			for _, c := range calls {
				<-c.done
				got = append(got, c.value)
			}
			if slices.Sort(got); strings.Join(got, " ") != wanted {
				t.Errorf("%s: got %v, want %s", method, got, wanted)
			}
		}
	})
}

// ST-10: calls are delivered in the order in which they came, however long the first one takes.
func TestCallOrder(t *testing.T) {
	t.Parallel()
	free := map[int]chan struct{}{}
	var order []string
	h := handler{"first": func(context.Context, *object, string) (string, error) {
		<-free[0]
		return "", nil
	}}
	for i := range 20 {
		h[strconv.Itoa(i)] = func(context.Context, *object, string) (string, error) {
			order = append(order, strconv.Itoa(i))
			return "", nil
		}
	}
	bubble(t, h, func(t *testing.T, w *world) {
		free[0] = make(chan struct{})
		calls := []*result{w.start("first")}
		for i := range 20 {
			calls = append(calls, w.start(strconv.Itoa(i)))
		}
		close(free[0])
		for _, c := range calls {
			<-c.done
		}
		if got, want := strings.Join(order, " "), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"; got != want {
			t.Errorf("got order %s", got)
		}
	})
}

// ST-11: an object may call itself.
func TestReentrancy(t *testing.T) {
	t.Parallel()
	h := handler{
		"increment": increment,
		"outer": func(ctx context.Context, o *object, _ string) (string, error) {
			if err := o.put(ctx, "n", 41); err != nil {
				return "", err
			}
			return o.stub(ctx, "o", "increment")
		},
	}
	bubble(t, h, func(t *testing.T, w *world) {
		v, err := w.call("outer")
		want(t, v, err, "42")
	})
}

// CTX-6: while blockConcurrencyWhile runs, even the object's calls of itself wait.
func TestBlockConcurrencyWhile(t *testing.T) {
	t.Parallel()
	var order []string
	h := handler{
		"note": func(_ context.Context, _ *object, _ string) (string, error) {
			order = append(order, "note")
			return "", nil
		},
		"block": func(ctx context.Context, o *object, _ string) (string, error) {
			outer := ctx
			err := o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
				if err := o.put(ctx, "n", 1); err != nil {
					return err
				}
				if err := o.put(outer, "n", 2); !errors.Is(err, ErrNoTurn) {
					return fmt.Errorf("put with the context from outside: %v", err)
				}
				err := o.state.Await(ctx, func(ctx context.Context) error {
					go o.stub(o.world.t.Context(), "o", "note")
					return sleep(ctx, 29*time.Second)
				})
				order = append(order, "block")
				return err
			})
			return "", err
		},
	}
	bubble(t, h, func(t *testing.T, w *world) {
		c := w.start("block")
		other := w.start("note")
		<-c.done
		<-other.done
		synctest.Wait()
		want(t, c.value, c.err, "")
		if got := strings.Join(order, " "); got != "block note note" {
			t.Errorf("got order %s, want the block before both notes", got)
		}
	})
}

// Code within a section may come back with Enter; other code may not.
func TestEnterWithinSection(t *testing.T) {
	t.Parallel()
	h := handler{
		"increment": increment,
		"block": func(ctx context.Context, o *object, _ string) (string, error) {
			err := o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
				return o.state.Await(ctx, func(ctx context.Context) error {
					return o.state.Enter(ctx, func(ctx context.Context) error {
						_, err := increment(ctx, o, "")
						return err
					})
				})
			})
			if err != nil {
				return "", err
			}
			return read(ctx, o, "")
		},
	}
	bubble(t, h, func(t *testing.T, w *world) {
		v, err := w.call("block")
		want(t, v, err, "1")
	})
}

func TestUseOutsideTurn(t *testing.T) {
	t.Parallel()
	h := handler{
		"await": func(ctx context.Context, o *object, _ string) (string, error) {
			return "", o.state.Await(ctx, func(ctx context.Context) error { return o.put(ctx, "n", 1) })
		},
		"background context": func(_ context.Context, o *object, _ string) (string, error) {
			return "", o.put(context.Background(), "n", 1)
		},
		"section without turn": func(ctx context.Context, o *object, _ string) (string, error) {
			return "", o.state.Await(ctx, func(ctx context.Context) error {
				return o.state.BlockConcurrencyWhile(ctx, func(context.Context) error { return nil })
			})
		},
	}
	bubble(t, h, func(t *testing.T, w *world) {
		for method := range h {
			_, err := w.call(method)
			wantError(t, err, ErrNoTurn.Error(), "remote")
		}
		if w.made != 1 {
			t.Errorf("%d instances were made, want 1: such a fault breaks nothing", w.made)
		}
	})
}

func TestEnter(t *testing.T) {
	t.Parallel()
	h := handler{
		"from await": func(ctx context.Context, o *object, _ string) (string, error) {
			err := o.state.Await(ctx, func(ctx context.Context) error {
				return o.state.Enter(ctx, func(ctx context.Context) error { return o.put(ctx, "n", 7) })
			})
			if err != nil {
				return "", err
			}
			return read(ctx, o, "")
		},
		"from a library's goroutine": func(ctx context.Context, o *object, _ string) (string, error) {
			return "", o.state.Await(ctx, func(context.Context) error {
				done := make(chan error)
				go func() {
					done <- o.state.Enter(context.Background(), func(ctx context.Context) error { return o.put(ctx, "n", 8) })
				}()
				return <-done
			})
		},
		"in a turn": func(ctx context.Context, o *object, _ string) (string, error) {
			err := o.state.Enter(ctx, func(context.Context) error { return nil })
			return fmt.Sprint(errors.Is(err, ErrInTurn)), nil
		},
		"panic": func(ctx context.Context, o *object, _ string) (string, error) {
			return "", o.state.Await(ctx, func(ctx context.Context) error {
				return o.state.Enter(ctx, func(context.Context) error { panic("in enter") })
			})
		},
		"read": read,
	}
	bubble(t, h, func(t *testing.T, w *world) {
		v, err := w.call("from await")
		want(t, v, err, "7")
		_, err = w.call("from a library's goroutine")
		want(t, "", err, "")
		v, err = w.call("read")
		want(t, v, err, "8")
		v, err = w.call("in a turn")
		want(t, v, err, "true")
		if _, err = w.call("panic"); err == nil || !strings.HasPrefix(err.Error(), "internal error; reference = ") {
			t.Errorf("got %v", err)
		}
	})
}

// Goroutines that a class leaves behind with its context do not wedge the object or take another's turn.
func TestGoroutineLeftBehind(t *testing.T) {
	t.Parallel()
	free := map[string]chan struct{}{}
	h := handler{
		"slow": func(context.Context, *object, string) (string, error) {
			<-free["slow"]
			return "slow", nil
		},
		"careless": func(ctx context.Context, o *object, _ string) (string, error) {
			go o.stub(ctx, "other", "slow") // it should be in Await: the event goes on beside it
			<-free["careless"]
			return "careless", nil
		},
		"increment": increment,
	}
	bubble(t, h, func(t *testing.T, w *world) {
		free["slow"], free["careless"] = make(chan struct{}), make(chan struct{})
		c := w.start("careless")
		close(free["careless"])
		<-c.done
		want(t, c.value, c.err, "careless")
		v, err := w.call("increment")
		want(t, v, err, "1")
		close(free["slow"])
		synctest.Wait()
		v, err = w.call("increment")
		want(t, v, err, "2")
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ran := false
	var cause error
	free := map[int]chan struct{}{}
	h := handler{
		"slow": func(ctx context.Context, o *object, _ string) (string, error) {
			<-free[0]
			cause = ctx.Err()
			return "done", o.put(ctx, "n", 5)
		},
		"next": func(context.Context, *object, string) (string, error) {
			ran = true
			return "", nil
		},
		"read": read,
	}
	bubble(t, h, func(t *testing.T, w *world) {
		free[0] = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		running := w.startAs(ctx, "slow")
		waiting := w.startAs(ctx, "next")
		cancel()
		if !waiting.ended() || ran {
			t.Error("the waiting event did not leave the queue")
		}
		wantError(t, waiting.err, "The call was canceled.", "")
		if running.ended() {
			t.Error("the running event was abandoned")
		}
		close(free[0])
		<-running.done
		if !errors.Is(cause, context.Canceled) {
			t.Errorf("the running event saw %v", cause)
		}
		v, err := w.call("read")
		want(t, v, err, "5") // its turn was finished
	})
}

// EX-14: an event that finds too many others waiting is refused, and the object goes on.
func TestQueueLimit(t *testing.T) {
	t.Parallel()
	free := map[int]chan struct{}{}
	h := handler{"slow": func(context.Context, *object, string) (string, error) {
		<-free[0]
		return "", nil
	}}
	bubble(t, h, func(t *testing.T, w *world) {
		free[0] = make(chan struct{})
		w.shared.MaxWaiting = 2
		var calls []*result
		for range 3 {
			calls = append(calls, w.start("slow"))
		}
		_, err := w.call("slow")
		wantError(t, err, "Durable Object is overloaded. Too many requests queued.", "overloaded")
		close(free[0])
		for _, c := range calls {
			<-c.done
			want(t, c.value, c.err, "")
		}
	})
}

// CTX-12: props are those of the event's caller, and none by default.
func TestProps(t *testing.T) {
	t.Parallel()
	h := handler{
		"props": func(ctx context.Context, o *object, _ string) (string, error) {
			var inner []byte
			err := o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
				inner = o.state.Props(ctx)
				return nil
			})
			return string(o.state.Props(ctx)) + string(inner), err
		},
		"other": func(ctx context.Context, o *object, _ string) (string, error) {
			return o.stub(ctx, "other", "props")
		},
	}
	bubble(t, h, func(t *testing.T, w *world) {
		target := sidecar.Target{ID: w.named("o").ID(), Props: []byte("who")}
		v, err := w.Call(t.Context(), target, "props", nil)
		want(t, string(v), err, "whowho")
		v, err = w.Call(t.Context(), target, "other", nil)
		want(t, string(v), err, "") // props are for one call, not for those that it makes
	})
}

// G-10 and G-11: a turn's writes are committed together even when the event fails; writes of an earlier turn stay.
func TestWritesOfFailedEventAreKept(t *testing.T) {
	t.Parallel()
	h := handler{
		"fail": func(ctx context.Context, o *object, _ string) (string, error) {
			if err := o.put(ctx, "n", 3); err != nil {
				return "", err
			}
			return "", errors.New("after the put")
		},
		"read": read,
	}
	bubble(t, h, func(t *testing.T, w *world) {
		_, err := w.call("fail")
		wantError(t, err, "after the put", "remote")
		v, err := w.call("read")
		want(t, v, err, "3")
	})
}
