package pool

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/sandbox/frame"
)

// TestRequireProtections holds that a pool that may not do without a protection runs nothing without it.
func TestRequireProtections(t *testing.T) {
	t.Parallel()
	o := fakeOptions(t, "unprotected")
	o.RequireProtections = true
	p := newPool(t, o)
	want := "the machine does not protect itself from programs: landlock (the kernel offers none)"
	if err := p.Ready(t.Context()); !errors.Is(err, ErrUnprotected) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := execute(t.Context(), p, testProgram("return 1")); !errors.Is(err, ErrUnprotected) {
		t.Errorf("a program: %v", err)
	}
}

// TestProtectionsAreLogged holds that the log says what there is, what there is not, and why.
func TestProtectionsAreLogged(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	o := fakeOptions(t, "unprotected")
	o.Log = slog.New(slog.NewTextHandler(&text, nil))
	p := newPool(t, o)
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Close()
	for _, want := range []string{"empty_environment", "sandbox lacks protections", "landlock (the kernel offers none)"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, text.String())
		}
	}
}

func TestSortProtections(t *testing.T) {
	t.Parallel()
	on, off := sortProtections([]frame.Protection{{Name: "a"}, {Name: "b", Off: "why"}, {Name: "c"}})
	if diff := cmp.Diff([]string{"a", "c"}, on); diff != "" {
		t.Errorf("on (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b (why)"}, off); diff != "" {
		t.Errorf("off (-want +got):\n%s", diff)
	}
}
