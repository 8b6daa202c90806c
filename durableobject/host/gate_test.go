package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/proto/telemetry/telemetrytest"
)

// everyOperation uses each operation of storage, with every option that might let others in.
func everyOperation(ctx context.Context, s *durableobject.Storage) error {
	get := storage.GetOptions{AllowConcurrency: true, NoCache: true}
	put := storage.PutOptions{AllowConcurrency: true, AllowUnconfirmed: true, NoCache: true}
	_, _, e1 := s.Get(ctx, "k", get)
	_, e2 := s.GetMany(ctx, []string{"k", "l"}, get)
	e3 := s.Put(ctx, []storage.Entry{{Key: "k", Value: []byte("v")}}, put)
	_, e4 := s.List(ctx, storage.ListOptions{GetOptions: get})
	_, e5 := s.Delete(ctx, []string{"k"}, put)
	e6 := s.SetAlarm(ctx, time.Now().Add(time.Hour), put)
	_, _, e7 := s.Alarm(ctx)
	e8 := s.DeleteAlarm(ctx, put)
	e9 := s.Transaction(ctx, func(ctx context.Context) error {
		_, _, err := s.Get(ctx, "k", get)
		return err
	})
	return errors.Join(e1, e2, e3, e4, e5, e6, e7, e8, e9, s.DeleteAll(ctx))
}

// G-1, G-3 and G-4: no operation of storage lets another event in, whatever its options; G-12: nor does anything else
// before the code waits for something outside.
func TestStorageKeepsTheTurn(t *testing.T) {
	t.Parallel()
	var order []string
	c := &testClass{methods: methods{
		"use": func(ctx context.Context, o *testObject, _ string) (string, error) {
			o.state.WaitUntil(func(context.Context) error { order = append(order, "background"); return nil })
			for range 100 {
				if err := everyOperation(ctx, o.state.Storage()); err != nil {
					return "", err
				}
			}
			order = append(order, "used")
			err := o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, time.Second) })
			order = append(order, "waited")
			return "", err
		},
		"note": func(context.Context, *testObject, string) (string, error) {
			order = append(order, "note")
			return "", nil
		},
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		s.serial("a")
		results := make(chan error, 2)
		for _, method := range []string{"use", "note"} {
			go func() {
				_, err := s.call("a", method)
				results <- err
			}()
			if method == "use" {
				for s.host.running.n.Load() == 0 {
					time.Sleep(1) // until it runs, or waits for its turn
				}
			}
		}
		for range 2 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if order[0] != "used" || order[3] != "waited" || !slices.Contains(order, "note") {
			t.Errorf("got %v, want nothing before used, and the rest while it waits", order)
		}
	})
}

// G-7: nothing waits for an unconfirmed write, whose failure breaks the object all the same: even an event that does not
// touch storage gets the error.
func TestUnconfirmedWriteThatFails(t *testing.T) {
	t.Parallel()
	log := &errorfs.Toggle{Injector: errorfs.ErrInjected.If(errorfs.And(errorfs.Writes, onLog{}))}
	c := &testClass{methods: methods{
		"write": func(ctx context.Context, o *testObject, _ string) (string, error) {
			return "", o.state.Storage().Put(ctx, []storage.Entry{{Key: "k"}}, storage.PutOptions{AllowUnconfirmed: true})
		},
		"none": func(context.Context, *testObject, string) (string, error) { return "", nil },
	}}
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, errorfs.Wrap(vfs.NewMem(), log), c.classes())
		s.place()
		caller := local{s.host}
		log.On()
		if _, err := caller.Call(t.Context(), s.target("a"), "write", textArguments(t)); err != nil {
			t.Errorf("the unconfirmed write: %v", err)
		}
		synctest.Wait() // its commit has failed
		_, err := caller.Call(t.Context(), s.target("a"), "none", textArguments(t))
		if err == nil || seen(err) != "Error: "+textCommitFailed+" [reset]" {
			t.Errorf("the next event: got %v", err)
		}
		log.Off()
		s.close()
	})
}

// Storage operations and waits at gates are spans of a sampled trace.
func TestStorageSpans(t *testing.T) {
	t.Parallel()
	c := &testClass{methods: methods{
		"use": func(ctx context.Context, o *testObject, _ string) (string, error) {
			return "", errors.Join(everyOperation(ctx, o.state.Storage()), o.state.Storage().Sync(ctx))
		},
		"fail": func(ctx context.Context, o *testObject, _ string) (string, error) {
			_, err := o.state.Storage().List(ctx, storage.ListOptions{Limit: -1})
			return "", err
		},
	}}
	s := newStack(t, vfs.NewMem(), c.classes())
	s.place()
	ctx, recorder := telemetrytest.Record(t)
	for _, method := range []string{"use", "fail"} {
		s.host.Call(ctx, s.target("a"), method, textArguments(t))
	}
	var got []string
	for _, span := range recorder.Ended() {
		if name, ok := strings.CutPrefix(span.Name, "durable_object_storage_"); ok {
			got = append(got, fmt.Sprintf("%s %s", name, span.Status))
		}
	}
	want := []string{
		"get ok", "get ok", "put ok", "list ok", "delete ok", "setAlarm ok", "getAlarm ok", "deleteAlarm ok", "get ok",
		"transaction ok", "deleteAll ok", "sync ok", "list error",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	for _, operation := range []string{"get", "put", "list", "delete", "deleteAll", "setAlarm", "sync", "transaction"} {
		if name := telemetry.StorageSpan(operation); name != "durable_object_storage_"+operation {
			t.Errorf("span of %s is %q", operation, name)
		}
	}
	s.close()
}

// An unsampled operation pays nothing for its span.
func TestUnsampledStorageIsFree(t *testing.T) {
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		if end := observeStorage(ctx, "get"); end != nil {
			t.Error("an operation outside a trace is observed")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
