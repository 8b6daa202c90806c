package dev

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Waits for the ports of a supervisor that was killed: its children hold them until they have drained.
const (
	orphanWait  = 5 * time.Second
	orphanRetry = 50 * time.Millisecond
)

// port is a port that the stack listens on.
type port struct {
	// flag sets it.
	flag string
	port int
}

// ports returns the ports in the order of the listeners.
func (o Options) ports() [4]port {
	return [4]port{
		{"port", o.Port}, {"dashboard-port", o.DashboardPort}, {"auth-port", o.AuthPort}, {"otlp-port", o.OTLPPort},
	}
}

// maxSearch is how many ports are tried for a free one.
const maxSearch = 100

// listeners are the open sockets that children inherit. The supervisor never accepts on them.
type listeners struct {
	worker, dashboard, auth, otlp *inherited
	// others are those of the Workers after the first.
	others []*inherited
}

// workers returns those of all Workers.
func (l *listeners) workers() []*inherited { return append([]*inherited{l.worker}, l.others...) }

// inherited is a listening socket with the descriptor that children get.
type inherited struct {
	listener *net.TCPListener
	file     *os.File
}

// address returns host:port.
func (l *inherited) address() string { return l.listener.Addr().String() }

// port returns its port.
func (l *inherited) port() int { return l.listener.Addr().(*net.TCPAddr).Port }

// url returns the origin of an HTTP server on the socket.
func (l *inherited) url() string { return "http://" + l.address() }

// close closes both descriptors.
func (l *inherited) close() error { return errors.Join(l.file.Close(), l.listener.Close()) }

// openListeners opens all ports. A busy one is a *BusyError. With waiting, busy ports are waited for a little, and
// waiting is told of each.
func openListeners(ctx context.Context, o Options, waiting func(port)) (*listeners, error) {
	out := &listeners{}
	targets := [4]**inherited{&out.worker, &out.dashboard, &out.auth, &out.otlp}
	search := [4]bool{o.SearchPort, o.SearchDashboardPort}
	for i, p := range o.ports() {
		if i > 0 && o.workersOnly {
			break
		}
		l, err := openHinted(ctx, p, o, waiting)
		var busy *BusyError
		if search[i] && errors.As(err, &busy) {
			l, err = nextListener(ctx, p, err)
		}
		if err != nil {
			return nil, errors.Join(err, out.close())
		}
		*targets[i] = l
	}
	for last := out.worker; len(out.workers()) < len(o.Projects); {
		l, err := afterListener(ctx, o, last)
		if err != nil {
			return nil, errors.Join(err, out.close())
		}
		out.others, last = append(out.others, l), l
	}
	return out, nil
}

// afterListener opens the port of the Worker after one: the next free one, or any if the first has any.
func afterListener(ctx context.Context, o Options, last *inherited) (*inherited, error) {
	if o.Port == 0 {
		return openListener(ctx, port{"port", 0}, nil)
	}
	return nextListener(ctx, port{"port", last.port()}, nil)
}

// openHinted opens a port; of OTLP the hint first.
func openHinted(ctx context.Context, p port, o Options, waiting func(port)) (*inherited, error) {
	if p.flag == "otlp-port" && p.port == 0 && o.otlpHint != 0 {
		if l, err := openListener(ctx, port{p.flag, o.otlpHint}, nil); err == nil {
			return l, nil
		}
	}
	return openListener(ctx, p, waiting)
}

// nextListener opens the first free port after one. Like wrangler: the next one is taken when the usual one is busy.
func nextListener(ctx context.Context, after port, err error) (*inherited, error) {
	for n := after.port + 1; n <= min(after.port+maxSearch, math.MaxUint16); n++ {
		var l *inherited
		if l, err = openListener(ctx, port{after.flag, n}, nil); err == nil {
			return l, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("there is no port after %d (--%s)", after.port, after.flag)
	}
	return nil, err
}

// openListener opens one port on loopback.
func openListener(ctx context.Context, p port, waiting func(port)) (*inherited, error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port))
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) && waiting != nil {
		waiting(p)
		l, err = retryListen(ctx, address, err)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &BusyError{
			What: fmt.Sprintf("port %d (--%s)", p.port, p.flag), Holder: portHolder(p.port),
			Advice: fmt.Sprintf("stop it, or give --%s another port, or 0 for any free one", p.flag),
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s (--%s): %w", address, p.flag, err)
	}
	tcp := l.(*net.TCPListener)
	file, err := tcp.File()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("inherit %s: %w", address, err), l.Close())
	}
	return &inherited{listener: tcp, file: file}, nil
}

// retryListen tries again until the address is free, or its time is over; busy is returned then.
func retryListen(ctx context.Context, address string, busy error) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, orphanWait)
	defer cancel()
	tick := time.NewTicker(orphanRetry)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, busy
		case <-tick.C:
		}
		if l, err := net.Listen("tcp", address); err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
}

// close closes every socket.
func (l *listeners) close() error {
	var errs []error
	for _, one := range append(l.workers(), l.dashboard, l.auth, l.otlp) {
		if one != nil {
			errs = append(errs, one.close())
		}
	}
	return errors.Join(errs...)
}
