package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// TX-1, TX-2 and TX-8: a transaction is a critical section. Its failure undoes its writes and its alarm, is the
// method's to handle, and leaves the object as it is.
func TestTransactionOfAClass(t *testing.T) {
	t.Parallel()
	var order []string
	c := &testClass{methods: methods{
		"getAlarm": getAlarm,
		"transact": func(ctx context.Context, o *testObject, how string) (string, error) {
			err := o.state.Storage().Transaction(ctx, func(ctx context.Context) error {
				defer func() { order = append(order, how) }()
				if _, err := o.increment(ctx, 1); err != nil {
					return err
				}
				if _, err := setAlarm(ctx, o, "1h"); err != nil {
					return err
				}
				if err := o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, time.Second) }); err != nil {
					return err
				}
				if how == "fails" {
					return durableobject.Exception("RangeError", "undo")
				}
				return nil
			})
			return fmt.Sprint(o.serial), err
		},
		"note": func(context.Context, *testObject, string) (string, error) {
			order = append(order, "note")
			return "", nil
		},
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		for _, how := range []string{"fails", "succeeds"} {
			done := make(chan error, 2)
			go func() {
				_, err := durableobject.Call[string](t.Context(), s.stub("a"), "transact", how)
				done <- err
			}()
			synctest.Wait() // it waits within the transaction
			go func() {
				_, err := s.call("a", "note")
				done <- err
			}()
			err := errors.Join(<-done, <-done)
			n, rerr := durableobject.Call[int](t.Context(), s.stub("a"), "read", nil)
			alarm := s.alarm("a")
			if how == "fails" {
				if seen(err) != "RangeError: undo [remote]" || n != 0 || alarm != "none" {
					t.Errorf("fails: got %v, n=%d, alarm %s", err, n, alarm)
				}
			} else if err != nil || rerr != nil || n != 1 || alarm == "none" {
				t.Errorf("succeeds: got %v, %v, n=%d, alarm %s", err, rerr, n, alarm)
			}
		}
		if want := []string{"fails", "note", "succeeds", "note"}; !slices.Equal(order, want) || c.made != 1 {
			t.Errorf("got %v and %d instances, want %v and one", order, c.made, want)
		}
	})
}

// CTX-6 and CTX-7: blockConcurrencyWhile returns what its function does; meanwhile all other events wait, the object's
// own calls of itself too. When it fails, whoever waits gets the error, and the next event a new instance.
func TestBlockConcurrencyWhileOfAClass(t *testing.T) {
	t.Parallel()
	var order []string
	c := &testClass{methods: methods{
		"block": func(ctx context.Context, o *testObject, how string) (string, error) {
			var inner error
			err := o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
				defer func() { order = append(order, how) }()
				self, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				_, inner = durableobject.Call[string](self, o.state.Namespace("w-Test").GetByName("a"), "note", "")
				if how == "fails" {
					return errors.New("boom")
				}
				return nil
			})
			var e *sidecar.Error
			if how != "fails" && (!errors.As(inner, &e) || e.Reason != sidecar.ReasonDeadline) {
				return "", fmt.Errorf("the call of itself got through, %w", inner)
			}
			return "", err
		},
		"note": func(context.Context, *testObject, string) (string, error) {
			order = append(order, "note")
			return "", nil
		},
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		for _, how := range []string{"succeeds", "fails"} {
			done := make(chan error, 2)
			go func() {
				_, err := durableobject.Call[string](t.Context(), s.stub("a"), "block", how)
				done <- err
			}()
			synctest.Wait()
			go func() {
				_, err := s.call("a", "note")
				done <- err
			}()
			for range 2 {
				err := <-done
				if how == "fails" && seen(err) != "Error: boom [reset]" || how != "fails" && err != nil {
					t.Errorf("%s: got %v", how, err)
				}
			}
		}
		if want := []string{"succeeds", "note", "fails"}; !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
		if got := s.serial("a"); got != 2 {
			t.Errorf("got instance %d", got)
		}
	})
}

// CTX-5: a constructor that fails: whoever waits gets its error, the same stub again and again; a new stub and a new
// instance work. It runs before every event, also where it waits.
func TestConstructorOfAClass(t *testing.T) {
	t.Parallel()
	c := &testClass{}
	c.create = func(ctx context.Context, o *testObject) error {
		err := o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, time.Second) })
		if o.serial == 1 {
			return errors.Join(err, durableobject.Exception("RangeError", "not today"))
		}
		return err
	}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		stub := s.stub("a")
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := durableobject.Call[int](t.Context(), stub, "serial", nil)
				done <- err
			}()
		}
		for range 2 {
			if got := seen(<-done); got != "RangeError: not today [reset]" {
				t.Errorf("got %s", got)
			}
		}
		if _, err := durableobject.Call[int](t.Context(), stub, "serial", nil); seen(err) != "RangeError: not today [reset]" {
			t.Errorf("the same stub: got %v", err)
		}
		if got := s.serial("a"); got != 2 {
			t.Errorf("a new stub: got instance %d", got)
		}
	})
}

// LIM-1, LIM-2 and LIM-3: the switch chooses the limits of the store.
func TestStrictLimits(t *testing.T) {
	t.Parallel()
	if got := (Options{}).limits(); got != (storage.Limits{}) {
		t.Errorf("got %+v", got)
	}
	if got := (Options{StrictLimits: true}).limits(); got != storage.LegacyLimits() {
		t.Errorf("strict: got %+v", got)
	}
}
