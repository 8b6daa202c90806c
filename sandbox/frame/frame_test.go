package frame

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

func everyMessage() []Message {
	return []Message{
		&Ready{Version: Version, Protections: []Protection{{Name: "landlock"}, {Name: "own_network", Off: "not permitted"}}},
		&Start{Run: 7, Code: "return 1", Limits: Limits{
			CPU: time.Second, MemoryBytes: 1 << 27, ResultBytes: 1 << 22, PendingToolCalls: 64,
		}},
		&Start{Run: 8, Code: "return 1", Seed: []byte("seed"), StartedMS: 1_700_000_000_000, Replay: Replay{
			Taken: []Taken{{CallID: 2, Active: time.Second}, {CallID: 1, Timers: 300, Active: time.Minute}}, Timers: 301,
		}},
		&Result{Run: 7, CallID: 1, Value: []byte(`{"ok":true}`), UnixMS: 1_700_000_000_000},
		&Clock{Run: 7, Stopped: true},
		&Abandon{Run: 7},
		&Result{Run: 7, CallID: 2, Thrown: true, Value: []byte("declined")},
		&Call{CallID: 3, Path: "a.b", Arguments: []byte("{}")},
		&Call{CallID: 4, Path: "a", Taken: []Taken{{CallID: 3, Timers: 1, Active: 5}}, Timers: 2},
		&Log{Line: "hello\nworld"},
		&Emit{Value: []byte("[1]")},
		&Done{Outcome: sandboxpb.Outcome_OUTCOME_COMPLETED, Result: []byte(`"x"`), IsString: true, CPU: 5, Reusable: true},
		&Done{Outcome: sandboxpb.Outcome_OUTCOME_EXCEPTION, Error: strings.Repeat("long ", 40_000)},
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	var stream []byte
	for _, m := range everyMessage() {
		stream = Append(stream, m)
	}
	for name, in := range map[string]io.Reader{
		"whole":        bytes.NewReader(stream),
		"byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewReader(in, 1<<20)
			for i, want := range everyMessage() {
				got, err := r.Next()
				if err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("message %d (-want +got):\n%s", i, diff)
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("at the end: got %v, want EOF", err)
			}
		})
	}
}

func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	whole := Append(nil, &Log{Line: "hello"})
	for _, tc := range []struct {
		name  string
		bytes []byte
		want  error
	}{
		{"cut in the header", whole[:2], io.ErrUnexpectedEOF},
		{"cut in the body", whole[:len(whole)-1], io.ErrUnexpectedEOF},
		{"longer than the limit", []byte{0x7f, 0xff, 0xff, 0xff, 1}, ErrMalformed},
		{"empty", []byte{0, 0, 0, 0}, ErrMalformed},
		{"unknown kind", []byte{0, 0, 0, 1, 99}, ErrMalformed},
		{"field cut short", []byte{0, 0, 0, 2, byte(kindLog), 5}, ErrMalformed},
		{"more taken than there is room for", []byte{0, 0, 0, 6, byte(kindCall), 1, 0, 0, 2, 0}, ErrMalformed},
		{"bytes left over", []byte{0, 0, 0, 3, byte(kindLog), 0, 0}, ErrMalformed},
		{"unknown outcome", []byte{0, 0, 0, 7, byte(kindDone), 99, 0, 0, 0, 0, 0}, ErrMalformed},
		{"outcome unspecified", []byte{0, 0, 0, 7, byte(kindDone), 0, 0, 0, 0, 0, 0}, ErrMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, err := NewReader(bytes.NewReader(tc.bytes), 1<<20).Next()
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v and error %v, want %v", m, err, tc.want)
			}
		})
	}
}

// FuzzDecode holds that no bytes make Decode panic, and that what it accepts it also writes.
func FuzzDecode(f *testing.F) {
	for _, m := range everyMessage() {
		f.Add(Append(nil, m)[headerBytes:])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := Decode(body)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error %v is not ErrMalformed", err)
			}
			return
		}
		again, err := Decode(Append(nil, m)[headerBytes:])
		if err != nil {
			t.Fatalf("decode what was written: %v", err)
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Errorf("round trip (-first +second):\n%s", diff)
		}
	})
}
