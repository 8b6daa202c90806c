//go:build !linux

package program

import "time"

// confine does nothing where the kernel's limits are not those of Linux; the watch alone then bounds memory
// and processor time, and a single large allocation can pass its limit.
func confine() (baseBytes uint64, err error) { return 0, nil }

func armData(uint64) {}

func armCPU(time.Duration) {}
