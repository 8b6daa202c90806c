package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// pollTimeout bounds one wait for the sockets, so that the end of a round is seen.
const pollTimeout = 20 * time.Millisecond

// maxYields bounds how often the processor is given up before a sleep: for some 50 µs where nobody wants it.
const maxYields = 100

// swarm is many persistent HTTP/1.1 connections on one thread, each with one request under way. It waits for all of them
// at once and makes one read and one write a request: a goroutine for each connection cost the load program as much
// processor time as a server's process has for a request, on cores that they share.
type swarm struct {
	conns []*swarmConn
	// epoll tells which connections can be read. An event's Fd is the index of its connection.
	epoll  int
	events []unix.EpollEvent
	// request returns the next request's method and path; check looks at a response's body.
	request func() (method, path string)
	check   func(body []byte) error
}

// swarmConn is one connection.
type swarmConn struct {
	fd       int
	sent     time.Time
	out      []byte
	in       []byte // what has come of the response
	response responseParser
}

// dialSwarm connects n times.
func dialSwarm(address string, n int, request func() (method, path string), check func([]byte) error) (*swarm, error) {
	to, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, err
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	s := &swarm{request: request, check: check, epoll: epoll, events: make([]unix.EpollEvent, n)}
	peer := &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}
	for i := range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.conns = append(s.conns, &swarmConn{fd: fd, in: make([]byte, 0, 4096)})
		err = connectSwarm(fd, peer)
		if err == nil {
			err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)})
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connect to %s: %w", address, err), s.close())
		}
	}
	return s, nil
}

func connectSwarm(fd int, peer unix.Sockaddr) error {
	if err := unix.Connect(fd, peer); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	return unix.SetNonblock(fd, true)
}

func (s *swarm) close() error {
	errs := []error{unix.Close(s.epoll)}
	for _, c := range s.conns {
		errs = append(errs, unix.Close(c.fd))
	}
	return errors.Join(errs...)
}

// run sends requests on all connections until ctx ends, and waits for the last responses. It records each latency.
func (s *swarm) run(ctx context.Context, latency *hdrhistogram.Histogram) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, c := range s.conns {
		if err := s.send(c); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(wireTimeout)
	for open := len(s.conns); open > 0; {
		n, err := s.wait()
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n == 0 && time.Now().After(deadline) {
			return fmt.Errorf("no response within %v", wireTimeout)
		}
		for _, e := range s.events[:max(0, n)] {
			c := s.conns[e.Fd]
			done, err := s.receive(c, latency)
			switch {
			case err != nil:
				return err
			case done && ctx.Err() == nil:
				err = s.send(c)
			case done:
				err = unix.EpollCtl(s.epoll, unix.EPOLL_CTL_DEL, c.fd, nil)
				open--
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// wait returns how many of events there are. Before it sleeps it gives the processor to the servers a few times: a thread
// that sleeps is woken by a server's write, which costs the server as much as the rest of the write.
func (s *swarm) wait() (int, error) {
	for range maxYields {
		if n, err := unix.EpollWait(s.epoll, s.events, 0); n != 0 || err != nil {
			return n, err
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0); errno != 0 {
			return 0, errno
		}
	}
	return unix.EpollWait(s.epoll, s.events, int(pollTimeout.Milliseconds()))
}

// send writes the next request. It is far smaller than a socket's buffer, which is empty.
func (s *swarm) send(c *swarmConn) error {
	method, path := s.request()
	c.out = appendRequest(c.out[:0], method, path)
	c.in, c.response, c.sent = c.in[:0], responseParser{}, time.Now()
	n, err := unix.Write(c.fd, c.out)
	if err == nil && n < len(c.out) {
		err = errors.New("a request was written in part")
	}
	return err
}

// receive reads what has come and reports whether the response is whole.
func (s *swarm) receive(c *swarmConn, latency *hdrhistogram.Histogram) (bool, error) {
	n, err := unix.Read(c.fd, c.in[len(c.in):cap(c.in)])
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return false, nil
	case err != nil:
		return false, err
	case n == 0:
		return false, errors.New("the server closed a connection, or sent more than 4 KiB")
	}
	c.in = c.in[:len(c.in)+n]
	body, whole, err := c.response.parse(c.in)
	if err != nil || !whole {
		return false, err
	}
	latency.RecordValue(time.Since(c.sent).Microseconds()) //nolint:errcheck // bounded by wireTimeout
	return true, s.check(body)
}
