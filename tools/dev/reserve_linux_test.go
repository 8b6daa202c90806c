package dev

import (
	"strings"
	"syscall"
	"testing"
)

// A Worker is taken from the reserve, with its listener, its lifeline and its output; one that has ended is passed over.
func TestReserve(t *testing.T) {
	t.Parallel()
	w := newWatcher(t)
	o := fakeOptions(t, w)
	reserve := newReserve(o.Executable, 3, o.fake.env)
	defer reserve.Close()
	waiting := map[int]bool{}
	for range 3 {
		waiting[w.wait(t, func(r report) bool { return r.kind == "start" }).pid] = true
	}
	dead := reserve.waiting[0].cmd.Process.Pid
	if err := syscall.Kill(dead, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.wait(t, func(r report) bool { return r.kind == "gone" })

	r := start(t, func(o *Options) { o.Projects, o.Reserve = []*Project{worker(t, "web")}, reserve })
	ready, _ := r.untilReady(t)
	pid := ready.Pids[nameWorker]
	if !waiting[pid] || pid == dead {
		t.Errorf("the Worker has pid %d; %v waited, and %d had ended", pid, waiting, dead)
	}
	if _, err := r.drain(t); err != nil {
		t.Error(err)
	}
	if got := r.stderr.String(); !strings.Contains(got, "worker        | worker says hello\n") {
		t.Errorf("what the process wrote before it was taken is not in the log:\n%s", got)
	}
}

// A process that nobody takes ends with its reserve.
func TestReserveUnused(t *testing.T) {
	t.Parallel()
	w := newWatcher(t)
	o := fakeOptions(t, w)
	reserve := newReserve(o.Executable, 1, o.fake.env)
	pid := w.wait(t, func(r report) bool { return r.kind == "start" }).pid
	reserve.Close()
	if r := w.wait(t, func(r report) bool { return r.kind == "gone" }); r.pid != pid {
		t.Errorf("%d has ended, want %d", r.pid, pid)
	}
	(*Reserve)(nil).Close()
}
