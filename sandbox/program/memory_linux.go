package program

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// pages are mappings of files of which nothing was changed: the code and the constants of the executable.
type pages []struct{ begin, length uintptr }

// unchangedPages finds them. Those that only can be read now, but have been relocated before, hold anonymous memory and
// are left out: it would be lost.
func unchangedPages() (pages, error) {
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	var all pages
	var current struct{ begin, length uintptr }
	for lines := bufio.NewScanner(bytes.NewReader(smaps)); lines.Scan(); {
		line := lines.Text()
		var begin, end uintptr
		var mode, offset, device string
		var inode uint64
		if n, _ := fmt.Sscanf(line, "%x-%x %s %s %s %d", &begin, &end, &mode, &offset, &device, &inode); n == 6 {
			current.begin, current.length = begin, 0
			if inode != 0 && end > begin && (mode == "r-xp" || mode == "r--p") {
				current.length = end - begin
			}
		} else if rest, ok := strings.CutPrefix(line, "Anonymous:"); ok && strings.TrimSpace(rest) == "0 kB" {
			if current.length > 0 {
				all = append(all, current)
			}
		}
	}
	return all, nil
}

// release gives memory back that the process can do without until the next program: garbage, and the pages of the
// executable, most of which only the start touches. What is needed again comes from the page cache.
func (p pages) release() {
	debug.FreeOSMemory()
	for _, m := range p {
		// What fails stays where it is.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.begin, m.length, unix.MADV_DONTNEED)
	}
}
