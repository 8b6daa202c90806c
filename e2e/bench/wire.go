package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"
)

// wireTimeout bounds what one connection is used for.
const wireTimeout = 10 * time.Minute

// wire is a persistent HTTP/1.1 connection that costs the load program little: one write and one read a request. It
// belongs to one goroutine.
type wire struct {
	conn net.Conn
	out  []byte
	in   []byte
}

func dialWire(address string) (*wire, error) {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(wireTimeout)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &wire{conn: conn}, nil
}

// dialWires returns n connections and what closes them.
func dialWires(address string, n int) ([]*wire, func(), error) {
	var all []*wire
	stop := func() {
		for _, w := range all {
			w.conn.Close()
		}
	}
	for range n {
		w, err := dialWire(address)
		if err != nil {
			stop()
			return nil, nil, err
		}
		all = append(all, w)
	}
	return all, stop, nil
}

// appendRequest appends a request without a body.
func appendRequest(b []byte, method, path string) []byte {
	b = append(append(append(append(b, method...), ' '), path...), " HTTP/1.1\r\nHost: bench\r\n"...)
	if method != "GET" {
		b = append(b, "Content-Length: 0\r\n"...)
	}
	return append(b, '\r', '\n')
}

// responseParser finds the end of one response. Any status but 200, and a response without a length, is an error.
type responseParser struct {
	head int // bytes before the body, once they are known
	end  int
}

// parse takes all that has come so far, and returns the body once it is whole.
func (p *responseParser) parse(in []byte) (body []byte, whole bool, err error) {
	if p.head == 0 {
		i := bytes.Index(in, []byte("\r\n\r\n"))
		if i < 0 {
			return nil, false, nil
		}
		length, err := contentLength(in[:i])
		if err != nil {
			return nil, false, err
		}
		p.head, p.end = i+4, i+4+length
	}
	if len(in) < p.end {
		return nil, false, nil
	}
	if body = in[p.head:p.end]; len(in) < 12 || string(in[9:12]) != "200" {
		status, _, _ := bytes.Cut(in, []byte("\r\n"))
		return nil, false, fmt.Errorf("%s: %s", status, body)
	}
	return body, true, nil
}

// contentLength finds the length of the body in a response's head.
func contentLength(head []byte) (int, error) {
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		if len(name) != 14 || !bytes.EqualFold(name, []byte("content-length")) {
			continue
		}
		n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
		if err != nil || n < 0 || n > 1<<20 {
			return 0, fmt.Errorf("a response with Content-Length %q", value)
		}
		return n, nil
	}
	return 0, errors.New("a response without a Content-Length")
}

// do sends a request without a body. What it returns lasts until the next one.
func (w *wire) do(method, path string) ([]byte, error) {
	w.out = appendRequest(w.out[:0], method, path)
	if _, err := w.conn.Write(w.out); err != nil {
		return nil, err
	}
	var response responseParser
	w.in = w.in[:0]
	for {
		w.in = slices.Grow(w.in, 4096)
		n, err := w.conn.Read(w.in[len(w.in):cap(w.in)])
		if err != nil {
			return nil, err
		}
		w.in = w.in[:len(w.in)+n]
		body, whole, err := response.parse(w.in)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		if whole {
			return body, nil
		}
	}
}
