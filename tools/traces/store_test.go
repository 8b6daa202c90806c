package traces

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

// open opens a store on mem with small bounds.
func open(t *testing.T, mem vfs.FS, maxBytes int64) *store {
	t.Helper()
	s, err := openStoreIn(mem, "traces", Options{
		MaxAge: time.Hour, MaxBytes: maxBytes, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// numbered returns the spans numbered from to to-1, ten to a trace.
func numbered(from, to int) []span {
	var out []span
	for i := from; i < to; i++ {
		s := span{name: fmt.Sprint(i), service: "x", tags: []tag{{"k", strings.Repeat("v", 100)}}}
		binary.BigEndian.PutUint64(s.trace[8:], uint64(i/10+1))
		binary.BigEndian.PutUint64(s.id[:], uint64(i+1))
		out = append(out, s)
	}
	return out
}

// check recounts the store and compares it with its accounting. It returns the kept names, oldest first.
func check(t *testing.T, s *store) []string {
	t.Helper()
	it, err := s.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var bytes int64
	var names []string
	index := 0
	for ok := it.First(); ok; ok = it.Next() {
		switch it.Key()[0] {
		case keyTime:
			var v view
			if err := v.decode(it.Value()); err != nil {
				t.Fatal(err)
			}
			names = append(names, string(v.name))
			bytes += int64(len(it.Key()) + len(it.Value()))
		case keyIndex:
			index++
			bytes += int64(len(it.Key()) + len(it.Value()))
		}
	}
	if index != len(names) || bytes != s.bytes {
		t.Errorf("%d spans, %d index entries, %d bytes; accounted %d", len(names), index, bytes, s.bytes)
	}
	return names
}

func TestBoundedBySize(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	s := open(t, mem, minMaxBytes)
	for i := range 40 {
		if err := s.add(numbered(i*25, i*25+25)); err != nil {
			t.Fatal(err)
		}
		if s.bytes > minMaxBytes {
			t.Fatalf("%d bytes kept", s.bytes)
		}
	}
	names := check(t, s)
	if len(names) < 200 || names[len(names)-1] != "999" || names[0] != fmt.Sprint(1000-len(names)) {
		t.Errorf("kept %d spans, %s to %s", len(names), names[0], names[len(names)-1])
	}
	before, bytes := names, s.bytes
	if err := s.close(); err != nil {
		t.Fatal(err)
	}

	// The accounting and the order hold after a restart, even when the clock went back meanwhile.
	s = open(t, mem, minMaxBytes)
	s.seq += uint64(time.Hour)
	if s.bytes != bytes || !cmp.Equal(check(t, s), before) {
		t.Errorf("after restart %d bytes, want %d", s.bytes, bytes)
	}
	if err := s.add(numbered(1000, 1001)); err != nil {
		t.Fatal(err)
	}
	if names := check(t, s); names[len(names)-1] != "1000" {
		t.Errorf("newest is %s", names[len(names)-1])
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	// A smaller bound holds from the start.
	s = open(t, mem, minMaxBytes/2)
	if s.bytes > minMaxBytes/2 {
		t.Errorf("%d bytes kept", s.bytes)
	}
	check(t, s)
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

func TestBoundedByAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, vfs.NewMem(), 1<<20)
		defer s.close()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = s.trimUntil(ctx) }()
		defer func() { cancel(); <-done }()
		if err := s.add(numbered(0, trimBatch/4)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		if err := s.add(numbered(9000, 9002)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Minute)
		synctest.Wait()
		if got := check(t, s); !cmp.Equal(got, []string{"9000", "9001"}) {
			t.Errorf("kept %v", got)
		}
		found, err := s.search(t.Context(), query{since: time.Now().Add(-30 * time.Minute), limit: 9})
		if err != nil || len(found) != 0 {
			t.Errorf("lookback of 30m found %d, %v", len(found), err)
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if got := check(t, s); len(got) != 0 || s.bytes != 0 {
			t.Errorf("kept %v, %d bytes", got, s.bytes)
		}
	})
}

// An exporter that missed our reply sends its batch again; each span is there once.
func TestExportedAgain(t *testing.T) {
	t.Parallel()
	s := open(t, vfs.NewMem(), 1<<20)
	defer s.close()
	spans := numbered(0, 3)
	for range 2 {
		if err := s.add(append(spans, spans[1])); err != nil {
			t.Fatal(err)
		}
	}
	if got := check(t, s); !cmp.Equal(got, []string{"0", "2", "1"}) {
		t.Errorf("kept %v", got)
	}
}

func TestRootOfTrace(t *testing.T) {
	t.Parallel()
	s := open(t, vfs.NewMem(), 1<<20)
	defer s.close()
	at := func(name string, id, parent byte, start uint64) span {
		return span{trace: traceID{1}, id: spanID{id}, parent: spanID{parent}, name: name, start: start, end: start + 5}
	}
	for _, tt := range []struct {
		add  span
		root string
	}{
		{at("late", 3, 9, 30), "late"},
		{at("early", 2, 9, 20), "early"},
		{at("root", 5, 0, 25), "root"},
		{at("earlier", 6, 9, 10), "root"},
	} {
		if err := s.add([]span{tt.add}); err != nil {
			t.Fatal(err)
		}
		sum, err := s.summarize(t.Context(), traceID{1})
		if err != nil || sum.root != tt.root {
			t.Errorf("after %s: root %q, want %q (%v)", tt.add.name, sum.root, tt.root, err)
		}
	}
	sum, _ := s.summarize(t.Context(), traceID{1})
	if sum.start != 10 || sum.end != 35 || sum.spans != 4 {
		t.Errorf("summary %+v", sum)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	at := func(id, parent byte) span { return span{id: spanID{id}, parent: spanID{parent}} }
	for _, tt := range []struct {
		name  string
		spans []span
		want  string
	}{
		{"children in order of start", []span{at(1, 0), at(2, 1), at(3, 2), at(4, 1)}, "1 .2 ..3 .4 "},
		{"parent elsewhere", []span{at(2, 9), at(1, 0)}, "2 1 "},
		{"ring", []span{at(1, 0), at(2, 3), at(3, 2)}, "1 2 .3 "},
		{"own parent", []span{at(1, 1), at(2, 1)}, "1 .2 "},
	} {
		got := ""
		for _, row := range tree(tt.spans) {
			got += strings.Repeat(".", row.depth) + fmt.Sprint(row.span.id[0]) + " "
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// contents reads every file under dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRefusedDirectories(t *testing.T) {
	t.Parallel()
	options := func(dir string) Options {
		return Options{Dir: dir, MaxAge: time.Hour, MaxBytes: 1 << 20, Log: slog.New(slog.DiscardHandler)}
	}
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  string
	}{
		{"newer", func(t *testing.T, dir string) {
			setRaw(t, dir, []byte{keyFormat}, []byte{formatVersion + 1})
		}, "format version 2 is newer than 1"},
		{"no version", func(t *testing.T, dir string) { setRaw(t, dir, []byte{keyFormat}, nil) },
			"format version is damaged"},
		{"damaged manifest", func(t *testing.T, dir string) {
			names, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
			if err != nil || len(names) == 0 {
				t.Fatal(names, err)
			}
			for _, name := range names {
				if err := os.WriteFile(name, []byte("garbage garbage"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}, "damaged"},
		{"foreign files", func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "neither empty nor a trace store"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "traces")
			s, err := openStore(options(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.close(); err != nil {
				t.Fatal(err)
			}
			tt.spoil(t, dir)
			before := contents(t, dir)
			_, err = openStore(options(dir))
			if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s and %q", err, dir, tt.want)
			}
			if d := cmp.Diff(before, contents(t, dir)); d != "" {
				t.Errorf("the directory changed: %.300s", d)
			}
		})
	}
}

func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{Dir: dir, MaxAge: time.Hour, MaxBytes: 1 << 20, Log: slog.New(slog.DiscardHandler)}
	s, err := openStore(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if _, err := openStore(o); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("second open: %v", err)
	}
}

func setRaw(t *testing.T, dir string, key, value []byte) {
	t.Helper()
	db, err := pebble.Open(dir, pebbleOptions(vfs.Default, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Set(key, value, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
