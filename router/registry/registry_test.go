package registry

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func p(worker, incarnation, address string) Process {
	return Process{Worker: worker, Incarnation: incarnation, Address: address, Entrypoints: []string{"default"}}
}

func register(t *testing.T, table *Table, after time.Duration, p Process) {
	t.Helper()
	if err := table.Register(start.Add(after), p); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, table *Table, worker string, presence Presence, list ...Process) {
	t.Helper()
	got, found := table.Find(worker)
	if diff := cmp.Diff(list, got); diff != "" || found != presence {
		t.Errorf("%s is %v (-want +got):\n%s", worker, found, diff)
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	table := New()
	want(t, table, "a", Absent)
	register(t, table, 0, p("a", "1", "x"))
	register(t, table, 8*time.Second, p("a", "1", "y")) // a renewal may say another address
	table.Expire(start.Add(18*time.Second - 1))
	want(t, table, "a", Present, p("a", "1", "y"))
	gone := table.Expire(start.Add(18 * time.Second))
	if diff := cmp.Diff([]Process{p("a", "1", "y")}, gone); diff != "" {
		t.Error(diff)
	}
	want(t, table, "a", Restarting)
	table.Expire(start.Add(28*time.Second - 1))
	want(t, table, "a", Restarting)
	table.Expire(start.Add(28 * time.Second))
	want(t, table, "a", Absent)
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	table := New()
	register(t, table, 0, p("a", "2", "y"))
	register(t, table, 0, p("a", "1", "x"))
	register(t, table, 0, p("b", "1", "z"))
	want(t, table, "a", Present, p("a", "1", "x"), p("a", "2", "y"))
	// One that was killed, and is started anew where it was.
	register(t, table, time.Second, p("a", "3", "y"))
	want(t, table, "a", Present, p("a", "1", "x"), p("a", "3", "y"))
	if diff := cmp.Diff([]Process{p("a", "1", "x"), p("a", "3", "y"), p("b", "1", "z")}, table.List()); diff != "" {
		t.Error(diff)
	}
	for _, known := range []bool{true, false} {
		if got := table.Unregister(start, "b", "1"); got != known {
			t.Errorf("unregister: %v, want %v", got, known)
		}
	}
	want(t, table, "b", Restarting)
	if table.Unregister(start, "a", "2") {
		t.Error("a process that another has taken the place of was known")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	table := New()
	for i := range MaxWorkers {
		register(t, table, 0, p(fmt.Sprint("w", i), "1", fmt.Sprint("a", i)))
	}
	if err := table.Register(start, p("more", "1", "more")); !errors.Is(err, ErrFull) {
		t.Errorf("a Worker too many: %v", err)
	}
	for i := 1; i < MaxProcesses; i++ {
		register(t, table, 0, p("w0", fmt.Sprint("p", i), fmt.Sprint("b", i)))
	}
	if err := table.Register(start, p("w0", "more", "more")); !errors.Is(err, ErrFull) {
		t.Errorf("a process too many: %v", err)
	}
	table.Expire(start.Add(TTL))
	register(t, table, TTL+RestartTime, p("more", "1", "more")) // all others are forgotten
	if n := len(table.List()); n != 1 {
		t.Errorf("%d processes, want 1", n)
	}
}
