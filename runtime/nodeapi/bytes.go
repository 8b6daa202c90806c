package nodeapi

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/webapi"
)

var (
	bytesType       = reflect.TypeFor[[]byte]()
	arrayBufferType = reflect.TypeFor[goja.ArrayBuffer]()
)

// bytes returns what an ArrayBuffer or a view of one holds. It is the script's own: whoever keeps it copies.
func (n *node) bytes(v goja.Value) ([]byte, bool) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false
	}
	switch o.ExportType() {
	case bytesType:
		b, ok := o.Export().([]byte)
		return b, ok
	case arrayBufferType:
		return o.Export().(goja.ArrayBuffer).Bytes(), true
	}
	inner, ok := o.Get("buffer").(*goja.Object)
	if !ok || inner.ExportType() != arrayBufferType {
		return nil, false
	}
	all := inner.Export().(goja.ArrayBuffer).Bytes()
	offset, length := int(o.Get("byteOffset").ToInteger()), int(o.Get("byteLength").ToInteger())
	if offset < 0 || length < 0 || offset+length > len(all) {
		return nil, false
	}
	return all[offset : offset+length], true
}

// mustBytes is bytes for a value that the prelude has checked.
func (n *node) mustBytes(v goja.Value) []byte {
	b, ok := n.bytes(v)
	if !ok {
		n.throwCode("TypeError", "ERR_INVALID_ARG_TYPE", "the argument must be a buffer or a view of one")
	}
	return b
}

// buffer returns a new ArrayBuffer over b, which it keeps.
func (n *node) buffer(b []byte) goja.Value { return n.rt.ToValue(n.rt.NewArrayBuffer(b)) }

// encodingName is Node's name of an encoding, or empty.
func encodingName(name string) string {
	switch strings.ToLower(name) {
	case "", "utf8", "utf-8":
		return "utf8"
	case "ucs2", "ucs-2", "utf16le", "utf-16le":
		return "utf16le"
	case "latin1", "binary":
		return "latin1"
	case "base64":
		return "base64"
	case "base64url":
		return "base64url"
	case "hex":
		return "hex"
	case "ascii":
		return "ascii"
	}
	return ""
}

// toBytes encodes a string.
func toBytes(v goja.Value, encoding string) []byte {
	s := v.ToString().(goja.String)
	switch encoding {
	case "utf16le":
		b := make([]byte, 2*s.Length())
		for n := range s.Length() {
			u := s.CharAt(n)
			b[2*n], b[2*n+1] = byte(u), byte(u>>8)
		}
		return b
	case "latin1", "ascii":
		b := make([]byte, s.Length())
		for n := range b {
			b[n] = byte(s.CharAt(n))
		}
		return b
	case "base64", "base64url":
		return lenientBase64(s.String())
	case "hex":
		text := s.String()
		b := make([]byte, len(text)/2)
		done, _ := hex.Decode(b, []byte(text[:len(text)/2*2]))
		return b[:done]
	}
	return []byte(s.String())
}

// lenientBase64 decodes both alphabets and passes over what is in neither, as Node does.
func lenientBase64(text string) []byte {
	clean := make([]byte, 0, len(text))
	for n := range len(text) {
		switch c := text[n]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/':
			clean = append(clean, c)
		case c == '-':
			clean = append(clean, '+')
		case c == '_':
			clean = append(clean, '/')
		case c == '=':
			return decodeRaw(clean)
		}
	}
	return decodeRaw(clean)
}

func decodeRaw(clean []byte) []byte {
	if len(clean)%4 == 1 {
		clean = clean[:len(clean)-1]
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
	n, _ := base64.RawStdEncoding.Decode(out, clean)
	return out[:n]
}

// toText decodes bytes.
func (n *node) toText(b []byte, encoding string) goja.Value {
	switch encoding {
	case "utf16le":
		units := make([]uint16, len(b)/2)
		for k := range units {
			units[k] = uint16(b[2*k]) | uint16(b[2*k+1])<<8
		}
		return goja.StringFromUTF16(units)
	case "latin1":
		units := make([]uint16, len(b))
		for k, c := range b {
			units[k] = uint16(c)
		}
		return goja.StringFromUTF16(units)
	case "ascii":
		plain := make([]byte, len(b))
		for k, c := range b {
			plain[k] = c & 0x7f
		}
		return n.rt.ToValue(string(plain))
	case "base64":
		return n.rt.ToValue(base64.StdEncoding.EncodeToString(b))
	case "base64url":
		return n.rt.ToValue(base64.RawURLEncoding.EncodeToString(b))
	case "hex":
		return n.rt.ToValue(hex.EncodeToString(b))
	}
	return n.rt.ToValue(webapi.DecodeUTF8(b))
}

// bufferFunctions are what the module buffer is built on.
func (n *node) bufferFunctions() map[string]func(goja.FunctionCall) goja.Value {
	return map[string]func(goja.FunctionCall) goja.Value{
		"encodingName": func(c goja.FunctionCall) goja.Value {
			if name := encodingName(c.Argument(0).String()); name != "" {
				return n.rt.ToValue(name)
			}
			return goja.Undefined()
		},
		"encode": func(c goja.FunctionCall) goja.Value { return n.buffer(toBytes(c.Argument(0), c.Argument(1).String())) },
		"byteLength": func(c goja.FunctionCall) goja.Value {
			return n.rt.ToValue(byteLength(c.Argument(0), c.Argument(1).String()))
		},
		"decode": func(c goja.FunctionCall) goja.Value {
			b := n.mustBytes(c.Argument(0))
			start, end := int(c.Argument(2).ToInteger()), int(c.Argument(3).ToInteger())
			end = min(end, len(b))
			if start >= end {
				return n.rt.ToValue("")
			}
			return n.toText(b[start:end], c.Argument(1).String())
		},
		"write": n.writeText,
		"compare": func(c goja.FunctionCall) goja.Value {
			return n.rt.ToValue(bytes.Compare(n.mustBytes(c.Argument(0)), n.mustBytes(c.Argument(1))))
		},
		"copy": func(c goja.FunctionCall) goja.Value {
			return n.rt.ToValue(copy(n.mustBytes(c.Argument(0)), n.mustBytes(c.Argument(1))))
		},
		"fill":           n.fill,
		"indexOf":        n.indexOf,
		"isUtf8":         func(c goja.FunctionCall) goja.Value { return n.rt.ToValue(utf8.Valid(n.mustBytes(c.Argument(0)))) },
		"swap":           n.swap,
		"incomplete":     n.incomplete,
		"installNumbers": n.installNumbers,
	}
}

func byteLength(v goja.Value, encoding string) int {
	s := v.ToString().(goja.String)
	switch encoding {
	case "utf16le":
		return 2 * s.Length()
	case "latin1", "ascii":
		return s.Length()
	case "hex":
		return s.Length() / 2
	case "base64", "base64url":
		text := strings.TrimRight(s.String(), "=")
		return len(text) * 3 / 4
	}
	return len(s.String())
}

// writeText writes what fits of a text, no part of a character: (buffer, text, offset, length, encoding).
func (n *node) writeText(c goja.FunctionCall) goja.Value {
	target := n.mustBytes(c.Argument(0))
	offset := min(int(c.Argument(2).ToInteger()), len(target))
	length := min(int(c.Argument(3).ToInteger()), len(target)-offset)
	encoding := c.Argument(4).String()
	b := toBytes(c.Argument(1), encoding)
	if len(b) > length {
		switch encoding {
		case "utf8":
			for length > 0 && !utf8.RuneStart(b[length]) {
				length--
			}
		case "utf16le":
			length &^= 1
		}
		b = b[:max(length, 0)]
	}
	return n.rt.ToValue(copy(target[offset:], b))
}

// fill repeats bytes in a part of a buffer: (buffer, bytes, start, end).
func (n *node) fill(c goja.FunctionCall) goja.Value {
	b, value := n.mustBytes(c.Argument(0)), n.mustBytes(c.Argument(1))
	part := b[min(int(c.Argument(2).ToInteger()), len(b)):min(int(c.Argument(3).ToInteger()), len(b))]
	if len(value) == 0 {
		clear(part)
		return goja.Undefined()
	}
	for done := copy(part, value); done > 0 && done < len(part); done *= 2 {
		copy(part[done:], part[:done])
	}
	return goja.Undefined()
}

// indexOf finds bytes: (buffer, bytes, from, forward, step).
func (n *node) indexOf(c goja.FunctionCall) goja.Value {
	b, value := n.mustBytes(c.Argument(0)), n.mustBytes(c.Argument(1))
	from, step := int(c.Argument(2).ToInteger()), max(int(c.Argument(4).ToInteger()), 1)
	if c.Argument(3).ToBoolean() {
		for from <= len(b) {
			at := bytes.Index(b[from:], value)
			if at < 0 || at%step == 0 {
				return n.rt.ToValue(position(at, from))
			}
			from += at + 1
			from += from % step
		}
		return n.rt.ToValue(-1)
	}
	return n.rt.ToValue(bytes.LastIndex(b[:min(from+len(value), len(b))], value))
}

func position(at, from int) int {
	if at < 0 {
		return -1
	}
	return at + from
}

// swap turns the bytes of each group of a size round.
func (n *node) swap(c goja.FunctionCall) goja.Value {
	b, size := n.mustBytes(c.Argument(0)), int(c.Argument(1).ToInteger())
	for ; len(b) >= size; b = b[size:] {
		for k := range size / 2 {
			b[k], b[size-1-k] = b[size-1-k], b[k]
		}
	}
	return goja.Undefined()
}

// incomplete is how many bytes at the end begin a character that is not complete: (buffer, encoding).
func (n *node) incomplete(c goja.FunctionCall) goja.Value {
	b := n.mustBytes(c.Argument(0))
	tail := 0
	switch c.Argument(1).String() {
	case "utf8":
		tail = webapi.IncompleteUTF8(b)
	case "utf16le":
		tail = len(b) % 2
		if whole := len(b) - tail; whole >= 2 && b[whole-1]&0xfc == 0xd8 {
			tail += 2
		}
	case "base64", "base64url":
		tail = len(b) % 3
	}
	return n.rt.ToValue(tail)
}
