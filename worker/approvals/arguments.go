package approvals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// shownBytes is how much of the arguments a page shows at first, allBytes how much it shows to who asks for all: more
	// than the arguments of any call have, before they are indented.
	shownBytes = 16 << 10
	allBytes   = 1 << 20
	// maxIndent is the deepest level that is indented: a few brackets could otherwise fill a page with spaces.
	maxIndent = 32
	// maxBlanks is the longest run of spaces that is shown as such.
	maxBlanks = 16
)

// indented is JSON that is laid out for people, as far as there is room for it.
type indented struct {
	b     strings.Builder
	limit int
	cut   bool
}

// indent returns JSON over several lines, at most about limit bytes of it, and whether that is less than all. What is
// not JSON is returned as it is.
func indent(value []byte, limit int) (text string, cut bool) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	in := &indented{limit: limit}
	if err := in.value(d, 0); err != nil {
		in = &indented{limit: limit}
		in.write(string(value))
	} else if _, err := d.Token(); err != io.EOF && !in.cut {
		in = &indented{limit: limit}
		in.write(string(value))
	}
	return in.b.String(), in.cut
}

// write adds text, in which invisible characters are written out, as far as there is room.
func (in *indented) write(text string) {
	for _, r := range text {
		if in.b.Len() >= in.limit {
			in.cut = true
			return
		}
		in.b.WriteString(visible(r))
	}
}

// visible returns a character, or its escape if it cannot be seen or changes how others are: controls, marks that turn
// the direction of writing, blanks other than a space, and letters and marks that have no shape.
func visible(r rune) string {
	switch {
	case r == '\n', r == ' ', r < utf8.RuneSelf && r > ' ' && r != 0x7f:
		return string(r)
	case unicode.IsGraphic(r) && !unicode.IsSpace(r) && !shapeless(r):
		return string(r)
	case r > 0xffff:
		return fmt.Sprintf(`\u{%x}`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// shapeless reports the graphic characters that leave nothing to be seen: fillers, selectors of variants, the empty cell
// of Braille.
func shapeless(r rune) bool {
	const emptyBraille = '\u2800'
	return r == emptyBraille || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// value lays out the next value. Errors: what follows is not JSON.
func (in *indented) value(d *json.Decoder, depth int) error {
	if in.cut {
		return nil
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		in.scalar(token)
		return nil
	}
	in.write(delim.String())
	n := 0
	for ; d.More(); n++ {
		if n > 0 {
			in.write(",")
		}
		in.line(depth + 1)
		if delim == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			in.scalar(key)
			in.write(": ")
		}
		if err := in.value(d, depth+1); err != nil {
			return err
		}
		if in.cut {
			return nil
		}
	}
	end, err := d.Token()
	if err != nil {
		return err
	}
	if n > 0 {
		in.line(depth)
	}
	in.write(end.(json.Delim).String())
	return nil
}

// line begins a line at a level.
func (in *indented) line(depth int) {
	in.write("\n" + strings.Repeat("  ", min(depth, maxIndent)))
}

// scalar writes a string, a number, true, false or null.
func (in *indented) scalar(token json.Token) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(token); err != nil { // tokens always encode
		in.write("?")
		return
	}
	in.write(unblanked(strings.TrimSuffix(b.String(), "\n")))
}

// unblanked returns the JSON of a string with its long runs of spaces written out: they would look like its end, with
// the rest far below.
func unblanked(text string) string {
	run := strings.Repeat(" ", maxBlanks+1)
	if !strings.Contains(text, run) {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, run)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		text = strings.TrimLeft(after, " ")
		b.WriteString(strings.Repeat(`\u0020`, len(run)+len(after)-len(text)))
	}
}
