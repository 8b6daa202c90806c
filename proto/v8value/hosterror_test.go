package v8value_test

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/v8value"
)

// Bytes that workerd 1.20261117.1 stores with compatibility date 2026-10-01.
func TestDecodeHostError(t *testing.T) {
	t.Parallel()
	undefined := v8value.Undefined{}
	cause := &v8value.Error{Name: "Error", Message: "why", Stack: "at x", Cause: undefined}
	for name, test := range map[string]struct {
		bytes string
		want  v8value.Value
	}{
		"cause": {"ff0f5c0a0222" + "0577726f6e67" + "6f2205737461636b220461742079" + "22056361757365" +
			"5c0a01220377687" + "96f2205737461636b2204617420787b01" + "7b02",
			&v8value.Error{Name: "TypeError", Message: "wrong", Stack: "at y", Cause: cause}},
		"name of its own": {"ff0f5c0a00220451756974" + "2200" + "6f7b00",
			&v8value.Error{Name: "Quit", Message: "", Stack: undefined, Cause: undefined}},
		"last class": {"ff0f5c0a0d22006f7b00",
			&v8value.Error{Name: "SuppressedError", Message: "", Stack: undefined, Cause: undefined}},
	} {
		data, err := hex.DecodeString(test.bytes)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v8value.Decode(data)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// It takes an id, before its parts do.
func TestHostErrorReferences(t *testing.T) {
	t.Parallel()
	data, err := hex.DecodeString("ff0f4102" + "5c0a0122006f7b00" + "5e01" + "240002")
	if err != nil {
		t.Fatal(err)
	}
	v, err := v8value.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	items := v.(*v8value.Array).Items
	if items[0] != items[1] {
		t.Errorf("got %v and %v, want one error twice", items[0], items[1])
	}
}

func TestDecodeHostObjectRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"ff0f5c04030100016101": v8value.ErrUnsupported, // Headers
		"ff0f5c0a0e22006f7b00": v8value.ErrFormat,      // class 14
		"ff0f5c0a01220030":     v8value.ErrFormat,      // null for properties
		"ff0f5c0a01":           v8value.ErrFormat,
		"ff0f5c":               v8value.ErrFormat,
	} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := v8value.Decode(data); !errors.Is(err, want) {
			t.Errorf("%s: got %v, %v, want %v", text, v, err, want)
		}
	}
}
