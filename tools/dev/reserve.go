package dev

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// maxHeld bounds what is kept of the output of a process that waits, in bytes.
const maxHeld = 64 << 10

// Reserve has processes that were started before it is known what they are to do: they have the work of their start
// behind them when their flags come. The supervisor takes its first Workers from it. Its methods may be called on nil,
// and from any goroutine.
type Reserve struct {
	spawner *spawner
	mu      sync.Mutex // guards waiting
	waiting []*standby
}

// standby is a process that waits for its flags.
type standby struct {
	cmd    *exec.Cmd
	output *lateOutput
	// control is our end of the socket that the flags go through.
	control int
}

// NewReserve starts as many worker processes of the running executable. Those that can't be started are left out: whoever
// needs one starts it then. Close it after Run.
func NewReserve(workers int) (*Reserve, error) {
	executable, err := runningExecutable()
	if err != nil {
		return nil, err
	}
	return newReserve(executable, workers, nil), nil
}

func newReserve(executable string, workers int, env []string) *Reserve {
	r := &Reserve{spawner: newSpawner()}
	for range workers {
		s, err := r.spawner.startStandby(executable, nameWorker, env)
		if err != nil {
			break
		}
		r.waiting = append(r.waiting, s)
	}
	return r
}

// Close ends the processes that nobody has taken, and waits for them.
func (r *Reserve) Close() {
	if r == nil {
		return
	}
	for s := r.next(); s != nil; s = r.next() {
		s.end()
	}
	r.spawner.close()
}

// next takes a process out of the reserve, nil when there is none.
func (r *Reserve) next() *standby {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		return nil
	}
	s := r.waiting[0]
	r.waiting = r.waiting[1:]
	return s
}

// take has a process that waits run with these flags, this lifeline and these listeners, its output going to out. It
// returns nil when there is none that can.
func (r *Reserve) take(p *process, flags []string, files []*os.File, out io.Writer) *exec.Cmd {
	if r == nil || p.command() != nameWorker || len(p.env) > 0 || len(files) > standbyFiles {
		return nil
	}
	for s := r.next(); s != nil; s = r.next() {
		if err := s.handOver(flags, files); err != nil {
			s.end()
			continue
		}
		s.output.set(out)
		return s.cmd
	}
	return nil
}

// end kills the process and waits for its end.
func (s *standby) end() {
	_ = s.cmd.Process.Kill() // an error means that it has ended
	_ = s.cmd.Wait()         // nobody asks how
	_ = syscall.Close(s.control)
}

// lateOutput holds what is written until it is known where it goes.
type lateOutput struct {
	mu   sync.Mutex // guards what follows
	to   io.Writer
	held []byte
}

// Write implements io.Writer.
func (o *lateOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.to != nil {
		return o.to.Write(b)
	}
	o.held = append(o.held, b[:min(len(b), maxHeld-len(o.held))]...)
	return len(b), nil
}

// set says where it goes.
func (o *lateOutput) set(to io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = to.Write(o.held) // as os/exec does with what a process writes
	o.to, o.held = to, nil
}
