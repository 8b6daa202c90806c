package sidecar

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// socketMode lets only the user of the process connect to its unix sockets.
	socketMode = 0o600
	// probeTimeout bounds the look whether somebody still serves a unix socket that exists.
	probeTimeout = time.Second
)

// Listen opens the address a process serves on:
//
//	unix:/path    a unix socket that only this user may connect to; a stale one is replaced
//	fd:3          a listener inherited from the parent, by its file descriptor
//	host:port     TCP; port 0 takes any free one
//
// A unix socket that somebody serves is an error, as is a path that holds something else.
func Listen(address string) (net.Listener, error) {
	switch scheme, rest, _ := strings.Cut(address, ":"); scheme {
	case "unix":
		return listenUnix(strings.TrimPrefix(rest, "//"))
	case "fd":
		return listenFD(rest)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	return l, nil
}

func listenUnix(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("listen on unix socket %q: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on unix socket %q: %w", path, err)
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("restrict unix socket %q: %w", path, err), l.Close())
	}
	return l, nil
}

// removeStale removes a socket that nobody listens on.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("the path exists and is not a socket")
	}
	if c, err := net.DialTimeout("unix", path, probeTimeout); err == nil {
		return errors.Join(errors.New("another process serves it"), c.Close())
	}
	return os.Remove(path)
}

func listenFD(number string) (net.Listener, error) {
	fd, err := strconv.ParseUint(number, 10, 16)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("listen on file descriptor %q: want a number of at least 3", number)
	}
	f := os.NewFile(uintptr(fd), "listener")
	l, err := net.FileListener(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("listen on file descriptor %d: %w", fd, err)
	}
	return l, nil
}
