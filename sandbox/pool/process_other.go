//go:build !linux

package pool

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/tandem-do/tandem/sandbox/frame"
)

// separation is of use on Linux only.
type separation struct{}

func firstSeparation() separation { return separation{} }

func (s separation) next(error) (separation, bool) { return s, false }

// protections says what is there.
func (separation) protections() []frame.Protection {
	off := "not there on " + runtime.GOOS
	return []frame.Protection{
		{Name: "empty_environment"}, {Name: "dies_with_parent", Off: off}, {Name: "own_network", Off: off},
		{Name: "own_process_ids", Off: off}, {Name: "own_ipc", Off: off},
	}
}

// processAttributes put a child into a process group of its own. A child whose parent dies sees the end of its
// input.
func processAttributes(separation) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// peakBytes is not known: the units of what the system says differ.
func peakBytes(*os.ProcessState) uint64 { return 0 }

// yieldProcessor does nothing where what a priority holds for differs.
func yieldProcessor(int) bool { return false }

// processorTime is not known.
func processorTime(int) time.Duration { return 0 }
