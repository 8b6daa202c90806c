package dev

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tcpListen is the state of a listening socket in /proc/net/tcp.
const tcpListen = "0A"

// portHolder names the process that listens on a TCP port, such as "node (pid 12)". It returns "" where there is no
// /proc, or where the process belongs to another user.
func portHolder(port int) string {
	inode := ""
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		if inode = listenInode(string(text), port); inode != "" {
			break
		}
	}
	if inode == "" {
		return ""
	}
	return socketHolder("socket:[" + inode + "]")
}

// listenInode finds the inode of the socket that listens on port, in a table of the form of /proc/net/tcp.
func listenInode(table string, port int) string {
	const localAddress, state, inode = 1, 3, 9
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) <= inode || f[state] != tcpListen {
			continue
		}
		_, hex, ok := strings.Cut(f[localAddress], ":")
		if n, err := strconv.ParseUint(hex, 16, 16); ok && err == nil && int(n) == port {
			return f[inode]
		}
	}
	return ""
}

// socketHolder names the first process with a descriptor of that link.
func socketHolder(link string) string {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return ""
	}
	for _, dir := range dirs {
		fds, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue // another user's, or it has ended
		}
		for _, fd := range fds {
			if target, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil && target == link {
				return fmt.Sprintf("%s (pid %s)", commandName(dir), filepath.Base(dir))
			}
		}
	}
	return ""
}

// commandName returns the base name of a process's executable and, for tandem's own, the subcommand.
func commandName(dir string) string {
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
	if err != nil || args[0] == "" {
		return "a process"
	}
	name := filepath.Base(args[0])
	if name == "tandem" && len(args) > 1 {
		name += " " + args[1]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, name)
}
