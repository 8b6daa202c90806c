package pool

import "time"

const (
	// slowAfter is how often a program is looked at, to see whether it computes for long.
	slowAfter = 500 * time.Millisecond
	// slowCPU is the processor time from which on it does.
	slowCPU = 500 * time.Millisecond
)

// demote has the kernel prefer everything else to a program that computes for long: the processes that serve, and programs
// that are done at once. before is what the process had used at the first look. Its child is not used again, since an
// unprivileged process cannot take that back.
func (x *Execution) demote(before time.Duration) {
	pid := x.child.cmd.Process.Pid
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended || x.cause != causeNone {
		return
	}
	if processorTime(pid)-before >= slowCPU {
		x.demoted = yieldProcessor(pid)
		return
	}
	x.slow = time.AfterFunc(slowAfter, func() { x.demote(before) })
}
