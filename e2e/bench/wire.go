package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// wireTimeout bounds what one connection is used for.
const wireTimeout = 10 * time.Minute

// wire is a persistent HTTP/1.1 connection that costs the load program little: one write and one read a request. It
// belongs to one goroutine.
type wire struct {
	conn net.Conn
	r    *bufio.Reader
	out  []byte
	body []byte
}

func dialWire(address string) (*wire, error) {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(wireTimeout)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &wire{conn: conn, r: bufio.NewReaderSize(conn, 4096)}, nil
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

// do sends a request without a body. What it returns lasts until the next one. Any status but 200 is an error.
func (w *wire) do(method, path string) ([]byte, error) {
	w.out = append(append(append(append(w.out[:0], method...), ' '), path...), " HTTP/1.1\r\nHost: bench\r\n"...)
	if method != "GET" {
		w.out = append(w.out, "Content-Length: 0\r\n"...)
	}
	w.out = append(w.out, '\r', '\n')
	if _, err := w.conn.Write(w.out); err != nil {
		return nil, err
	}
	line, err := w.r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	ok := len(line) > 12 && string(line[9:12]) == "200"
	status := ""
	if !ok {
		status = string(bytes.TrimSpace(line))
	}
	if err := w.readBody(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, status, w.body)
	}
	return w.body, nil
}

// readBody reads the header fields and the body.
func (w *wire) readBody() error {
	length := -1
	for {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); len(name) == 14 && bytes.EqualFold(name, []byte("content-length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if length < 0 || length > 1<<20 {
		return errors.New("a response without a Content-Length")
	}
	if cap(w.body) < length {
		w.body = make([]byte, length)
	}
	w.body = w.body[:length]
	_, err := io.ReadFull(w.r, w.body)
	return err
}
