package actor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// G-6: the outcome of an event of the object's own making leaves when its writes are on disk, and so does a call with
// stubs.
func TestOutputGateOfDelivery(t *testing.T) {
	t.Parallel()
	disk, out := &slowDisk{}, &outside{}
	h := handler{"run": func(ctx context.Context, o *object, _ string) (string, error) {
		return "", o.state.Await(ctx, func(ctx context.Context) error {
			disk.hold()
			err := o.state.Deliver(ctx, func(ctx context.Context) error {
				if err := o.put(ctx, "n", 2); err != nil {
					return err
				}
				in := sidecar.Invocation{Path: []string{"m"}, Args: sidecar.Value{Bytes: []byte{0}}}
				_, err := o.state.Namespace(testNamespace).GetByName("b").Invoke(ctx, in)
				return errors.Join(err, o.put(ctx, "n", 3))
			})
			out.left("delivered")
			return err
		})
	}}
	bubbleOn(t, errorfs.Wrap(vfs.NewMem(), disk), h, func(t *testing.T, w *world) {
		w.shared.Caller = caller{out}
		c := w.start("run")
		if got := out.String(); got != "" {
			t.Errorf("left before the write was on disk: %s", got)
		}
		disk.release()
		synctest.Wait()
		disk.hold()
		<-c.done
		if got := out.String(); got != "call m, delivered" {
			t.Errorf("got %s", got)
		}
		disk.release()
	})
}

// Events of the object's own making wait for the input gate, and fail as the object has.
func TestDeliver(t *testing.T) {
	t.Parallel()
	var state *State
	h := handler{
		"block": func(ctx context.Context, o *object, _ string) (string, error) {
			state = o.state
			return "", o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
				return o.state.Await(ctx, func(context.Context) error {
					time.Sleep(time.Second)
					return nil
				})
			})
		},
		"abort": func(_ context.Context, o *object, _ string) (string, error) {
			o.state.Abort(errors.New("enough"))
			return "", nil
		},
	}
	bubble(t, h, func(t *testing.T, w *world) {
		c, began := w.start("block"), time.Now()
		err := state.Deliver(t.Context(), func(context.Context) error { return nil })
		if took := time.Since(began); err != nil || took != time.Second {
			t.Errorf("got %v after %v, want to wait for the section", err, took)
		}
		<-c.done
		_, err = w.call("abort")
		wantError(t, err, "enough", "reset")
		err = state.Deliver(t.Context(), func(context.Context) error {
			t.Error("it ran")
			return nil
		})
		wantError(t, err, "enough", "reset")
	})
}
