package build

import (
	"fmt"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Message is an error or a warning of a build.
type Message struct {
	// Text says what is wrong.
	Text string
	// File is relative to the project's directory, with slashes; empty when the message is of no place.
	File string
	// Line counts from 1, Column in bytes from 0; Line is 0 when the message is of no place.
	Line, Column int

	kind    api.MessageKind
	message api.Message
}

// plain returns an error that is of no place.
func plain(text string) Message {
	return Message{Text: text, kind: api.ErrorMessage, message: api.Message{Text: text}}
}

func messages(from []api.Message, kind api.MessageKind) []Message {
	var list []Message
	for _, m := range from {
		one := Message{Text: m.Text, kind: kind, message: m}
		if l := m.Location; l != nil {
			one.File, one.Line, one.Column = l.File, l.Line, l.Column
		}
		list = append(list, one)
	}
	return list
}

// String returns the message on one line: the place, if it has one, and the text.
func (m Message) String() string {
	if m.Line == 0 {
		return m.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column+1, m.Text)
}

// Format returns the message with the lines of source that it is of, for a terminal.
func (m Message) Format(color bool) string {
	return strings.Join(api.FormatMessages([]api.Message{m.message}, api.FormatMessagesOptions{Kind: m.kind,
		Color: color}), "")
}

// Error is a fault of the project.
type Error struct {
	// Messages are the faults, at least one.
	Messages []Message
	// Warnings are what was found beside them.
	Warnings []Message
	// Inputs are files that the failed build has read beside those of the build before, as far as they are known.
	Inputs []string
	// NoEntry is true when the script's main file is not there.
	NoEntry bool
}

// Error returns all messages, one a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Messages))
	for i, m := range e.Messages {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

// Format returns warnings and errors with the lines of source that they are of, for a terminal.
func (e *Error) Format(color bool) string {
	var b strings.Builder
	for _, list := range [][]Message{e.Warnings, e.Messages} {
		for _, m := range list {
			b.WriteString(m.Format(color))
		}
	}
	return b.String()
}
