package console

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestSourceWritesWholeLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := NewOutput(&out, 6, false)
	a, b := o.Source("worker"), o.Source("auth")
	a.Write([]byte("one\ntw"))
	b.Write([]byte("three\r\n"))
	a.Write([]byte("o\n\nend"))
	a.Flush()
	a.Flush()
	const want = "worker | one\nauth   | three\nworker | two\nworker | \nworker | end\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if got := strings.Join(a.Tail(), "|"); got != "one|two||end" {
		t.Errorf("tail %q", got)
	}
}

func TestSourceBoundsLinesAndTail(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewOutput(&out, 1, false).Source("x")
	s.Write(bytes.Repeat([]byte("y"), 3*maxLineBytes/2))
	s.Write(bytes.Repeat([]byte("y"), maxLineBytes))
	s.Flush()
	for line := range strings.Lines(out.String()) {
		if len(line) > maxLineBytes+10 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if n := strings.Count(out.String(), "y"); n != 5*maxLineBytes/2 {
		t.Errorf("%d bytes came through", n)
	}
	for range 3 * tailLines {
		s.Write([]byte("z\n"))
	}
	if n := len(s.Tail()); n != tailLines {
		t.Errorf("a tail of %d lines", n)
	}
}

// broken is an output that is gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestSourceOutlivesItsOutput(t *testing.T) {
	t.Parallel()
	s := NewOutput(broken{}, 1, true).Source("x")
	if n, err := s.Write([]byte("a\nb\n")); n != 4 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, began := slog.New(NewHandler(&out, slog.LevelInfo)), time.Now()
	log.Debug("not shown")
	log.With("host", "h 1").WithGroup("g").Warn("lease lost", "epoch", 3)
	got := out.String()
	if strings.Contains(got, "not shown") {
		t.Errorf("a record below the level: %q", got)
	}
	if !strings.HasSuffix(got, yellow+"WARN"+reset+" lease lost host=\"h 1\" g.epoch=3\n") {
		t.Errorf("got %q", got)
	}
	if len(got) < 20 || !strings.Contains(got, began.Format("15:")) && !strings.Contains(got, time.Now().Format("15:")) {
		t.Errorf("no time of day in %q", got)
	}
}
