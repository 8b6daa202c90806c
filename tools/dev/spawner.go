package dev

import (
	"os/exec"
	"runtime"
)

// spawner starts every child from one goroutine that is locked to its thread: on Linux a child's parent-death signal is
// bound to the thread that forked it, and the Go runtime ends idle threads as it likes.
type spawner struct {
	requests chan spawnRequest
	done     chan struct{}
}

// spawnRequest is a command to start and where its error goes.
type spawnRequest struct {
	cmd    *exec.Cmd
	result chan error
}

// newSpawner starts the goroutine; close ends it.
func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawnRequest), done: make(chan struct{})}
	go s.loop()
	return s
}

// loop never unlocks its thread, which ends with it: after the last child.
func (s *spawner) loop() {
	runtime.LockOSThread()
	defer close(s.done)
	for r := range s.requests {
		r.result <- r.cmd.Start()
	}
}

// start is cmd.Start on the spawner's thread.
func (s *spawner) start(cmd *exec.Cmd) error {
	r := spawnRequest{cmd, make(chan error, 1)}
	s.requests <- r
	return <-r.result
}

// close ends the goroutine once no child runs and start is not called again.
func (s *spawner) close() {
	close(s.requests)
	<-s.done
}
