package console

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Limits of a Source.
const (
	maxLineBytes = 16 << 10
	tailLines    = 20
)

// Output is one stream that takes the lines of several sources.
type Output struct {
	color bool
	width int
	// mu serializes writes, guards sources.
	mu      sync.Mutex
	w       io.Writer
	sources int
}

// NewOutput returns an output whose prefixes are width wide, and colored if color is set.
func NewOutput(w io.Writer, width int, color bool) *Output {
	return &Output{w: w, width: width, color: color}
}

// Source is an io.Writer for one process: each line that is written to it appears on the output as a whole, with the
// process's name before it. A line of over 16 KiB is broken.
type Source struct {
	out    *Output
	prefix string
	// mu guards what follows.
	mu   sync.Mutex
	line []byte
	tail []string
}

// Source adds a source.
func (o *Output) Source(name string) *Source {
	o.mu.Lock()
	defer o.mu.Unlock()
	prefix := fmt.Sprintf("%-*s | ", o.width, name)
	if o.color {
		colors := []int{36, 35, 34, 33, 32, 96, 95}
		prefix = fmt.Sprintf("\x1b[%dm%-*s |%s ", colors[o.sources%len(colors)], o.width, name, reset)
	}
	o.sources++
	return &Source{out: o, prefix: prefix}
}

// Write takes any part of the source's text. It never fails: a process must not die of an output that is gone.
func (s *Source) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		part, rest, complete := bytes.Cut(p, []byte("\n"))
		if room := maxLineBytes - len(s.line); len(part) > room {
			part, rest, complete = p[:room], p[room:], true
		}
		s.line = append(s.line, part...)
		p = rest
		if complete {
			s.flushLocked()
		}
	}
	return n, nil
}

// Flush writes out a line that has no end yet, as when the process has ended in the middle of it.
func (s *Source) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.line) > 0 {
		s.flushLocked()
	}
}

// Tail returns the last lines that were written, 20 at most.
func (s *Source) Tail() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tail)
}

// flushLocked ends the line.
func (s *Source) flushLocked() {
	line := string(bytes.TrimSuffix(s.line, []byte("\r")))
	s.line = s.line[:0]
	if len(s.tail) == tailLines {
		s.tail = slices.Delete(s.tail, 0, 1)
	}
	s.tail = append(s.tail, line)
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	_, _ = io.WriteString(s.out.w, s.prefix+line+"\n")
}
