package v8value_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/v8value"
)

// node runs testdata/node.mjs and returns the lines that it prints.
func node(t *testing.T, input []byte, args ...string) []string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no Node; tools/check installs it")
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"testdata/node.mjs"}, args...)...)
	cmd.Stdin = bytes.NewReader(input)
	var fault bytes.Buffer
	cmd.Stderr = &fault
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node %v: %v\n%s", args, err, &fault)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// KV-12 and KV-13: what the V8 of a real Node writes, Go reads, and what Go writes of it again, v8.deserialize reads as
// the same value. The values are all kinds and random ones, of another seed in each run.
func TestValuesOfNode(t *testing.T) {
	t.Parallel()
	seed := fmt.Sprint(time.Now().UnixNano() % math.MaxUint32)
	written := node(t, nil, "write", seed)
	if len(written) < 2000 {
		t.Fatalf("only %d values", len(written))
	}
	var again bytes.Buffer
	for i, line := range written {
		data, err := base64.StdEncoding.DecodeString(line)
		if err != nil {
			t.Fatal(err)
		}
		v, err := v8value.Decode(data)
		if err != nil {
			t.Fatalf("decode value %d of seed %s: %v", i, seed, err)
		}
		b, err := v8value.Encode(v)
		if err != nil {
			t.Fatalf("encode value %d of seed %s: %v", i, seed, err)
		}
		fmt.Fprintln(&again, base64.StdEncoding.EncodeToString(b))
	}
	for _, fault := range node(t, again.Bytes(), "read", seed) {
		if fault != "" {
			t.Errorf("seed %s: %s", seed, fault)
		}
	}
}

// What a class in Go stores, v8.deserialize of a real Node reads.
func TestValuesOfGo(t *testing.T) {
	t.Parallel()
	type room struct {
		Name  string         `json:"name"`
		Seats int            `json:"seats,omitempty"`
		Tags  []string       `json:"tags"`
		Since time.Time      `json:"since"`
		More  map[string]any `json:"more"`
		Next  *room          `json:"next"`
	}
	huge, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	tests := []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{true, "true"},
		{-7, "-7"},
		{int64(1) << 40, "1099511627776"},
		{1.5, "1.5"},
		{math.Copysign(0, -1), "-0"},
		{math.Inf(-1), "-Infinity"},
		{"größe 😀", "'größe 😀'"},
		{huge, "-123456789012345678901234567890n"},
		{time.UnixMilli(1_700_000_000_123), "2023-11-14T22:13:20.123Z"},
		{[]byte{1, 2, 255}, "Uint8Array(3) [ 1, 2, 255 ]"},
		{[]any{1, "a", nil}, "[ 1, 'a', null ]"},
		{[2]bool{true, false}, "[ true, false ]"},
		{map[string]int{"b": 2, "a": 1}, "{ a: 1, b: 2 }"},
		{
			room{Name: "a", Tags: []string{}, Since: time.UnixMilli(0), Next: &room{Name: "b", Seats: 2}},
			"{ name: 'a', tags: [], since: 1970-01-01T00:00:00.000Z, more: null, " +
				"next: { name: 'b', seats: 2, tags: [], since: 0001-01-01T00:00:00.000Z, more: null, next: null } }",
		},
	}
	var lines bytes.Buffer
	for _, tt := range tests {
		b, err := v8value.Marshal(tt.value)
		if err != nil {
			t.Fatalf("marshal %v: %v", tt.value, err)
		}
		fmt.Fprintln(&lines, base64.StdEncoding.EncodeToString(b))
	}
	got := node(t, lines.Bytes(), "show")
	if len(got) != len(tests) {
		t.Fatalf("got %d values of %d:\n%s", len(got), len(tests), strings.Join(got, "\n"))
	}
	for i, tt := range tests {
		if got[i] != tt.want {
			t.Errorf("%v: got %s, want %s", tt.value, got[i], tt.want)
		}
	}
}
