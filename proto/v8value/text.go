package v8value

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxTextDepth is how deep Text goes; below it stands "…".
	maxTextDepth = 8
	// maxHexBytes is how many bytes of a buffer Text shows.
	maxHexBytes = 64
)

// TypeName returns the JavaScript type of a value, or its class: "number", "object", "Array", "Map", "Uint8Array" and
// so on.
func TypeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case Undefined:
		return "undefined"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case *big.Int:
		return "bigint"
	case string, UTF16:
		return "string"
	case Date:
		return "Date"
	case *Object:
		return "object"
	case *Array:
		return "Array"
	case *Map:
		return "Map"
	case *Set:
		return "Set"
	case *RegExp:
		return "RegExp"
	case *Boxed:
		name := TypeName(v.Value)
		if name == "bigint" {
			return "BigInt"
		}
		return strings.ToUpper(name[:1]) + name[1:]
	case *ArrayBuffer:
		return "ArrayBuffer"
	case *View:
		return viewName(v.Kind)
	case *Error:
		return v.Name
	}
	return fmt.Sprintf("%T", v)
}

// Text returns a value as one line of text for people, in the notation of JavaScript, and whether it was cut off at
// limit bytes. It has no control characters, and ends at the limit without looking at the rest of the value. What
// occurs twice is shown twice; what contains itself is shown as [Circular].
func Text(v Value, limit int) (text string, cut bool) {
	p := &printer{limit: limit, open: map[any]bool{}}
	p.value(v, 0)
	text = p.b.String()
	if len(text) <= limit {
		return text, false
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], true
}

// printer writes a value until it has more than limit bytes.
type printer struct {
	b     strings.Builder
	limit int
	// open holds the objects around the present one.
	open map[any]bool
}

func (p *printer) full() bool { return p.b.Len() > p.limit }

func (p *printer) write(s string) { p.b.WriteString(s) }

func (p *printer) value(v Value, depth int) {
	switch v := v.(type) {
	case nil:
		p.write("null")
	case Undefined:
		p.write("undefined")
	case bool:
		p.write(strconv.FormatBool(v))
	case float64:
		p.write(number(v))
	case *big.Int:
		p.bigInt(v)
	case string:
		p.quote(v)
	case UTF16:
		p.quote(string(utf16.Decode(v)))
	case Date:
		p.write(date(v))
	case *RegExp:
		source, _ := v.Source.(string)
		p.write("/" + strings.Map(visible, p.shorten(source)) + "/" + flags(v.Flags))
	case *Boxed:
		p.write(TypeName(v) + "(")
		p.value(v.Value, depth)
		p.write(")")
	case *ArrayBuffer:
		p.bytes("ArrayBuffer", v.Bytes)
	case *View:
		p.bytes(viewName(v.Kind), v.Buffer.Bytes[v.Offset:v.Offset+v.Bytes])
	case *Error:
		p.error(v)
	default:
		p.nested(v, depth)
	}
}

// nested writes what contains other values.
func (p *printer) nested(v Value, depth int) {
	switch {
	case p.open[v]:
		p.write("[Circular]")
		return
	case depth >= maxTextDepth:
		p.write("…")
		return
	}
	p.open[v] = true
	defer delete(p.open, v)
	switch v := v.(type) {
	case *Object:
		p.write("{")
		p.properties(v.Properties, depth, false)
		p.write("}")
	case *Array:
		p.array(v, depth)
	case *Map:
		p.write(fmt.Sprintf("Map(%d) {", len(v.Entries)))
		for i, e := range v.Entries {
			if p.separate(i); p.full() {
				return
			}
			p.value(e.Key, depth+1)
			p.write(" => ")
			p.value(e.Value, depth+1)
		}
		p.write("}")
	case *Set:
		p.write(fmt.Sprintf("Set(%d) {", len(v.Items)))
		p.items(v.Items, depth)
		p.write("}")
	}
}

func (p *printer) array(a *Array, depth int) {
	p.write("[")
	p.items(a.Items, depth)
	p.properties(a.Properties, depth, len(a.Items) > 0)
	if uint64(len(a.Items)) < uint64(a.Length) {
		p.write(fmt.Sprintf("; length %d", a.Length))
	}
	p.write("]")
}

func (p *printer) items(items []Value, depth int) {
	for i, v := range items {
		if p.separate(i); p.full() {
			return
		}
		if _, hole := v.(Hole); !hole {
			p.value(v, depth+1)
		}
	}
}

func (p *printer) properties(list []Property, depth int, more bool) {
	for i, e := range list {
		if more || i > 0 {
			p.write(", ")
		}
		if p.full() {
			return
		}
		if name, ok := e.Key.(string); ok && identifier(name) {
			p.write(name)
		} else {
			p.value(e.Key, depth)
		}
		p.write(": ")
		p.value(e.Value, depth+1)
	}
}

func (p *printer) separate(i int) {
	if i > 0 {
		p.write(", ")
	}
}

// shorten cuts what is too long to be shown in any case.
func (p *printer) shorten(s string) string {
	if room := p.limit - p.b.Len() + utf8.UTFMax; len(s) > room && room >= 0 {
		return s[:room]
	}
	return s
}

// quote writes a string in double quotes, with what can't be seen escaped.
func (p *printer) quote(s string) {
	p.write(strconv.Quote(p.shorten(s)))
}

func (p *printer) bigInt(n *big.Int) {
	if n.BitLen() > 4096 { // whose decimal digits would take long to find
		p.write(fmt.Sprintf("(bigint of %d bits)", n.BitLen()))
		return
	}
	p.write(n.String() + "n")
}

func (p *printer) bytes(class string, b []byte) {
	p.write(fmt.Sprintf("%s(%d bytes) <", class, len(b)))
	p.write(hex.EncodeToString(b[:min(len(b), maxHexBytes)]))
	if len(b) > maxHexBytes {
		p.write("…")
	}
	p.write(">")
}

func (p *printer) error(e *Error) {
	p.write(strings.Map(visible, e.Name))
	if message, ok := e.Message.(string); ok {
		p.write(": " + strings.Map(visible, p.shorten(message)))
	}
}

// visible replaces what is no printable character.
func visible(r rune) rune {
	if !strconv.IsPrint(r) {
		return utf8.RuneError
	}
	return r
}

func number(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0 && math.Signbit(f):
		return "-0"
	case math.Abs(f) < 1e21 && (f == 0 || math.Abs(f) >= 1e-6):
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func date(d Date) string {
	f := float64(d)
	if math.IsNaN(f) || math.Abs(f) > 8.64e15 {
		return "Date(invalid)"
	}
	return "Date(" + time.UnixMilli(int64(f)).UTC().Format("2006-01-02T15:04:05.000Z") + ")"
}

// flags returns the letters of V8's flag bits, in the order of RegExp.prototype.flags.
func flags(bits uint32) string {
	var s []byte
	for _, f := range []struct {
		bit    uint
		letter byte
	}{{7, 'd'}, {0, 'g'}, {1, 'i'}, {2, 'm'}, {5, 's'}, {4, 'u'}, {8, 'v'}, {3, 'y'}} {
		if bits>>f.bit&1 != 0 {
			s = append(s, f.letter)
		}
	}
	return string(s)
}

func identifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r == '$' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func viewName(kind byte) string {
	switch kind {
	case ViewInt8:
		return "Int8Array"
	case ViewUint8:
		return "Uint8Array"
	case ViewUint8Clamped:
		return "Uint8ClampedArray"
	case ViewInt16:
		return "Int16Array"
	case ViewUint16:
		return "Uint16Array"
	case ViewInt32:
		return "Int32Array"
	case ViewUint32:
		return "Uint32Array"
	case ViewFloat16:
		return "Float16Array"
	case ViewFloat32:
		return "Float32Array"
	case ViewFloat64:
		return "Float64Array"
	case ViewBigInt64:
		return "BigInt64Array"
	case ViewBigUint64:
		return "BigUint64Array"
	case ViewData:
		return "DataView"
	}
	return "view"
}
