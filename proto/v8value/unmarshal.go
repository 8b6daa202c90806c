package v8value

import (
	"encoding"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"time"
)

// Unmarshal reads a serialized value into the variable that out points to, by the table of the package documentation.
// Properties that the struct lacks are ignored; null and undefined leave the zero value. Into an interface variable go
// nil, bool, float64, string, time.Time, []byte, []any and map[string]any, and the Value itself where nothing of these
// fits. Errors wrap ErrFormat.
func Unmarshal(data []byte, out any) error {
	target := reflect.ValueOf(out)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("v8value: Unmarshal into a %T, which is not a pointer to a variable", out)
	}
	v, err := Decode(data)
	if err != nil {
		return err
	}
	return (&assigner{}).assign(target.Elem(), v)
}

// UnmarshalArguments reads the arguments of a call; missing ones leave their variables alone, further ones are ignored.
func UnmarshalArguments(data []byte, outs ...any) error {
	v, err := Decode(data)
	if err != nil {
		return err
	}
	list, ok := v.(*Array)
	if !ok {
		return fmt.Errorf("%w: arguments must be an array", ErrFormat)
	}
	for i, out := range outs {
		if i >= len(list.Items) {
			break
		}
		if err := (&assigner{}).assign(reflect.ValueOf(out).Elem(), list.Items[i]); err != nil {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	return nil
}

// assigner copies values into Go variables. What is shared or cyclic there is copied at each place, so steps bounds how
// much a small input can grow to.
type assigner struct{ depth, steps int }

// maxSteps bounds the number of assignments of one Unmarshal.
const maxSteps = 10_000_000

func mismatch(t reflect.Type, v Value) error {
	return fmt.Errorf("%w: %s does not fit a %s", ErrFormat, describe(v), t)
}

func describe(v Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case Undefined:
		return "undefined"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case *big.Int:
		return "a bigint"
	case string, UTF16:
		return "a string"
	case Date:
		return "a Date"
	}
	return fmt.Sprintf("a value of type %T", v)
}

func (a *assigner) assign(t reflect.Value, v Value) error {
	a.steps++
	if a.depth++; a.depth > maxDepth || a.steps > maxSteps {
		return fmt.Errorf("%w: too deep, too large, or a cycle", ErrFormat)
	}
	defer func() { a.depth-- }()
	if b, ok := v.(*Boxed); ok {
		v = b.Value
	}
	switch v.(type) {
	case nil, Undefined, Hole:
		t.SetZero()
		return nil
	}
	if t.Kind() == reflect.Interface && t.NumMethod() == 0 {
		plain, err := a.plain(v)
		if err == nil {
			t.Set(reflect.ValueOf(plain))
		}
		return err
	}
	if vt := reflect.TypeOf(v); vt == t.Type() { // times and values of this package, asked for by their own type
		t.Set(reflect.ValueOf(v))
		return nil
	}
	if t.Kind() == reflect.Pointer {
		fresh := reflect.New(t.Type().Elem())
		if err := a.assign(fresh.Elem(), v); err != nil {
			return err
		}
		t.Set(fresh)
		return nil
	}
	return a.assignConcrete(t, v)
}

func (a *assigner) assignConcrete(t reflect.Value, v Value) error {
	switch v := v.(type) {
	case bool:
		if t.Kind() != reflect.Bool {
			return mismatch(t.Type(), v)
		}
		t.SetBool(v)
		return nil
	case float64:
		return assignNumber(t, v)
	case *big.Int:
		if t.Type() != bigIntType.Elem() {
			return mismatch(t.Type(), v)
		}
		t.Addr().Interface().(*big.Int).Set(v)
		return nil
	case string:
		return assignString(t, v)
	case UTF16:
		return assignString(t, utf16Lossy(v))
	case Date:
		if t.Type() != timeType || math.IsNaN(float64(v)) {
			return mismatch(t.Type(), v)
		}
		t.Set(reflect.ValueOf(time.UnixMilli(int64(v)).UTC()))
		return nil
	case *View:
		return assignBytes(t, v, v.Buffer.Bytes[v.Offset:v.Offset+v.Bytes])
	case *ArrayBuffer:
		return assignBytes(t, v, v.Bytes)
	case *Array:
		return a.assignList(t, v, v.Items)
	case *Set:
		return a.assignList(t, v, v.Items)
	case *Object:
		return a.assignObject(t, v, v.Properties)
	case *Map:
		return a.assignObject(t, v, v.Entries)
	}
	return mismatch(t.Type(), v)
}

func assignNumber(t reflect.Value, f float64) error {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64:
		t.SetFloat(f)
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i := int64(f); f == math.Trunc(f) && math.Abs(f) <= maxSafeInteger && !t.OverflowInt(i) {
			t.SetInt(i)
			return nil
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if u := uint64(f); f == math.Trunc(f) && f >= 0 && f <= maxSafeInteger && !t.OverflowUint(u) {
			t.SetUint(u)
			return nil
		}
	default:
		return mismatch(t.Type(), f)
	}
	return fmt.Errorf("%w: the number %v does not fit a %s", ErrFormat, f, t.Type())
}

func assignString(t reflect.Value, s string) error {
	if t.CanAddr() && t.Addr().Type().Implements(textUnmarshaler) {
		if err := t.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)); err != nil {
			return fmt.Errorf("%w: text of a %s: %w", ErrFormat, t.Type(), err)
		}
		return nil
	}
	if t.Kind() != reflect.String {
		return mismatch(t.Type(), s)
	}
	t.SetString(s)
	return nil
}

func assignBytes(t reflect.Value, v Value, b []byte) error {
	if t.Kind() != reflect.Slice || t.Type().Elem().Kind() != reflect.Uint8 {
		return mismatch(t.Type(), v)
	}
	t.SetBytes(append([]byte{}, b...))
	return nil
}

func (a *assigner) assignList(t reflect.Value, v Value, items []Value) error {
	if arr, ok := v.(*Array); ok && uint32(len(arr.Items)) != arr.Length {
		return fmt.Errorf("%w: a sparse array does not fit a %s", ErrFormat, t.Type())
	}
	switch t.Kind() {
	case reflect.Slice:
		t.Set(reflect.MakeSlice(t.Type(), len(items), len(items)))
	case reflect.Array:
		if t.Len() != len(items) {
			return fmt.Errorf("%w: %d items do not fit a %s", ErrFormat, len(items), t.Type())
		}
	default:
		return mismatch(t.Type(), v)
	}
	for i, item := range items {
		if err := a.assign(t.Index(i), item); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

func (a *assigner) assignObject(t reflect.Value, v Value, list []Property) error {
	switch t.Kind() {
	case reflect.Struct:
		byName := make(map[string][]int, t.NumField())
		for f := range fields(t.Type()) {
			byName[f.name] = f.index
		}
		for _, p := range list {
			name := keyString(p.Key)
			index, ok := byName[name]
			if !ok {
				continue
			}
			if err := a.assign(fieldAt(t, index), p.Value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	case reflect.Map:
		if t.Type().Key().Kind() != reflect.String {
			return mismatch(t.Type(), v)
		}
		t.Set(reflect.MakeMapWithSize(t.Type(), len(list)))
		for _, p := range list {
			elem := reflect.New(t.Type().Elem()).Elem()
			name := keyString(p.Key)
			if err := a.assign(elem, p.Value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			t.SetMapIndex(reflect.ValueOf(name).Convert(t.Type().Key()), elem)
		}
		return nil
	}
	return mismatch(t.Type(), v)
}

// keyString returns a property key as a script would see it.
func keyString(k Value) string {
	switch k := k.(type) {
	case string:
		return k
	case UTF16:
		return utf16Lossy(k)
	case float64:
		return strconv.FormatFloat(k, 'f', -1, 64)
	}
	return fmt.Sprint(k)
}

func (a *assigner) plain(v Value) (any, error) {
	switch v := v.(type) {
	case Date:
		if !math.IsNaN(float64(v)) {
			return time.UnixMilli(int64(v)).UTC(), nil
		}
	case *View:
		return append([]byte{}, v.Buffer.Bytes[v.Offset:v.Offset+v.Bytes]...), nil
	case *ArrayBuffer:
		return append([]byte{}, v.Bytes...), nil
	case *Array:
		if uint32(len(v.Items)) == v.Length {
			var list []any
			err := a.assignList(reflect.ValueOf(&list).Elem(), v, v.Items)
			return list, err
		}
	case *Object:
		m := map[string]any{}
		err := a.assignObject(reflect.ValueOf(&m).Elem(), v, v.Properties)
		return m, err
	}
	return v, nil
}
