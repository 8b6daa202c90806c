//go:build unix && !linux

package dev

import (
	"errors"
	"os"
)

// standbyFiles is how many files a process that waits can be handed.
const standbyFiles = 0

// startStandby starts nothing: only Linux is known to hand over flags and files as they are needed.
func (*spawner) startStandby(string, string, []string) (*standby, error) {
	return nil, errors.ErrUnsupported
}

func (*standby) handOver([]string, []*os.File) error { return errors.ErrUnsupported }

// AwaitFlags is for Linux.
func AwaitFlags(int, func()) ([]string, error) { return nil, errors.ErrUnsupported }
