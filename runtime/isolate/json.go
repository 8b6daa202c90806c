package isolate

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// maxJSONDepth bounds nesting, which recursion follows.
const maxJSONDepth = 10_000

// ParseJSON is JSON.parse without a reviver. It throws a SyntaxError with V8's message.
func (i *Isolate) ParseJSON(text string) goja.Value {
	p := jsonParser{isolate: i, text: text}
	p.space()
	v := p.value()
	p.space()
	if p.at < len(text) {
		p.fail("Unexpected non-whitespace character after JSON")
	}
	return v
}

// jsonParser reads one text. Its methods throw.
type jsonParser struct {
	isolate *Isolate
	text    string
	at      int
	depth   int
	// items are those of the arrays that are not complete.
	items []any
}

func (p *jsonParser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek returns the byte that is next, or 0 at the end.
func (p *jsonParser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *jsonParser) value() goja.Value {
	switch c := p.peek(); {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		return p.string()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == 't':
		return p.word("true", true)
	case c == 'f':
		return p.word("false", false)
	case c == 'n':
		p.word("null", nil)
		return goja.Null()
	}
	p.unexpected()
	return nil
}

func (p *jsonParser) word(word string, v any) goja.Value {
	for n := range len(word) {
		if p.at >= len(p.text) || p.text[p.at] != word[n] {
			p.unexpected()
		}
		p.at++
	}
	if v == nil {
		return goja.Null()
	}
	return p.isolate.rt.ToValue(v)
}

func (p *jsonParser) enter() {
	if p.depth++; p.depth > maxJSONDepth {
		p.isolate.Throw("RangeError", "Maximum call stack size exceeded")
	}
	p.at++
	p.space()
}

func (p *jsonParser) object() goja.Value {
	p.enter()
	o := p.isolate.rt.NewObject()
	if p.peek() == '}' {
		p.at++
		p.depth--
		return o
	}
	expected := "Expected property name or '}' in JSON"
	for {
		if p.peek() != '"' {
			p.fail(expected)
		}
		key := p.key()
		p.space()
		if p.peek() != ':' {
			p.fail("Expected ':' after property name in JSON")
		}
		p.at++
		p.space()
		v := p.value()
		p.space()
		p.set(o, key, v)
		switch p.peek() {
		case ',':
			p.at++
			p.space()
			expected = "Expected double-quoted property name in JSON"
		case '}':
			p.at++
			p.depth--
			return o
		default:
			p.fail("Expected ',' or '}' after property value in JSON")
		}
	}
}

func (p *jsonParser) set(o *goja.Object, key string, v goja.Value) {
	if key == "__proto__" {
		_ = o.DefineDataProperty(key, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		return
	}
	_ = o.Set(key, v)
}

func (p *jsonParser) array() goja.Value {
	p.enter()
	if p.peek() == ']' {
		p.at++
		p.depth--
		return p.isolate.rt.NewArray()
	}
	base := len(p.items)
	for {
		v := p.value()
		p.items = append(p.items, v)
		p.space()
		switch p.peek() {
		case ',':
			p.at++
			p.space()
		case ']':
			p.at++
			p.depth--
			o := p.isolate.rt.NewArray(p.items[base:]...)
			p.items = p.items[:base]
			return o
		default:
			p.fail("Expected ',' or ']' after array element in JSON")
		}
	}
}

// plain reads a string without escapes; it reports false, having read nothing, when there is one.
func (p *jsonParser) plain() (string, bool) {
	for n := p.at + 1; n < len(p.text); n++ {
		switch c := p.text[n]; {
		case c == '"':
			s := p.text[p.at+1 : n]
			p.at = n + 1
			return s, true
		case c == '\\' || c < ' ':
			return "", false
		}
	}
	return "", false
}

func (p *jsonParser) key() string {
	if s, ok := p.plain(); ok {
		return s
	}
	return string(utf16.Decode(p.escaped()))
}

func (p *jsonParser) string() goja.Value {
	if s, ok := p.plain(); ok {
		return p.isolate.rt.ToValue(s)
	}
	return goja.StringFromUTF16(p.escaped())
}

// escaped reads a string with escapes, which may have halves of characters.
func (p *jsonParser) escaped() []uint16 {
	p.at++
	var out []uint16
	for {
		if p.at >= len(p.text) {
			p.fail("Unterminated string in JSON")
		}
		c := p.text[p.at]
		switch {
		case c == '"':
			p.at++
			return out
		case c == '\\':
			p.at++
			out = append(out, p.escape())
		case c < ' ':
			p.fail("Bad control character in string literal in JSON")
		case c < utf8.RuneSelf:
			out = append(out, uint16(c))
			p.at++
		default:
			r, size := utf8.DecodeRuneInString(p.text[p.at:])
			out = utf16.AppendRune(out, r)
			p.at += size
		}
	}
}

func (p *jsonParser) escape() uint16 {
	if p.at >= len(p.text) {
		p.end()
	}
	c := p.text[p.at]
	if at := strings.IndexByte(`"\/bfnrt`, c); at >= 0 {
		p.at++
		return uint16("\"\\/\b\f\n\r\t"[at])
	}
	if c != 'u' {
		p.fail("Bad escaped character in JSON")
	}
	p.at++
	var unit uint16
	for range 4 {
		d := hexDigit(p.peek())
		if d < 0 {
			p.fail("Bad Unicode escape in JSON")
		}
		unit = unit<<4 | uint16(d)
		p.at++
	}
	return unit
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (p *jsonParser) digits() int {
	from := p.at
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at - from
}

func (p *jsonParser) number() goja.Value {
	from := p.at
	if p.peek() == '-' {
		p.at++
	}
	whole := true
	if p.peek() == '0' {
		p.at++
		if c := p.peek(); '0' <= c && c <= '9' {
			p.fail("Unexpected number in JSON")
		}
	} else if p.digits() == 0 {
		p.fail("No number after minus sign in JSON")
	}
	if p.peek() == '.' {
		p.at++
		whole = false
		if p.digits() == 0 {
			p.fail("Unterminated fractional number in JSON")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		whole = false
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if p.digits() == 0 {
			p.fail("Exponent part is missing a number in JSON")
		}
	}
	text := p.text[from:p.at]
	if whole && len(text) < 16 && text != "-0" {
		n, _ := strconv.ParseInt(text, 10, 64)
		return p.isolate.rt.ToValue(n)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		p.unexpected()
	}
	return p.isolate.rt.ToValue(f)
}

// units counts as the language does.
func (p *jsonParser) units(text string) int {
	n := 0
	for _, r := range text {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// fail throws with the place.
func (p *jsonParser) fail(message string) {
	before := p.text[:p.at]
	line := strings.Count(before, "\n") + 1
	column := p.units(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	p.isolate.Throw("SyntaxError", "%s at position %d (line %d column %d)", message, p.units(before), line, column)
}

func (p *jsonParser) end() { p.isolate.Throw("SyntaxError", "Unexpected end of JSON input") }

// jsonContext is how much V8 shows around a place.
const jsonContext = 10

// unexpected throws for the character that is next.
func (p *jsonParser) unexpected() {
	if p.at >= len(p.text) {
		p.end()
	}
	if p.text == "undefined" || p.text == "NaN" || p.text == "Infinity" || p.text == "[object Object]" {
		p.isolate.Throw("SyntaxError", "%q is not valid JSON", p.text)
	}
	token, size := utf8.DecodeRuneInString(p.text[p.at:])
	before := []rune(p.text[:p.at])
	after := []rune(p.text[p.at+size:])
	head, tail := "", ""
	if len(before)+1+len(after) > 4*jsonContext {
		if len(before) > jsonContext {
			head, before = "...", before[len(before)-jsonContext:]
		}
		if len(after) > jsonContext-1 {
			tail, after = "...", after[:jsonContext-1]
		}
	}
	shown := string(before) + string(token) + string(after)
	p.isolate.Throw("SyntaxError", "Unexpected token '%c', %s\"%s\"%s is not valid JSON", token, head, shown, tail)
}

// installJSON replaces the engine's JSON.parse, which is slow and words errors as Go does.
func (i *Isolate) installJSON() error {
	json := i.rt.Get("JSON").(*goja.Object)
	engineParse, _ := goja.AssertFunction(json.Get("parse"))
	parse := i.Function("parse", 2, func(c goja.FunctionCall) goja.Value {
		if _, ok := c.Argument(0).(*goja.Symbol); ok {
			i.Throw("TypeError", "Cannot convert a Symbol value to a string")
		}
		text := c.Argument(0).String()
		v := i.ParseJSON(text)
		if _, ok := goja.AssertFunction(c.Argument(1)); !ok {
			return v
		}
		v, err := engineParse(json, i.rt.ToValue(text), c.Argument(1))
		if err != nil {
			panic(err)
		}
		return v
	})
	return json.DefineDataProperty("parse", parse, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
