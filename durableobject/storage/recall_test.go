package storage

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/proto/objectid"
)

// What an object remembers is what is on disk, whatever was done to it, and within its limits.
func TestRecall(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := Open(Options{Dir: "s", FS: vfs.NewMem(), RecallBytes: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o := s.Object("n", objectid.ID{1}, Hooks{})
	put := func(key, value string, opts PutOptions) {
		t.Helper()
		if err := o.Put(ctx, []Entry{{key, []byte(value)}}, opts); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what, key, value string, known bool) {
		t.Helper()
		o.mu.Lock()
		w, remembered := o.recall.get(key)
		o.mu.Unlock()
		if remembered != known {
			t.Errorf("%s: %s is remembered: %v, want %v", what, key, remembered, known)
		}
		if remembered && string(w.value) != value {
			t.Errorf("%s: remembered %q, want %q", what, w.value, value)
		}
		got, ok, err := o.Get(ctx, key, GetOptions{NoCache: true})
		if err != nil || string(got) != value || ok != (value != "") {
			t.Errorf("%s: got %q, %v, %v, want %q", what, got, ok, err, value)
		}
	}
	put("a", "1", PutOptions{})
	want("pending", "a", "1", false)
	o.Flush()
	want("flushed", "a", "1", true)
	put("a", "2", PutOptions{})
	o.Discard()
	want("discarded", "a", "1", true)
	put("a", "3", PutOptions{NoCache: true})
	o.Flush()
	want("written without the cache", "a", "3", false)
	if _, _, err := o.Get(ctx, "a", GetOptions{}); err != nil {
		t.Fatal(err)
	}
	want("read", "a", "3", true)
	if _, err := o.Delete(ctx, []string{"a"}, PutOptions{}); err != nil {
		t.Fatal(err)
	}
	o.Flush()
	want("deleted", "a", "", true)
	put("b", "1", PutOptions{})
	o.Flush()
	if err := o.DeleteAll(ctx); err != nil {
		t.Fatal(err)
	}
	put("c", "1", PutOptions{})
	o.Flush()
	want("all deleted", "b", "", false)
	want("written after that", "c", "1", true)
	put("c", strings.Repeat("x", maxRecalledBytes), PutOptions{})
	o.Flush()
	want("too large", "c", strings.Repeat("x", maxRecalledBytes), false)
	for i := range 3 * maxRecalled {
		put(fmt.Sprint("k", i), strings.Repeat("v", 1000), PutOptions{})
		o.Flush()
		want("one of many", fmt.Sprint("k", i), strings.Repeat("v", 1000), true)
	}
	if n := o.recall.bytes; n > maxRecallBytes || int64(n) != s.recalled.Load() {
		t.Errorf("%d bytes are remembered, the store counts %d", n, s.recalled.Load())
	}
	other := s.Object("n", objectid.ID{2}, Hooks{})
	for i := range 10 {
		if err := other.Put(ctx, []Entry{{fmt.Sprint("k", i), make([]byte, 1000)}}, PutOptions{}); err != nil {
			t.Fatal(err)
		}
		other.Flush()
	}
	if n := s.recalled.Load(); n > 10_000 {
		t.Errorf("the objects of the store remember %d bytes", n)
	}
	o.Close()
	other.Close()
	if n := s.recalled.Load(); n != 0 {
		t.Errorf("%d bytes are remembered of closed objects", n)
	}
}
