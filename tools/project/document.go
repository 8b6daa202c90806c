package project

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// The most that a configuration file may have.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 100
)

// kind is what a value of a document is.
type kind int

const (
	kindNull kind = iota
	kindString
	kindBool
	kindNumber
	kindObject
	kindArray
	kindDate
)

// String returns the kind with its article, as a message says it.
func (k kind) String() string {
	return [...]string{"null", "a string", "a boolean", "a number", "an object", "an array", "a date"}[k]
}

// value is a value of a document with its place.
type value struct {
	kind       kind
	start, end int     // offsets of its text
	text       string  // of a string or a date
	number     float64 // of a number
	truth      bool    // of a boolean
	members    []member
	items      []*value
}

// member is a key of an object and its value.
type member struct {
	name       string
	start, end int // offsets of the key's text
	value      *value
}

// get returns the member of an object, or nil. Like JSON.parse: the last one of a name counts.
func (v *value) get(name string) *value {
	if m := v.member(name); m != nil {
		return m.value
	}
	return nil
}

func (v *value) member(name string) *member {
	if v == nil {
		return nil
	}
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].name == name {
			return &v.members[i]
		}
	}
	return nil
}

// document is a file that was parsed.
type document struct {
	file string // as messages name it
	data []byte
	root *value
}

// parse reads a document of the format that its file's name says.
func parse(file string, data []byte) (*document, *Diagnostic) {
	d := &document{file: file, data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	if len(data) > maxFileBytes {
		return d, d.fault(0, 0, "the file has %d bytes, at most %d", len(data), maxFileBytes)
	}
	if at := invalidUTF8(d.data); at >= 0 {
		return d, d.fault(at, at+1, "the file is not UTF-8")
	}
	if at := tooDeep(d.data); at >= 0 {
		return d, d.fault(at, at+1, "values are nested more than %d deep", maxDepth)
	}
	read := parseJSON
	if filepath.Ext(file) == ".toml" {
		read = parseTOML
	}
	if err := read(d); err != nil {
		return d, err
	}
	if d.root.kind != kindObject {
		return d, d.fault(d.root.start, d.root.end, "a configuration is an object, not %s", d.root.kind)
	}
	return d, nil
}

func invalidUTF8(data []byte) int {
	for at := 0; at < len(data); {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

// tooDeep returns where brackets are nested too deep for the parsers, which recurse, or -1. It also counts those in
// strings and comments: no file has a hundred of them open.
func tooDeep(data []byte) int {
	depth := 0
	for at, c := range data {
		switch c {
		case '[', '{':
			if depth++; depth > maxDepth {
				return at
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return -1
}

// fault returns a Diagnostic of a range of the document.
func (d *document) fault(start, end int, format string, args ...any) *Diagnostic {
	g := d.at(start, end)
	g.Message = fmt.Sprintf(format, args...)
	return g
}

// at returns a Diagnostic without a message.
func (d *document) at(start, end int) *Diagnostic {
	start = min(max(start, 0), len(d.data))
	end = min(max(end, start), len(d.data))
	before := d.data[:start]
	lineStart := bytes.LastIndexByte(before, '\n') + 1
	line := d.data[lineStart:]
	if n := bytes.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	g := &Diagnostic{
		File:   d.file,
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: utf8.RuneCount(d.data[lineStart:start]) + 1,
		source: strings.TrimRight(string(line), "\r"),
	}
	g.length = utf8.RuneCount(d.data[start:min(end, lineStart+len(line))])
	return g
}

// atLine returns a Diagnostic of a line and a column that a parser gave, which count from 1, in bytes.
func (d *document) atLine(line, column int) *Diagnostic {
	offset := 0
	for n := 1; n < line; n++ {
		next := bytes.IndexByte(d.data[offset:], '\n')
		if next < 0 {
			break
		}
		offset += next + 1
	}
	return d.at(offset+column-1, offset+column)
}

var errShape = errors.New("the parser gave a value that it does not document")
