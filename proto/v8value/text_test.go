package v8value_test

import (
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tandem-do/tandem/proto/v8value"
)

func TestText(t *testing.T) {
	t.Parallel()
	self := &v8value.Object{}
	self.Properties = []v8value.Property{{Key: "self", Value: self}, {Key: "n", Value: 1.0}}
	deep := v8value.Value(1.0)
	for range 20 {
		deep = &v8value.Array{Length: 1, Items: []v8value.Value{deep}}
	}
	twice := &v8value.Set{Items: []v8value.Value{1.0}}
	for _, tt := range []struct {
		v           v8value.Value
		class, text string
	}{
		{nil, "null", "null"},
		{v8value.Undefined{}, "undefined", "undefined"},
		{true, "boolean", "true"},
		{42.0, "number", "42"},
		{0.1, "number", "0.1"},
		{math.Copysign(0, -1), "number", "-0"},
		{math.NaN(), "number", "NaN"},
		{math.Inf(-1), "number", "-Infinity"},
		{1e21, "number", "1e+21"},
		{123456789012345680000.0, "number", "123456789012345680000"},
		{big.NewInt(-7), "bigint", "-7n"},
		{new(big.Int).Lsh(big.NewInt(1), 5000), "bigint", "(bigint of 5001 bits)"},
		{"a \"b\"\n\x1b[31m", "string", `"a \"b\"\n\x1b[31m"`},
		{v8value.UTF16{'a', 0xd800}, "string", "\"a\ufffd\""},
		{v8value.Date(0), "Date", "Date(1970-01-01T00:00:00.000Z)"},
		{v8value.Date(math.NaN()), "Date", "Date(invalid)"},
		{&v8value.RegExp{Source: "a+\x07", Flags: 3}, "RegExp", "/a+\ufffd/gi"},
		{&v8value.Boxed{Value: true}, "Boolean", "Boolean(true)"},
		{&v8value.Boxed{Value: big.NewInt(1)}, "BigInt", "BigInt(1n)"},
		{&v8value.Object{}, "object", "{}"},
		{&v8value.Object{Properties: []v8value.Property{
			{Key: "a", Value: 1.0}, {Key: "b c", Value: "x"}, {Key: 3.0, Value: nil},
		}}, "object", `{a: 1, "b c": "x", 3: null}`},
		{&v8value.Array{Length: 3, Items: []v8value.Value{1.0, v8value.Hole{}, "x"}}, "Array", `[1, , "x"]`},
		{&v8value.Array{Length: 9, Properties: []v8value.Property{{Key: 7.0, Value: true}}}, "Array", "[7: true; length 9]"},
		{&v8value.Map{Entries: []v8value.Property{{Key: "k", Value: twice}, {Key: 1.0, Value: twice}}},
			"Map", `Map(2) {"k" => Set(1) {1}, 1 => Set(1) {1}}`},
		{&v8value.ArrayBuffer{Bytes: []byte{1, 255}}, "ArrayBuffer", "ArrayBuffer(2 bytes) <01ff>"},
		{&v8value.View{Kind: v8value.ViewUint8, Buffer: &v8value.ArrayBuffer{Bytes: []byte{1, 2, 3}}, Offset: 1, Bytes: 2},
			"Uint8Array", "Uint8Array(2 bytes) <0203>"},
		{&v8value.Error{Name: "TypeError", Message: "no\nway"}, "TypeError", "TypeError: no\ufffdway"},
		{&v8value.Error{Name: "Error", Message: v8value.Undefined{}}, "Error", "Error"},
		{self, "object", "{self: [Circular], n: 1}"},
		{deep, "Array", "[[[[[[[[…]]]]]]]]"},
	} {
		text, cut := v8value.Text(tt.v, 1000)
		if class := v8value.TypeName(tt.v); class != tt.class || text != tt.text || cut {
			t.Errorf("got %s %s (cut: %v), want %s %s", class, text, cut, tt.class, tt.text)
		}
	}
}

// What V8 wrote, as V8 would show it.
func TestTextOfRegExpFlags(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"ff0f52220161bf01": "/a/dgimsuy", "ff0f522201618002": "/a/v", "ff0f5222016101": "/a/g", "ff0f5222016120": "/a/s",
	} {
		b, err := hex.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		v, err := v8value.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := v8value.Text(v, 100); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// At every limit the text is the beginning of the whole, valid, visible, and no longer than the limit.
func TestTextIsCut(t *testing.T) {
	t.Parallel()
	for name, data := range vectors(t) {
		v, err := v8value.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := v8value.Text(v, 1<<20)
		if strings.ContainsFunc(whole, unicode.IsControl) || !utf8.ValidString(whole) {
			t.Errorf("%s: %q can't be shown", name, whole)
		}
		for limit := range min(len(whole)+2, 300) {
			got, cut := v8value.Text(v, limit)
			if len(got) > limit || cut != (len(whole) > limit) || !utf8.ValidString(got) ||
				!strings.HasPrefix(whole, got) || !cut && got != whole {
				t.Errorf("%s at %d: %q (cut: %v) of %q", name, limit, got, cut, whole)
			}
		}
	}
}

// A small preview of a large value costs little.
func TestTextOfLargeValue(t *testing.T) {
	a := &v8value.Array{Length: 1 << 20, Items: make([]v8value.Value, 1<<20)}
	if n := testing.AllocsPerRun(5, func() { v8value.Text(a, 100) }); n > 50 {
		t.Errorf("%v allocations", n)
	}
}
