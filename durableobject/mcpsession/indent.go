package mcpsession

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// valuePreview returns a JSON value as text, cut if it is too long: a string as it is, all else indented by two spaces.
func valuePreview(value []byte) string {
	var s string
	if bytes.HasPrefix(bytes.TrimSpace(value), []byte(`"`)) && json.Unmarshal(value, &s) == nil {
		return preview(s)
	}
	if !json.Valid(value) {
		return preview(string(value))
	}
	var in indented
	for _, c := range value {
		in.next(c)
	}
	if in.total <= maxPreview {
		return in.b.String()
	}
	return cutNote(in.b.String(), in.total)
}

// cutNote returns the beginning of a text and how long that is.
func cutNote(beginning string, total int) string {
	return fmt.Sprintf("%s\n… (cut after %d of %d characters)", beginning, maxPreview, total)
}

// indented is valid JSON that is laid out as json.Indent does. It keeps no more than a preview: deep nesting would make
// of a few bytes hundreds of megabytes of spaces.
type indented struct {
	b strings.Builder
	// total is how many characters there are, kept or not.
	total int
	depth int
	// opened is true behind a bracket, until it is known whether something is in it.
	opened bool
	// quoted is true within a string, escaped behind a backslash there.
	quoted, escaped bool
}

// next takes the next byte of the JSON.
func (in *indented) next(c byte) {
	if in.quoted {
		in.write(c)
		in.quoted, in.escaped = in.escaped || c != '"', !in.escaped && c == '\\'
		return
	}
	closes := c == '}' || c == ']'
	switch c {
	case ' ', '\t', '\r', '\n':
		return
	}
	if in.opened && !closes {
		in.depth++
		in.line()
	} else if closes && !in.opened {
		in.depth--
		in.line()
	}
	in.opened = c == '{' || c == '['
	in.quoted = c == '"'
	in.write(c)
	switch c {
	case ',':
		in.line()
	case ':':
		in.write(' ')
	}
}

// write adds a byte. Those that continue a character go where its first has gone.
func (in *indented) write(c byte) {
	if c&0xc0 != 0x80 {
		in.total++
	}
	if in.total <= maxPreview {
		in.b.WriteByte(c)
	}
}

// line begins a line.
func (in *indented) line() {
	in.write('\n')
	blanks := 2 * in.depth
	in.b.WriteString(strings.Repeat(" ", max(0, min(blanks, maxPreview-in.total))))
	in.total += blanks
}
