package ingress

import (
	"net"
	"os"
	"sync"
	"time"
)

// deadlineSlack is how much earlier than it was set a deadline may come. All that are set here are ten times as long.
const deadlineSlack = time.Second

// conn hands its deadlines on when a read or a write has begun or begins, and only those that differ from the one before
// by deadlineSlack. The HTTP server sets eight for a request, of which most never meet a system call.
type conn struct {
	net.Conn
	made        time.Time
	read, write deadline
}

// deadline is that of one direction.
type deadline struct {
	set func(time.Time) error

	// mu guards what follows.
	mu sync.Mutex
	// want is what was set last, have what the connection has.
	want, have time.Time
	// busy counts the operations that are under way.
	busy int
}

func newConn(c net.Conn) *conn {
	return &conn{
		Conn: c, made: time.Now(), read: deadline{set: c.SetReadDeadline}, write: deadline{set: c.SetWriteDeadline},
	}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	if err := c.read.begin(c.made); err != nil {
		return 0, err
	}
	defer c.read.end()
	return c.Conn.Read(b)
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.write.begin(c.made); err != nil {
		return 0, err
	}
	defer c.write.end()
	return c.Conn.Write(b)
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.read.change(t) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.write.change(t) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.read.change(t); err != nil {
		return err
	}
	return c.write.change(t)
}

// CloseWrite has the client see the end of what it is sent; the HTTP server looks for it.
func (c *conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// change sets the deadline. An operation that is under way heeds it.
func (d *deadline) change(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.want = t
	if d.busy == 0 {
		return nil
	}
	return d.apply()
}

// begin begins an operation, unless its deadline is before made, which is how reads are called off.
func (d *deadline) begin(made time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.want.IsZero() && d.want.Before(made) {
		return os.ErrDeadlineExceeded
	}
	if err := d.apply(); err != nil {
		return err
	}
	d.busy++
	return nil
}

func (d *deadline) end() {
	d.mu.Lock()
	d.busy--
	d.mu.Unlock()
}

// apply hands the deadline on if the connection's would not do.
func (d *deadline) apply() error {
	if d.want.IsZero() == d.have.IsZero() {
		if early := d.want.Sub(d.have); early >= 0 && early < deadlineSlack {
			return nil
		}
	}
	d.have = d.want
	return d.set(d.want)
}
