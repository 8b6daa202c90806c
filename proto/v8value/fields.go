package v8value

import (
	"iter"
	"reflect"
	"strings"
	"unicode/utf8"
)

// field is a struct field as package encoding/json names it.
type field struct {
	name                string
	index               []int
	omitEmpty, omitZero bool
}

// fields yields the fields of a struct type that take part, those of embedded structs without a name included.
func fields(t reflect.Type) iter.Seq[field] {
	return func(yield func(field) bool) { walkFields(t, nil, 0, yield) }
}

func walkFields(t reflect.Type, prefix []int, depth int, yield func(field) bool) bool {
	for i := range t.NumField() {
		sf := t.Field(i)
		name, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "-" && opts == "" {
			continue
		}
		index := append(append(make([]int, 0, len(prefix)+1), prefix...), i)
		if sf.Anonymous && name == "" {
			et := sf.Type
			if et.Kind() == reflect.Pointer {
				et = et.Elem()
			}
			if sf.Type.Kind() == reflect.Pointer && !sf.IsExported() {
				continue // reflection cannot set it
			}
			if et.Kind() == reflect.Struct && depth < 8 { // deeper embedding is a recursive type
				if !walkFields(et, index, depth+1, yield) {
					return false
				}
				continue
			}
		}
		if !sf.IsExported() {
			continue
		}
		if name == "" {
			name = sf.Name
		}
		if !yield(field{name, index, hasOption(opts, "omitempty"), hasOption(opts, "omitzero")}) {
			return false
		}
	}
	return true
}

func hasOption(opts, want string) bool {
	for opts != "" {
		var o string
		if o, opts, _ = strings.Cut(opts, ","); o == want {
			return true
		}
	}
	return false
}

// fieldAt returns the field at an index path, making embedded structs behind pointers on the way.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v
}

// utf16Lossy returns the text with U+FFFD for each lone surrogate.
func utf16Lossy(u UTF16) string {
	var b strings.Builder
	for len(u) > 0 {
		n := 1
		if len(u) > 1 && u[0] >= 0xd800 && u[0] < 0xdc00 && u[1] >= 0xdc00 && u[1] < 0xe000 {
			n = 2
		}
		if s, ok := decodeUTF16(u[:n]).(string); ok {
			b.WriteString(s)
		} else {
			b.WriteRune(utf8.RuneError)
		}
		u = u[n:]
	}
	return b.String()
}
