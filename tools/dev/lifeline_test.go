package dev

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A child's watch ends at once, though its supervisor starts another one after the child has begun to watch.
func TestLifelineStaysNonBlocking(t *testing.T) {
	t.Parallel()
	theirs, ours, err := newLifeline()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	child, err := syscall.Dup(int(theirs.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.SetNonblock(child, true); err != nil { // as WatchLifeline begins
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	flags, err := unix.FcntlInt(uintptr(child), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK == 0 {
		t.Errorf("the lifeline has the flags %#x, %v: it blocks", flags, err)
	}
	stop, err := WatchLifeline(child, func() { t.Error("the supervisor is taken for dead") })
	if err != nil {
		t.Fatal(err)
	}
	stop()
}
