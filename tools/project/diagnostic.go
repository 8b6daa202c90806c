package project

import (
	"fmt"
	"strings"
)

// Severity says how bad a Diagnostic is.
type Severity int

// The severities. Only an error keeps a project from running.
const (
	SeverityError Severity = iota
	SeverityWarning
	// SeverityNote is of a key that changes nothing here.
	SeverityNote
)

// String returns error, warning or note.
func (s Severity) String() string { return [...]string{"error", "warning", "note"}[s] }

// Diagnostic is something to say of a place in a project's files.
type Diagnostic struct {
	Severity Severity
	// File is the path as the caller named the directory; Line and Column count from 1, in characters. Line is 0 when
	// it is of the whole file.
	File         string
	Line, Column int
	// Key is the path of the key that it is of, such as kv_namespaces[].id, or empty.
	Key string
	// Message says what is wrong, as a sentence without a stop.
	Message string

	source string // the line
	length int    // in characters
}

// String returns place, severity and message on one line.
func (g Diagnostic) String() string {
	place := g.File
	if g.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", g.File, g.Line, g.Column)
	}
	return fmt.Sprintf("%s: %s: %s", place, g.Severity, g.Message)
}

// maxFrame is how many characters of a line a frame shows.
const maxFrame = 120

// Format returns String and, below, the line with the place marked, for a terminal. A note has no line.
func (g Diagnostic) Format(color bool) string {
	red, bold, reset := "", "", ""
	if color {
		bold, reset, red = "\x1b[1m", "\x1b[0m", [...]string{"\x1b[31m", "\x1b[33m", "\x1b[34m"}[g.Severity]
	}
	place := g.File
	if g.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", g.File, g.Line, g.Column)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s:%s %s%s:%s %s\n", bold, place, reset, red, g.Severity, reset, g.Message)
	if g.Line == 0 || g.source == "" || g.Severity == SeverityNote {
		return b.String()
	}
	// A tab is as wide as one space here, so that the mark stands right.
	runes := []rune(strings.ReplaceAll(g.source, "\t", " "))
	from := 0
	if g.Column > maxFrame-20 {
		from = g.Column - maxFrame/2
	}
	shown := runes[min(from, len(runes)):min(from+maxFrame, len(runes))]
	mark := strings.Repeat(" ", max(0, g.Column-1-from)) + "^" + strings.Repeat("~", max(0, min(g.length, maxFrame)-1))
	fmt.Fprintf(&b, "%5d │ %s\n      │ %s%s%s\n", g.Line, string(shown), red, mark, reset)
	return b.String()
}

// Error is that a project can't run.
type Error struct {
	// Diagnostics are its errors, at least one, by their places.
	Diagnostics []Diagnostic
}

// Error returns all of them, one a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Diagnostics))
	for i, g := range e.Diagnostics {
		lines[i] = g.String()
	}
	return strings.Join(lines, "\n")
}

// Format returns all of them with their lines of source, for a terminal.
func (e *Error) Format(color bool) string {
	var b strings.Builder
	for _, g := range e.Diagnostics {
		b.WriteString(g.Format(color))
	}
	return b.String()
}
