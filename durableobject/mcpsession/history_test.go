package mcpsession

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

func newStorage(t *testing.T) *durableobject.Storage {
	t.Helper()
	s, err := storage.Open(storage.Options{Dir: "store", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.Object("mcp-Execution", objectid.ID{1}, storage.Hooks{})
}

func callOf(path string, taken ...uint64) *sandboxpb.ToolCall {
	c := &sandboxpb.ToolCall{Path: path, ArgumentsJson: []byte(`{"a":1}`), Timers: uint64(len(taken))}
	for _, id := range taken {
		c.Taken = append(c.Taken, &sandboxpb.Taken{CallId: id, Timers: id, ActiveNs: 1 << 40})
	}
	return c
}

// noted takes a call that must not diverge.
func noted(t *testing.T, h *history, c *sandboxpb.ToolCall) *entry {
	t.Helper()
	e, err := h.note(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// What is stored of a history is what comes back, whenever parts of it were stored.
func TestHistoryComesBack(t *testing.T) {
	t.Parallel()
	s, h := newStorage(t), &history{}
	write := func() {
		t.Helper()
		if err := h.write(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	one := noted(t, h, callOf("one"))
	two := noted(t, h, callOf("two"))
	if h.begin(one) || h.settle(one, &resultRecord{Value: []byte("1"), SettledMS: 5}) {
		t.Error("it is to be stored before the first pause")
	}
	write()
	noted(t, h, callOf("three", 1))
	h.answer(2, actionAccept)
	if !h.begin(two) || !h.settle(two, &resultRecord{Value: []byte("no"), Thrown: true}) {
		t.Error("it is not to be stored after the first pause")
	}
	write()

	again, err := loadHistory(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(h.entries, again.entries, cmp.AllowUnexported(entry{}), cmp.FilterPath(func(p cmp.Path) bool {
		return strings.HasSuffix(p.String(), "Written")
	}, cmp.Ignore())); d != "" || again.bytes != h.bytes || !again.replayable() {
		t.Errorf("entries, %d bytes of %d (-want +got):\n%s", again.bytes, h.bytes, d)
	}
	again.again()
	want := &sandboxpb.Replay{Timers: 1, Taken: []*sandboxpb.Taken{{CallId: 1, Timers: 1, ActiveNs: 1 << 40}}}
	if d := cmp.Diff(want, again.replay(), protocmp.Transform()); d != "" {
		t.Errorf("replay (-want +got):\n%s", d)
	}
	noted(t, again, callOf("one"))
	if n, e := again.unmade(); n != 2 || e.call.Path != "two" {
		t.Errorf("the first call that was not made again is %d, %+v", n, e)
	}
}

// A program that is run again, and comes to too much on the way, finds what its calls came to before all the same.
func TestFullHistoryRepeatsNothing(t *testing.T) {
	t.Parallel()
	h := &history{stored: true}
	first := noted(t, h, callOf("first"))
	for _, path := range []string{"second", "third"} {
		e := noted(t, h, callOf(path))
		h.begin(e)
		h.settle(e, &resultRecord{Value: []byte(`"done"`)})
	}
	h.answer(1, actionAccept)
	h.again()

	if e := noted(t, h, callOf("first")); e != first {
		t.Fatal("the first call is another one")
	}
	h.settle(first, &resultRecord{Value: make([]byte, maxHistoryBytes)})
	if h.kept() {
		t.Fatal("the history is not full")
	}
	if result, _, begun := h.state(noted(t, h, callOf("second"))); result == nil || !begun {
		t.Error("the second call would be made again")
	}
	if n, e := h.unmade(); n != 3 || e.call.Path != "third" {
		t.Errorf("the call that is still to be made is %d", n)
	}
	if result, _, _ := h.state(noted(t, h, callOf("third"))); result == nil || h.entries != nil {
		t.Errorf("the third call would be made again, or %d calls are kept for nothing", len(h.entries))
	}
	if result, _, _ := h.state(noted(t, h, callOf("fourth"))); result != nil || h.kept() {
		t.Error("a new call is none")
	}
}

// What is damaged is refused, rather than run again from somewhere else.
func TestDamagedHistory(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		remove string
		put    string
		want   string
	}{
		{"a call is missing", historyKey(callsPrefix, 1), "", "call 1 is missing"},
		{"the last call of a result is missing", historyKey(callsPrefix, 2), "", "result/000002 belongs to no call"},
		{"a call is garbage", "", historyKey(callsPrefix, 2), "read call 2: "},
		{"a result is garbage", "", historyKey(resultsPrefix, 1), "read the result of call 1: "},
		{"a result of no call", "", historyKey(resultsPrefix, 9), "result/000009 belongs to no call"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, h := newStorage(t), &history{}
			for n := range 2 {
				h.settle(noted(t, h, callOf(fmt.Sprint(n))), &resultRecord{Value: []byte("1")})
			}
			if err := h.write(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if tc.remove != "" {
				if _, err := durableobject.Delete(t.Context(), s, tc.remove); err != nil {
					t.Fatal(err)
				}
			}
			if tc.put != "" {
				err := s.Put(t.Context(), []storage.Entry{{Key: tc.put, Value: []byte("garbage")}}, storage.PutOptions{})
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := loadHistory(t.Context(), s); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// What is kept is bounded by calls and by bytes; beyond, nothing is kept and nothing diverges.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	h := &history{}
	for range maxHistoryCalls {
		noted(t, h, callOf("x"))
	}
	if !h.kept() {
		t.Error("it is full too early")
	}
	noted(t, h, callOf("x"))
	if h.kept() || h.entries != nil || h.replayable() {
		t.Error("one more is kept")
	}
	noted(t, h, callOf("y"))
	if _, e := h.unmade(); e != nil {
		t.Errorf("a call is to be made again: %+v", e)
	}
	h = &history{}
	h.settle(noted(t, h, callOf("x")), &resultRecord{Value: make([]byte, maxHistoryBytes)})
	if h.kept() {
		t.Error("too many bytes are kept")
	}
}
