package dev

import (
	"fmt"
	"os"
	"syscall"
)

// lifelineFD is the descriptor of the lifeline in every child; inherited listeners follow it.
const lifelineFD = 3

// newLifeline makes the pipe: the end that children inherit, and the one that the supervisor keeps. What os.Pipe makes does
// not fit: each use of it by os/exec has it block again, also for the children that have made theirs not block, since all
// share it, and a read that blocks holds up a child's end.
func newLifeline() (theirs, ours *os.File, err error) {
	var fds [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(fds[:]); err != nil {
		return nil, nil, fmt.Errorf("make lifeline: %w", err)
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "lifeline"), os.NewFile(uintptr(fds[1]), "lifeline"), nil
}

// WatchLifeline calls lost, once, when the process that holds the other end of the pipe fd has ended. A child calls it
// at its start; fd is kept from its own children. stop ends the watch and waits for it; it must not be called by
// lost.
func WatchLifeline(fd int, lost func()) (stop func(), err error) {
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("lifeline %d: %w", fd, err)
	}
	pipe := os.NewFile(uintptr(fd), "lifeline")
	stopping, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var b [1]byte
		// Nothing is ever written: whatever Read returns, the pipe is at its end or closed by stop.
		_, _ = pipe.Read(b[:])
		select {
		case <-stopping:
		default:
			lost()
		}
	}()
	return func() {
		close(stopping)
		pipe.Close()
		<-done
	}, nil
}
