package wranglerstate

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/proto/v8value"
)

func big10(t *testing.T, s string) *big.Int {
	t.Helper()
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		t.Fatal(s)
	}
	return n
}

// recordedValues are the values of testdata/record/worker.mjs.
func recordedValues(t *testing.T) map[string]v8value.Value {
	t.Helper()
	type (
		object = v8value.Object
		list   = []v8value.Value
	)
	of := func(pairs ...v8value.Value) (list []v8value.Property) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, v8value.Property{Key: pairs[i], Value: pairs[i+1]})
		}
		return list
	}
	nan := math.Float64frombits(0x7ff8 << 48) // V8's
	array := func(items ...v8value.Value) *v8value.Array {
		return &v8value.Array{Length: uint32(len(items)), Items: items}
	}
	buffer := func(b ...byte) *v8value.ArrayBuffer { return &v8value.ArrayBuffer{Bytes: b} }
	view := func(kind byte, b ...byte) *v8value.View {
		return &v8value.View{Kind: kind, Buffer: buffer(b...), Bytes: uint32(len(b))}
	}
	sixteen := buffer(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0)
	cycle := &object{}
	cycle.Properties = of("name", "cycle", "self", cycle)
	shared := array(1.0)
	return map[string]v8value.Value{
		"":            "the empty key",
		"array":       array(1.0, "two", nil, v8value.Undefined{}, array(3.0)),
		"array holes": &v8value.Array{Length: 3, Properties: of(0.0, 1.0, 2.0, 3.0)},
		"array sparse": &v8value.Array{
			Length: 1001, Properties: of(1000.0, "far"),
		},
		"array with property": &v8value.Array{
			Length: 1, Items: list{1.0}, Properties: of("extra", true),
		},
		"bigint":               big10(t, "1234567890123456789012345678901234567890"),
		"bigint negative":      big.NewInt(-1),
		"bigint zero":          big.NewInt(0),
		"boxed bigint":         &v8value.Boxed{Value: big.NewInt(7)},
		"boxed boolean":        &v8value.Boxed{Value: false},
		"boxed number":         &v8value.Boxed{Value: 1.5},
		"boxed string":         &v8value.Boxed{Value: "boxed"},
		"buffer":               sixteen,
		"buffer resizable":     &v8value.ArrayBuffer{Bytes: make([]byte, 4), Resizable: true, MaxBytes: 8},
		"class instance":       &object{Properties: of("x", 1.0, "y", 2.0)},
		"cycle":                cycle,
		"date":                 v8value.Date(1796040000005),
		"date invalid":         v8value.Date(nan),
		"error":                recordedError(),
		"false":                false,
		"map":                  recordedMap(),
		"null":                 nil,
		"number":               5.0,
		"number big":           float64(1 << 53),
		"number double":        3.25,
		"number infinity":      math.Inf(-1),
		"number nan":           nan,
		"number negative":      -7.0,
		"number negative zero": math.Copysign(0, -1),
		"object": &object{Properties: of(
			7.0, "index", "b", 1.0, "a", &object{Properties: of("nested", array(true))}, "gone", v8value.Undefined{},
		)},
		"regexp":                &v8value.RegExp{Source: `a+\/é`, Flags: 1 | 2 | 16},
		"set":                   &v8value.Set{Items: list{1.0, "one", &v8value.Set{}}},
		"shared":                &object{Properties: of("first", shared, "second", shared)},
		"string latin":          "café",
		"string lone surrogate": v8value.UTF16{'a', 0xd800, 'b'},
		"string long":           strings.Repeat("x", 3000),
		"string two-byte":       "snow \u2603 and 😀",
		"true":                  true,
		"view bigint64": view(v8value.ViewBigInt64,
			255, 255, 255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 0, 0, 0),
		"view data": &v8value.View{Kind: v8value.ViewData, Buffer: sixteen, Offset: 2, Bytes: 4},
		"view float64": view(v8value.ViewFloat64,
			0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0x80),
		"view int16":         view(v8value.ViewInt16, 0xff, 0xff, 0x2c, 0x01),
		"view uint8":         &v8value.View{Kind: v8value.ViewUint8, Buffer: sixteen, Offset: 4, Bytes: 3},
		"view uint8 clamped": view(v8value.ViewUint8Clamped, 0, 255),
		"ключ 😀":             "keys are UTF-8",
		"\ufffd":             "before the astral key",
		"\U0001f600":         "after U+FFFD",
	}
}

func recordedError() *v8value.Error {
	cause := &v8value.Error{
		Name: "Error", Message: "the cause", Stack: v8value.Undefined{}, Cause: v8value.Undefined{},
	}
	return &v8value.Error{Name: "TypeError", Message: "wrong", Stack: v8value.Undefined{}, Cause: cause}
}

func recordedMap() *v8value.Map {
	one := &v8value.Map{Entries: []v8value.Property{{Key: 1.0, Value: "one"}}}
	key := &v8value.Object{Properties: []v8value.Property{{Key: "key", Value: "object"}}}
	return &v8value.Map{Entries: []v8value.Property{{Key: "a", Value: 1.0}, {Key: key, Value: one}}}
}

// compareRecorded compares the values of one object with the table. Encoding both again tells NaN from numbers, -0 from 0,
// and a shared object from two that are the same.
func compareRecorded(t *testing.T, got map[string]string) {
	t.Helper()
	want := recordedValues(t)
	if len(got) != len(want) {
		t.Errorf("got %d keys, want %d", len(got), len(want))
	}
	for key, value := range want {
		raw, ok := got[key]
		if !ok {
			t.Errorf("key %q is missing", key)
			continue
		}
		decoded, err := v8value.Decode([]byte(raw))
		if err != nil {
			t.Errorf("key %q: %v", key, err)
			continue
		}
		if e, ok := decoded.(*v8value.Error); ok { // where in the script it arose
			e.Stack = v8value.Undefined{}
			if cause, ok := e.Cause.(*v8value.Error); ok {
				cause.Stack = v8value.Undefined{}
			}
		}
		if v8(t, decoded) != v8(t, value) {
			t.Errorf("key %q is % x (stored as % x), want % x", key, v8(t, decoded), raw, v8(t, value))
		}
	}
}
