package program

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/dop251/goja"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

// maxJSONDepth bounds nesting. Common parsers of JSON refuse more than a thousand or ten thousand levels.
const maxJSONDepth = 1000

// stringify returns v as JSON.stringify would write it, or nil for what has no JSON (undefined, functions,
// symbols). Unlike JSON.stringify it is bounded in size and depth. It fails with *limitReached when the JSON
// is longer than maxBytes, and otherwise with the reason why v is not serializable.
func (i *isolate) stringify(v goja.Value, maxBytes uint64) ([]byte, error) {
	s := &serializer{isolate: i, max: maxBytes}
	var err error
	if thrown := i.rt.Try(func() { _, err = s.value("", v) }); thrown != nil {
		return nil, errors.New(i.describe(thrown.Value()))
	}
	if err != nil {
		return nil, err
	}
	return s.out, nil
}

// serializer writes one value.
type serializer struct {
	isolate *isolate
	out     []byte
	max     uint64
	// path are the objects around the one that is written.
	path []*goja.Object
}

var errTooLarge = &limitReached{outcome: sandboxpb.Outcome_OUTCOME_EXCEEDED_OUTPUT, message: "value is too large"}

// value writes v, which is the property key of what is around it, and reports whether it has JSON. Property access may run the
// program's code and panics with what that throws.
func (s *serializer) value(key string, v goja.Value) (bool, error) {
	if o, ok := v.(*goja.Object); ok {
		v = s.prepare(key, o)
	}
	if uint64(len(s.out)) > s.max {
		return false, errTooLarge
	}
	switch v := v.(type) {
	case nil:
		return false, nil
	case *goja.Object:
		if _, callable := goja.AssertFunction(v); callable {
			return false, nil
		}
		return true, s.object(v)
	case goja.String:
		if uint64(v.Length()) > s.max {
			return false, errTooLarge
		}
		s.out = appendJSONString(s.out, v.String())
		return true, nil
	case *goja.Symbol:
		return false, nil
	}
	switch {
	case goja.IsUndefined(v):
		return false, nil
	case goja.IsNull(v):
		s.out = append(s.out, "null"...)
	case goja.IsBigInt(v):
		return false, errors.New("a BigInt has no JSON" + at(s.path, key) + ", convert it with String() or Number()")
	case goja.IsNumber(v):
		if f := v.ToFloat(); math.IsNaN(f) || math.IsInf(f, 0) {
			s.out = append(s.out, "null"...)
		} else {
			s.out = append(s.out, v.String()...)
		}
	default:
		s.out = strconv.AppendBool(s.out, v.ToBoolean())
	}
	return true, nil
}

func at(path []*goja.Object, key string) string {
	if len(path) == 0 {
		return ""
	}
	return fmt.Sprintf(" (at property %q)", bounded(key, 100))
}

// prepare calls toJSON and unwraps the objects of primitives.
func (s *serializer) prepare(key string, o *goja.Object) goja.Value {
	v := goja.Value(o)
	if f, ok := goja.AssertFunction(o.Get("toJSON")); ok {
		r, err := f(o, s.isolate.rt.ToValue(key))
		if err != nil {
			panic(err)
		}
		v = r
	}
	if o, ok := v.(*goja.Object); ok {
		switch o.ClassName() {
		case "Number":
			return o.ToNumber()
		case "String":
			return o.ToString()
		case "Boolean", "BigInt":
			return s.isolate.rt.ToValue(o.Export())
		}
	}
	return v
}

func (s *serializer) object(o *goja.Object) error {
	for _, outer := range s.path {
		if outer == o {
			return errors.New("it is cyclic")
		}
	}
	if len(s.path) >= maxJSONDepth {
		return fmt.Errorf("it is nested more than %d levels deep", maxJSONDepth)
	}
	s.path = append(s.path, o)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	if isArray(o) {
		return s.array(o)
	}
	s.out = append(s.out, '{')
	first := true
	for _, key := range o.Keys() {
		before := len(s.out)
		if !first {
			s.out = append(s.out, ',')
		}
		s.out = append(appendJSONString(s.out, key), ':')
		written, err := s.value(key, o.Get(key))
		if err != nil {
			return err
		}
		if written {
			first = false
		} else {
			s.out = s.out[:before]
		}
	}
	s.out = append(s.out, '}')
	return nil
}

// isArray is Array.isArray: it sees through proxies.
func isArray(o *goja.Object) bool {
	for o != nil && o.ExportType() == reflect.TypeFor[goja.Proxy]() {
		o = o.Export().(goja.Proxy).Target()
	}
	return o != nil && o.ClassName() == "Array"
}

func (s *serializer) array(o *goja.Object) error {
	s.out = append(s.out, '[')
	for n, length := int64(0), o.Get("length").ToInteger(); n < length; n++ {
		if n > 0 {
			s.out = append(s.out, ',')
		}
		key := strconv.FormatInt(n, 10)
		written, err := s.value(key, o.Get(key))
		if err != nil {
			return err
		}
		if !written {
			s.out = append(s.out, "null"...)
		}
	}
	s.out = append(s.out, ']')
	return nil
}

const hexDigits = "0123456789abcdef"

// appendJSONString appends text as a JSON string, escaped as JSON.stringify does it. What is no UTF-8
// becomes U+FFFD.
func appendJSONString(b []byte, text string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
			b = append(append(b, text[start:i]...), "\ufffd"...)
			i++
			start = i
			continue
		}
		b = append(b, text[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(b, text[start:]...), '"')
}
