package ingress

import (
	"net"
	"os"
	"sync"
	"time"
)

// deadlineSlack is how much earlier than it was set a deadline may come. All that are set here are ten times as long.
const deadlineSlack = time.Second

// patience is how late a read of one byte begins. While a handler runs, the HTTP server has such a read wait for the client
// to go away, and calls it off at the end: most handlers are quicker than this, and the read then costs no system call.
const patience = 5 * time.Millisecond

// conn hands its deadlines on when a read or a write has begun or begins, and only those that differ from the one before
// by deadlineSlack. The HTTP server sets eight for a request, of which most never meet a system call.
type conn struct {
	net.Conn
	read, write deadline
}

// deadline is that of one direction.
type deadline struct {
	set func(time.Time) error
	// made is when the connection was: a deadline before it calls operations off.
	made time.Time

	// mu guards what follows.
	mu sync.Mutex
	// want is what was set last, have what the connection has.
	want, have time.Time
	// busy counts the operations that are under way.
	busy int
	// patient is true while a read waits for ready, which end it: late's time, or that it is called off.
	patient bool
	ready   chan struct{}
	late    *time.Timer
}

func newConn(c net.Conn) *conn {
	now := time.Now()
	return &conn{
		Conn: c, read: deadline{set: c.SetReadDeadline, made: now}, write: deadline{set: c.SetWriteDeadline, made: now},
	}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 1 {
		c.read.hesitate()
	}
	if err := c.read.begin(); err != nil {
		return 0, err
	}
	defer c.read.end()
	return c.Conn.Read(b)
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.write.begin(); err != nil {
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
	if d.patient && d.calledOff() {
		d.goOnLocked()
	}
	if d.busy == 0 {
		return nil
	}
	return d.apply()
}

// hesitate waits for the time of patience, or until the operation that is to begin is called off.
func (d *deadline) hesitate() {
	d.mu.Lock()
	if d.patient || d.calledOff() {
		d.mu.Unlock()
		return
	}
	d.patient = true
	if d.late == nil {
		d.ready, d.late = make(chan struct{}, 1), time.AfterFunc(patience, d.goOn)
	} else {
		d.late.Reset(patience)
	}
	d.mu.Unlock()
	<-d.ready
}

// goOn ends a wait of hesitate.
func (d *deadline) goOn() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.patient {
		d.goOnLocked()
	}
}

func (d *deadline) goOnLocked() {
	d.patient = false
	d.late.Stop()
	d.ready <- struct{}{}
}

// calledOff reports whether the deadline is one that calls operations off.
func (d *deadline) calledOff() bool { return !d.want.IsZero() && d.want.Before(d.made) }

// begin begins an operation, unless it was called off.
func (d *deadline) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calledOff() {
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
