package ingress

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// counted counts the deadlines that a connection is given.
type counted struct {
	net.Conn
	reads, writes int
	// begun counts the reads that reached it.
	begun int
}

func (c *counted) Read(b []byte) (int, error) {
	c.begun++
	return c.Conn.Read(b)
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.reads++
	return c.Conn.SetReadDeadline(t)
}

func (c *counted) SetWriteDeadline(t time.Time) error {
	c.writes++
	return c.Conn.SetWriteDeadline(t)
}

// connected returns both ends of a connection, and what counts the first one's deadlines.
func connected(t *testing.T) (c *conn, peer net.Conn, count *counted) {
	t.Helper()
	server, client := net.Pipe()
	count = &counted{Conn: server}
	t.Cleanup(func() {
		server.Close()
		client.Close()
	})
	return newConn(count), client, count
}

// A read ends at the deadline that was set last, before it or while it waits, and not at one that was taken back.
func TestConnDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, peer, _ := connected(t)
		ends := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %v, want the deadline", err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("the read took %v, want %v", took, want)
			}
		}
		c.SetReadDeadline(time.Now().Add(time.Minute))
		c.SetReadDeadline(time.Now().Add(2 * time.Second))
		ends(2 * time.Second)
		c.SetReadDeadline(time.Now().Add(time.Hour))
		time.AfterFunc(time.Second, func() { c.SetReadDeadline(time.Unix(1, 0)) })
		ends(time.Second)
		ends(0)
		time.AfterFunc(time.Second, func() { peer.Write([]byte("x")) })
		c.SetReadDeadline(time.Time{})
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("without a deadline: %d, %v", n, err)
		}
		c.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write that nobody takes: %v", err)
		}
		c.SetDeadline(time.Unix(1, 0))
		ends(0)
		if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write that was called off: %v", err)
		}
	})
}

// A read of one byte that is called off soon never reaches the connection; one that is not does, and so do longer ones.
func TestConnHesitates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, peer, count := connected(t)
		for range 3 {
			time.AfterFunc(patience/2, func() { c.SetReadDeadline(time.Unix(1, 0)) })
			began := time.Now()
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != patience/2 {
				t.Errorf("called off: %v after %v", err, time.Since(began))
			}
			c.SetReadDeadline(time.Time{})
		}
		if count.begun+count.reads > 0 {
			t.Errorf("%d reads and %d deadlines reached the connection", count.begun, count.reads)
		}
		go peer.Write([]byte("xyz"))
		began := time.Now()
		for n, want := range []time.Duration{0, patience} {
			if _, err := c.Read(make([]byte, 2-n)); err != nil || time.Since(began) != want {
				t.Errorf("read %d: %v after %v", n, err, time.Since(began))
			}
		}
	})
}

// Deadlines that move on as requests come reach the connection at most once a second.
func TestConnSparesDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, peer, count := connected(t)
		go func() {
			b := make([]byte, 1)
			for {
				if _, err := peer.Read(b); err != nil {
					return
				}
				peer.Write(b)
			}
		}()
		for range 100 {
			c.SetWriteDeadline(time.Now().Add(writeTimeout))
			c.Write([]byte("x"))
			c.SetWriteDeadline(time.Time{})
			c.SetReadDeadline(time.Now().Add(headerTimeout))
			c.SetReadDeadline(time.Time{})
			c.SetReadDeadline(time.Now().Add(idleTimeout))
			c.Read(make([]byte, 1))
			time.Sleep(25 * time.Millisecond)
		}
		if count.reads > 3 || count.writes > 3 {
			t.Errorf("the connection was given %d and %d deadlines in 2.5 s", count.reads, count.writes)
		}
	})
}
