//go:build !linux

package program

import "runtime/debug"

// pages are of use on Linux only.
type pages struct{}

func unchangedPages() (pages, error) { return pages{}, nil }

// release gives memory back that the process can do without until the next program.
func (pages) release() { debug.FreeOSMemory() }
