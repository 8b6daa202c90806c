//go:build !linux

package program

import "time"

// dataBytes is of use where armData is.
func dataBytes() (uint64, error) { return 0, nil }

func armData(uint64) {}

func armCPU(time.Duration) {}
