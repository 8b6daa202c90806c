package wranglerstate

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

// ledger is the recorded class, in Go.
type ledger struct{ state *durableobject.State }

// describe says what the object finds in its storage.
func (l *ledger) describe(ctx context.Context, key string) (string, error) {
	greeting, ok, err := durableobject.Get[string](ctx, l.state.Storage(), key)
	if err != nil || !ok {
		return "", err
	}
	at, ok, err := l.state.Storage().Alarm(ctx)
	if err != nil || !ok {
		return "", errors.Join(err, errors.New("no alarm"))
	}
	name, _ := l.state.Name()
	return fmt.Sprintf("%s, %s, %d", greeting, name, at.UnixMilli()), nil
}

// A host serves what was imported, by the ID that wrangler had made, and the object knows its name.
func TestHostServesImported(t *testing.T) {
	t.Parallel()
	s := doImport(t, "testdata/wrangler", t.TempDir(), nil).ok().store()
	router, err := sidecar.Dial("127.0.0.1:1") // lazy: nobody calls it
	if err != nil {
		t.Fatal(err)
	}
	defer router.Close()
	h, err := host.New(host.Options{Worker: "recorded", Router: router, Classes: []durableobject.Class{{
		Name:    "Ledger",
		New:     func(_ context.Context, s *durableobject.State) (any, error) { return &ledger{s}, nil },
		Methods: map[string]durableobject.Method{"describe": durableobject.Func((*ledger).describe)},
	}}}, s)
	if err != nil {
		t.Fatal(err)
	}
	stub := binding.NewNamespace("recorded-Ledger", h.Local()).GetByName("värde 😀")
	got, err := durableobject.Call[string](t.Context(), stub, "describe", "greeting")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fmt.Sprintf("hello, värde 😀, %d", later().UnixMilli()), got); diff != "" {
		t.Error(diff)
	}
	if err := h.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}
