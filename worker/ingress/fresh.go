package ingress

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// freshGrace is how long a drain lets connections that it has accepted send their first request.
const freshGrace = 500 * time.Millisecond

// fresh are the connections whose first request has not come yet. A server that shuts down drops such a request
// unanswered, though its client could not know, and waits five seconds for a connection that sends none.
type fresh struct {
	count atomic.Int64 // of conns

	mu    sync.Mutex // guards conns
	conns map[net.Conn]struct{}
	none  chan struct{} // holds a token when the last one is gone
}

func newFresh() *fresh { return &fresh{conns: map[net.Conn]struct{}{}, none: make(chan struct{}, 1)} }

// state is the server's ConnState.
func (f *fresh) state(c net.Conn, s http.ConnState) {
	if s != http.StateNew && f.count.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s == http.StateNew {
		f.conns[c] = struct{}{}
	} else {
		delete(f.conns, c)
	}
	f.count.Store(int64(len(f.conns)))
	if len(f.conns) == 0 {
		select {
		case f.none <- struct{}{}:
		default:
		}
	}
}

// settle waits until there are none, and closes those that are left after freshGrace. No connection may be accepted any
// more.
func (f *fresh) settle() {
	t := time.NewTimer(freshGrace)
	defer t.Stop()
	for f.count.Load() > 0 {
		select {
		case <-f.none:
		case <-t.C:
			f.mu.Lock()
			defer f.mu.Unlock()
			for c := range f.conns {
				c.Close()
			}
			return
		}
	}
}
