package console

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
)

// ANSI sequences.
const (
	reset  = "\x1b[0m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
)

// Handler writes records for people at a terminal: time of day, level in color, message, attributes.
type Handler struct {
	// attrs formats the attributes into shared.buf.
	attrs  slog.Handler
	shared *shared
}

// shared is what a handler has in common with those derived from it.
type shared struct {
	out io.Writer
	// mu guards buf and serializes writes.
	mu  sync.Mutex
	buf bytes.Buffer
}

// NewHandler returns a handler that writes records of level and above, each with one call of Write.
func NewHandler(out io.Writer, level slog.Leveler) *Handler {
	s := &shared{out: out}
	return &Handler{shared: s, attrs: slog.NewTextHandler(&s.buf, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return a
		},
	})}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.attrs.Enabled(ctx, l) }

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{attrs: h.attrs.WithAttrs(attrs), shared: h.shared}
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{attrs: h.attrs.WithGroup(name), shared: h.shared}
}

// Handle implements slog.Handler.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	s := h.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.Reset()
	s.buf.WriteString(dim)
	s.buf.WriteString(r.Time.Format("15:04:05.000 "))
	s.buf.WriteString(reset + levelColor(r.Level))
	s.buf.WriteString(r.Level.String()[:min(4, len(r.Level.String()))])
	s.buf.WriteString(reset + " ")
	s.buf.WriteString(r.Message)
	s.buf.WriteByte(' ')
	if err := h.attrs.Handle(ctx, r); err != nil {
		return err
	}
	_, err := s.out.Write(s.buf.Bytes())
	return err
}

// levelColor returns the sequence that begins a level's name.
func levelColor(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return red
	case l >= slog.LevelWarn:
		return yellow
	case l >= slog.LevelInfo:
		return green
	}
	return dim
}
