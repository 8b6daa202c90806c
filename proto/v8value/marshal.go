package v8value

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
)

// maxSafeInteger is the largest integer up to which every one is exact as a JavaScript number.
const maxSafeInteger = 1<<53 - 1

var (
	bigIntType      = reflect.TypeFor[*big.Int]()
	timeType        = reflect.TypeFor[time.Time]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Marshal serializes a Go value by the table of the package documentation. Types that marshal themselves to text become
// strings. Errors wrap ErrUnsupported and name the type.
func Marshal(v any) ([]byte, error) {
	e := newEncoder()
	if err := e.marshal(reflect.ValueOf(v)); err != nil {
		return nil, err
	}
	return e.buf, nil
}

// MarshalArguments serializes the arguments of a call as one array.
func MarshalArguments(args ...any) ([]byte, error) { return Marshal(args) }

func (e *encoder) marshal(v reflect.Value) error {
	if !v.IsValid() {
		e.buf = append(e.buf, tagNull)
		return nil
	}
	if e.depth++; e.depth > maxDepth {
		return fmt.Errorf("%w: nested deeper than %d", ErrUnsupported, maxDepth)
	}
	defer func() { e.depth-- }()
	if done, err := e.marshalSpecial(v); done || err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.Bool:
		e.bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i := v.Int()
		if i > maxSafeInteger || i < -maxSafeInteger {
			return fmt.Errorf("%w: integer %d is not exact as a number, use *big.Int", ErrUnsupported, i)
		}
		e.number(float64(i))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		u := v.Uint()
		if u > maxSafeInteger {
			return fmt.Errorf("%w: integer %d is not exact as a number, use *big.Int", ErrUnsupported, u)
		}
		e.number(float64(u))
	case reflect.Float32, reflect.Float64:
		e.number(v.Float())
	case reflect.String:
		e.string(v.String())
	case reflect.Pointer, reflect.Interface:
		return e.marshal(v.Elem())
	case reflect.Slice, reflect.Array:
		return e.marshalList(v)
	case reflect.Map:
		return e.marshalMap(v)
	case reflect.Struct:
		return e.marshalStruct(v)
	default:
		return fmt.Errorf("%w: %s", ErrUnsupported, v.Type())
	}
	return nil
}

// marshalSpecial writes the types that do not go by their kind: nil, times, big integers, values of this package, bytes,
// and types with a text form.
func (e *encoder) marshalSpecial(v reflect.Value) (done bool, err error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		if v.IsNil() && v.Kind() != reflect.Slice {
			e.buf = append(e.buf, tagNull)
			return true, nil
		}
	}
	if !v.CanInterface() || v.Kind() == reflect.Interface {
		return false, nil
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return true, e.object(Date(x.UnixMilli()))
	case []byte:
		return true, e.object(&View{Kind: ViewUint8, Buffer: &ArrayBuffer{Bytes: x}, Bytes: uint32(len(x))})
	case *big.Int, Undefined, Date, UTF16, *Object, *Array, *Map, *Set, *RegExp, *Boxed, *ArrayBuffer, *View, *Error:
		return true, e.value(x)
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		if err != nil {
			return true, fmt.Errorf("%w: text of %s: %w", ErrUnsupported, v.Type(), err)
		}
		e.string(string(text))
		return true, nil
	}
	return false, nil
}

func (e *encoder) marshalList(v reflect.Value) error {
	e.next++ // the array has an id, though nothing here refers to it
	n := uint64(v.Len())
	e.end(tagDenseArray, n)
	for i := range v.Len() {
		if err := e.marshal(v.Index(i)); err != nil {
			return err
		}
	}
	e.end(tagEndDense, 0)
	e.buf = binary.AppendUvarint(e.buf, n)
	return nil
}

// marshalMap writes the keys in order, so that equal maps have equal bytes.
func (e *encoder) marshalMap(v reflect.Value) error {
	if v.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("%w: map with keys of type %s", ErrUnsupported, v.Type().Key())
	}
	e.next++
	e.buf = append(e.buf, tagObject)
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		e.string(k.String())
		if err := e.marshal(v.MapIndex(k)); err != nil {
			return err
		}
	}
	e.end(tagEndObject, uint64(len(keys)))
	return nil
}

func (e *encoder) marshalStruct(v reflect.Value) error {
	e.next++
	e.buf = append(e.buf, tagObject)
	count := uint64(0)
	for f := range fields(v.Type()) {
		fv, err := v.FieldByIndexErr(f.index)
		if err != nil || (f.omitEmpty && isEmpty(fv)) || (f.omitZero && fv.IsZero()) {
			continue // an embedded nil pointer has no fields
		}
		e.string(f.name)
		if err := e.marshal(fv); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		count++
	}
	e.end(tagEndObject, count)
	return nil
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
