package v8value_test

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/v8value"
)

//go:embed testdata/node.txt
var nodeVectors string

// vectors returns the recorded serializations by name.
func vectors(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for line := range strings.Lines(nodeVectors) {
		name, text, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatalf("vector %s: %v", name, err)
		}
		out[name] = b
	}
	return out
}

// KV-12 and KV-13: what V8 wrote, decoded and encoded again, is the same to the byte.
func TestNodeVectorsRoundTrip(t *testing.T) {
	t.Parallel()
	all := vectors(t)
	if len(all) < 40 {
		t.Fatalf("only %d vectors", len(all))
	}
	for name, data := range all {
		v, err := v8value.Decode(data)
		if err != nil {
			t.Errorf("%s: decode: %v", name, err)
			continue
		}
		again, err := v8value.Encode(v)
		if err != nil {
			t.Errorf("%s: encode: %v", name, err)
			continue
		}
		if name == "holes" { // V8 chose the sparse form; it is kept
			if a := v.(*v8value.Array); a.Length != 3 || len(a.Properties) != 2 {
				t.Errorf("holes: got %+v", a)
			}
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%s: got %x, want %x", name, again, data)
		}
	}
}

func TestDecodeValues(t *testing.T) {
	t.Parallel()
	all := vectors(t)
	bigNumber, _ := new(big.Int).SetString("12345678901234567890123", 10)
	tests := []struct {
		name string
		want v8value.Value
	}{
		{"null", nil},
		{"undefined", v8value.Undefined{}},
		{"5", 5.0},
		{"-7", -7.0},
		{"2^31", 2147483648.0},
		{"inf", math.Inf(1)},
		{"latin", "é"},
		{"wide", "héllo €"},
		{"astral", "😀"},
		{"lone", v8value.UTF16{0xd800, 'x'}},
		{"bigint", bigNumber},
		{"bigintneg", big.NewInt(-1)},
		{"date", v8value.Date(1700000000123)},
		{"regexp", &v8value.RegExp{Source: "a+b", Flags: 3}},
		{"map", &v8value.Map{Entries: []v8value.Property{{Key: "k", Value: 1.0}, {Key: 2.0, Value: "v"}}}},
		{"bool", &v8value.Boxed{Value: true}},
		{"error", &v8value.Error{
			Name: "TypeError", Message: "t", Stack: "S", Cause: v8value.Undefined{},
		}},
	}
	for _, tt := range tests {
		got, err := v8value.Decode(all[tt.name])
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tt.name, diff)
		}
	}
}

func TestSharedAndCyclicObjects(t *testing.T) {
	t.Parallel()
	all := vectors(t)
	v, err := v8value.Decode(all["cycle"])
	if err != nil {
		t.Fatal(err)
	}
	if o := v.(*v8value.Object); o.Get("self") != v8value.Value(o) {
		t.Errorf("the cycle does not come back to its object")
	}
	v, err = v8value.Decode(all["shared"])
	if err != nil {
		t.Fatal(err)
	}
	if a := v.(*v8value.Array); a.Items[0] != a.Items[1] {
		t.Errorf("the shared object became two")
	}
	v, err = v8value.Decode(all["two views"])
	if err != nil {
		t.Fatal(err)
	}
	a := v.(*v8value.Array)
	if a.Items[0].(*v8value.View).Buffer != a.Items[1].(*v8value.View).Buffer {
		t.Errorf("two views on one buffer became views on two")
	}
	var into any
	if err := v8value.Unmarshal(all["cycle"], &into); !errors.Is(err, v8value.ErrFormat) {
		t.Errorf("a cycle into plain Go: got %v, want ErrFormat", err)
	}
}

type embedded struct {
	Inner string `json:"inner"`
}

type record struct {
	embedded
	Name    string            `json:"name"`
	Count   int               `json:"count"`
	Ratio   float64           `json:"ratio,omitempty"`
	When    time.Time         `json:"when"`
	Data    []byte            `json:"data"`
	Tags    []string          `json:"tags"`
	Labels  map[string]uint16 `json:"labels"`
	Next    *record           `json:"next,omitempty"`
	Any     any               `json:"any"`
	Skipped string            `json:"-"`
	Big     *big.Int          `json:"big"`
}

func TestMarshalRoundTrip(t *testing.T) {
	t.Parallel()
	want := record{
		embedded: embedded{Inner: "in"},
		Name:     "žluť", Count: -3, When: time.UnixMilli(1700000000123).UTC(), Data: []byte{0, 255},
		Tags: []string{"a", ""}, Labels: map[string]uint16{"x": 1, "a": 65535},
		Next: &record{Name: "next", Tags: []string{}, Labels: map[string]uint16{}, Data: []byte{}, When: time.UnixMilli(0).UTC()},
		Any:  map[string]any{"list": []any{1.0, "two", nil, true}}, Big: new(big.Int).Lsh(big.NewInt(1), 100),
	}
	data, err := v8value.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got record
	if err := v8value.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	opts := cmp.Options{cmp.AllowUnexported(record{}), cmp.Comparer(func(a, b *big.Int) bool {
		return a == b || a != nil && b != nil && a.Cmp(b) == 0
	})}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	v, err := v8value.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if o := v.(*v8value.Object); o.Get("Skipped") != (v8value.Undefined{}) || o.Get("ratio") != (v8value.Undefined{}) {
		t.Errorf("skipped or empty fields were written: %+v", o)
	}
}

// KV-14: what can't be stored is refused.
func TestMarshalRefuses(t *testing.T) {
	t.Parallel()
	type loop struct{ L *loop }
	l := &loop{}
	l.L = l
	for name, v := range map[string]any{
		"function": func() {}, "channel": make(chan int), "large integer": int64(1) << 60,
		"large unsigned": uint64(1) << 60, "map with number keys": map[int]string{1: "x"}, "cycle": l,
	} {
		if _, err := v8value.Marshal(v); !errors.Is(err, v8value.ErrUnsupported) {
			t.Errorf("%s: got %v, want ErrUnsupported", name, err)
		}
	}
}

func TestUnmarshalMismatch(t *testing.T) {
	t.Parallel()
	marshal := func(v any) []byte {
		b, err := v8value.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var small int8
	var unsigned uint
	var text string
	var list []int
	tests := []struct {
		name, want string
		data       []byte
		out        any
	}{
		{"too large", "the number 300 does not fit a int8", marshal(300), &small},
		{"fraction", "the number 1.5 does not fit a int8", marshal(1.5), &small},
		{"negative", "the number -1 does not fit a uint", marshal(-1), &unsigned},
		{"number as string", "a number does not fit a string", marshal(1), &text},
		{"item", "[1]: ", marshal([]any{1, "x"}), &list},
	}
	for _, tt := range tests {
		err := v8value.Unmarshal(tt.data, tt.out)
		if !errors.Is(err, v8value.ErrFormat) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want ErrFormat with %q", tt.name, err, tt.want)
		}
	}
	if err := v8value.Unmarshal(marshal(1), small); err == nil {
		t.Error("a non-pointer was accepted")
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	data, err := v8value.MarshalArguments("a", 2)
	if err != nil {
		t.Fatal(err)
	}
	var s string
	n, rest := 0, "kept"
	if err := v8value.UnmarshalArguments(data, &s, &n, &rest); err != nil || s != "a" || n != 2 || rest != "kept" {
		t.Errorf("got %q %d %q, %v", s, n, rest, err)
	}
	if err := v8value.UnmarshalArguments([]byte{0xff, 15, '0'}, &s); !errors.Is(err, v8value.ErrFormat) {
		t.Errorf("null as arguments: got %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": "", "only a header": "ff0f", "version 16": "ff1030", "version 12": "ff0c30",
		"trailing bytes": "ff0f3030", "short string": "ff0f220561", "unknown tag": "ff0f21",
		"reference to nothing": "ff0f5e00", "huge array": "ff0f41ffffffff0f", "count of properties": "ff0f6f22016154 7b02",
		"object key": "ff0f6f6f7b00547b01", "view beyond buffer": "ff0f42010156420002 00", "host object": "ff0f5c00",
		"array lengths differ": "ff0f410154240002",
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		_, err = v8value.Decode(b)
		if !errors.Is(err, v8value.ErrFormat) && !errors.Is(err, v8value.ErrUnsupported) {
			t.Errorf("%s: got %v, want ErrFormat or ErrUnsupported", name, err)
		}
	}
	deep := append([]byte{0xff, 15}, bytes.Repeat([]byte{'A', 1}, 100_000)...)
	if _, err := v8value.Decode(deep); !errors.Is(err, v8value.ErrFormat) {
		t.Errorf("deep nesting: got %v", err)
	}
}

// A value without a header is read as version 13, whose views have no flags.
func TestLegacyHeader(t *testing.T) {
	t.Parallel()
	v, err := v8value.Decode([]byte{'B', 1, 7, 'V', 'B', 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	if view := v.(*v8value.View); view.Bytes != 1 || view.Buffer.Bytes[0] != 7 {
		t.Errorf("got %+v", view)
	}
}

// Whatever is decoded can be encoded, and then decodes to the same bytes again.
func FuzzDecode(f *testing.F) {
	for _, data := range vectors(f) {
		f.Add(data)
	}
	f.Add([]byte("\xff\x0f\\\x0a\x00\"\x01Q\"\x01mo\"\x05cause\\\x0a\x02_o{\x00{\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := v8value.Decode(data)
		if err != nil {
			return
		}
		first, err := v8value.Encode(v)
		if err != nil {
			t.Fatalf("encode what was decoded: %v", err)
		}
		again, err := v8value.Decode(first)
		if err != nil {
			t.Fatalf("decode %x: %v", first, err)
		}
		second, err := v8value.Encode(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("got %x, want %x (%v)", second, first, err)
		}
		var plain any
		_ = v8value.Unmarshal(data, &plain) // must not panic, whatever it says
		var r record
		_ = v8value.Unmarshal(data, &r)
	})
}

func BenchmarkMarshalCounter(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		data, err := v8value.Marshal(42)
		if err != nil {
			b.Fatal(err)
		}
		var n int
		if err := v8value.Unmarshal(data, &n); err != nil {
			b.Fatal(err)
		}
	}
}
