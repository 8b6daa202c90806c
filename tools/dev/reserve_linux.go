package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// standbyFiles is how many descriptors from lifelineFD on a process that waits keeps free for what it gets: the
	// lifeline and one listener.
	standbyFiles = 2
	// maxFlagsBytes bounds the message that brings the flags.
	maxFlagsBytes = 64 << 10
)

// startStandby starts a process of a subcommand that waits for its flags.
func (s *spawner) startStandby(executable, command string, env []string) (*standby, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make socket of a standby: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "standby")
	defer theirs.Close()
	out := &lateOutput{}
	cmd := exec.Command(executable, command, "--standby", strconv.Itoa(lifelineFD))
	cmd.Env = append(os.Environ(), env...)
	for range standbyFiles {
		cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()
	cmd.WaitDelay = outputWait
	if err := s.start(cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", executable, err), unix.Close(pair[0]))
	}
	return &standby{cmd: cmd, output: out, control: pair[0]}, nil
}

// handOver sends the process its flags and files, and closes the socket.
func (s *standby) handOver(flags []string, files []*os.File) error {
	message, err := json.Marshal(flags)
	if err == nil && len(message) > maxFlagsBytes {
		err = errors.New("they are too long")
	}
	if err != nil {
		return fmt.Errorf("hand over flags: %w", err)
	}
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	if err := unix.Sendmsg(s.control, message, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("hand over flags: %w", err)
	}
	control := s.control
	s.control = -1
	return unix.Close(control)
}

// AwaitFlags waits until the supervisor hands a process that waits its flags, through the socket fd. It returns none, and
// no error, when the process is not needed. The files that come along get the descriptors from fd on. Unless the flags are
// there already, prepare is called first; it may be nil.
func AwaitFlags(fd int, prepare func()) (flags []string, err error) {
	there, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	if there == 0 && prepare != nil {
		prepare()
	}
	message, control := make([]byte, maxFlagsBytes), make([]byte, unix.CmsgSpace(4*standbyFiles))
	var n, nc int
	for {
		n, nc, _, _, err = unix.Recvmsg(fd, message, control, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("wait for flags: %w", err)
	}
	if n == 0 { // the other end is closed
		return nil, nil
	}
	files, err := receivedFiles(control[:nc])
	if err != nil {
		return nil, fmt.Errorf("wait for flags: %w", err)
	}
	for i := range standbyFiles {
		if i < len(files) {
			err = errors.Join(unix.Dup3(files[i], fd+i, unix.O_CLOEXEC), unix.Close(files[i]))
		} else {
			err = unix.Close(fd + i)
		}
		if err != nil {
			return nil, fmt.Errorf("take over descriptor %d: %w", fd+i, err)
		}
	}
	if err := json.Unmarshal(message[:n], &flags); err != nil {
		return nil, fmt.Errorf("read flags: %w", err)
	}
	return flags, nil
}

// receivedFiles are the descriptors in a control message.
func receivedFiles(control []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	var files []int
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		files = append(files, fds...)
	}
	return files, nil
}
