//go:build !linux

package program

import (
	"os"
	"runtime"

	"github.com/tandem-do/tandem/sandbox/frame"
)

// protect does what it can on other systems than Linux: the watch alone bounds memory and processor time, and a single
// large allocation can pass its limit.
func protect() []frame.Protection {
	os.Clearenv()
	off := "not there on " + runtime.GOOS
	var all []frame.Protection
	for _, name := range []string{
		"closed_descriptors", "kernel_limits", "unprivileged_user", "no_capabilities", "not_dumpable", "landlock",
		"system_call_filter",
	} {
		all = append(all, frame.Protection{Name: name, Off: off})
	}
	return all
}
