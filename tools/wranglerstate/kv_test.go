package wranglerstate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/durableobject/service/kv"
	"github.com/tandem-do/tandem/durableobject/storage"
	kvproto "github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

// kvRow is a key as miniflare stores it.
type kvRow struct {
	key, value, metadata string
	// expires is in milliseconds since 1970.
	expires int64
	// lost leaves the file of the value out; blob is the file's name, or empty for one of the test's.
	lost bool
	blob string
}

// writeKV writes a namespace as miniflare does.
func writeKV(t *testing.T, state, id string, rows ...kvRow) (database string) {
	t.Helper()
	dir := filepath.Join(state, "v3", "kv")
	blobs := filepath.Join(dir, id, "blobs")
	database = filepath.Join(dir, kvUniqueKey, objectid.NewNamespace(kvUniqueKey).FromName(id).String()+sqliteSuffix)
	for _, d := range []string{blobs, filepath.Dir(database)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sql := `CREATE TABLE _mf_entries (key TEXT PRIMARY KEY, blob_id TEXT NOT NULL, expiration INTEGER, metadata TEXT);`
	for i, r := range rows {
		name := r.blob
		if name == "" {
			name = fmt.Sprintf("%064x%016x", i, i)
		}
		if !r.lost {
			write(t, filepath.Join(blobs, name), []byte(r.value))
		}
		sql += fmt.Sprintf("INSERT INTO _mf_entries VALUES (%s, %s, nullif(%d, 0), nullif(%s, ''));",
			sqlite3.Quote(r.key), sqlite3.Quote(name), r.expires, sqlite3.Quote(r.metadata))
	}
	if err := writeDatabase(database, fake{SQL: sql}); err != nil {
		t.Fatal(err)
	}
	return database
}

// kvState is what a host of the target says of keys of a namespace.
func kvState(t *testing.T, dir, id string, keys ...string) map[string]kvproto.Entry {
	t.Helper()
	s, err := storage.Open(storage.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	router, err := sidecar.Dial("127.0.0.1:1") // lazy: nobody calls it
	if err != nil {
		t.Fatal(err)
	}
	defer router.Close()
	h, err := host.New(host.Options{Worker: "w", Router: router, Services: []durableobject.Class{kv.Class()}}, s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]kvproto.Entry{}
	for _, key := range keys {
		stub := binding.NewNamespace(kvproto.UniqueKey, h.Local()).GetByName(kvproto.ObjectName(id, kvproto.Shard(key)))
		r, err := durableobject.Call[kvproto.GetResult](t.Context(), stub, kvproto.MethodGet, kvproto.Get{Keys: []string{key}})
		if err != nil {
			t.Fatal(err)
		}
		got[key] = r.Entries[0]
	}
	if err := h.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	return got
}

// TestKV: values of all sizes, metadata and expirations come over; a second import finds them; what has other state is
// left alone unless it is to be replaced.
func TestKV(t *testing.T) {
	t.Parallel()
	state, target := t.TempDir(), t.TempDir()
	tomorrow := time.Now().Add(24 * time.Hour).Unix()
	large := strings.Repeat("x", 200_000)
	writeKV(t, state, "0123abcd",
		kvRow{key: "text", value: "hello"}, kvRow{key: "empty"}, kvRow{key: "weird/☃ ../x", value: "\x00\xff"},
		kvRow{key: "large", value: large}, kvRow{key: "meta", value: "v", metadata: `{"a":[1,"é"]}`},
		kvRow{key: "expires", value: "soon", expires: tomorrow*1000 + 5}, kvRow{key: "gone", value: "x", expires: 1000},
	)
	writeKV(t, state, "BINDING", kvRow{key: "text", value: "another"})
	writeKV(t, state, "unused")
	dry := doImport(t, state, target, func(o *Options) { o.DryRun = true }).ok()
	dry.want("7 keys: 6 to import, 1 expired\n  to import: 200.1 kB, 1 with metadata, 1 that expire\n")
	i := doImport(t, state, target, nil).ok()
	want := `KV 0123abcd (v3/kv/0123abcd)
  7 keys: 6 imported, 1 expired
  imported: 200.1 kB, 1 with metadata, 1 that expire
KV BINDING (v3/kv/BINDING)
  1 key: 1 imported
  imported: 11 bytes, 0 with metadata, 0 that expire
imported 0 objects and 7 keys of KV, 200.1 kB
`
	if diff := cmp.Diff(want, i.text()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	got := kvState(t, target, "0123abcd", "text", "empty", "weird/☃ ../x", "large", "meta", "expires", "gone")
	if diff := cmp.Diff(map[string]kvproto.Entry{
		"text": {Found: true, Value: []byte("hello")}, "empty": {Found: true, Value: []byte{}}, "gone": {Value: []byte{}},
		"weird/☃ ../x": {Found: true, Value: []byte("\x00\xff")}, "large": {Found: true, Value: []byte(large)},
		"meta":    {Found: true, Value: []byte("v"), Metadata: `{"a":[1,"é"]}`},
		"expires": {Found: true, Value: []byte("soon"), Expiration: tomorrow},
	}, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}

	doImport(t, state, target, nil).ok().want("0 imported, 6 already there, 1 expired", "1 key: 0 imported, 1 already there")
	again := t.TempDir()
	writeKV(t, again, "0123abcd", kvRow{key: "text", value: "other"}, kvRow{key: "new", value: "n"})
	kept := doImport(t, again, target, nil)
	kept.want("2 keys: 1 imported", "1: has other state in the target, skipped (--overwrite replaces it)\n    \"text\"")
	if kept.report.Err() == nil {
		t.Error("a conflict is no error")
	}
	doImport(t, again, target, func(o *Options) { o.Overwrite = true }).ok().want("1 imported, 1 already there")
	if got := kvState(t, target, "0123abcd", "text"); string(got["text"].Value) != "other" {
		t.Errorf("after overwriting: %q", got["text"].Value)
	}
}

// TestKVFaults: what can't come over is named, and the rest does.
func TestKVFaults(t *testing.T) {
	t.Parallel()
	state, target := t.TempDir(), t.TempDir()
	good := kvRow{key: "good", value: "1"}
	writeKV(t, state, "faults", good,
		kvRow{key: "lost", lost: true}, kvRow{key: "outside", blob: "../../x", lost: true},
		kvRow{key: strings.Repeat("k", 513), value: "x"}, kvRow{key: "meta", metadata: "{"},
		kvRow{key: "huge", value: strings.Repeat("v", kvproto.MaxValueBytes+1)},
	)
	damaged := writeKV(t, state, "damaged", good)
	write(t, damaged, []byte(strings.Repeat("no database ", 1000)))
	homeless := writeKV(t, state, "homeless", good)
	if err := os.RemoveAll(filepath.Join(state, "v3", "kv", "homeless")); err != nil {
		t.Fatal(err)
	}
	i := doImport(t, state, target, nil)
	i.want(
		"6 keys: 1 imported",
		`"lost": open `, `"outside": its value's file has the name "../../x"`,
		"UTF-8 encoded length of 513 exceeds key length limit of 512.", `"meta": Metadata must be valid JSON`,
		`"huge": Value length of 26214401 exceeds limit of 26214400.`,
		"KV damaged (v3/kv/damaged)\n  0 keys: 0 imported\n  1: corrupt, skipped",
		strings.TrimSuffix(filepath.Base(homeless), sqliteSuffix)+": there is no folder of the namespace's values",
		"imported 0 objects and 1 key of KV",
	)
	if i.report.Err() == nil {
		t.Error("faults are no error")
	}
}

// TestKVInParts: a namespace of more than is written at a time comes over whole.
func TestKVInParts(t *testing.T) {
	t.Parallel()
	state, target := t.TempDir(), t.TempDir()
	var rows []kvRow
	var keys []string
	for n := range 30 {
		keys = append(keys, fmt.Sprint("key ", n))
		rows = append(rows, kvRow{key: keys[n], value: strings.Repeat("x", 1<<20)})
	}
	writeKV(t, state, "parts", rows...)
	doImport(t, state, target, nil).ok().want("30 keys: 30 imported")
	for key, e := range kvState(t, target, "parts", keys...) {
		if len(e.Value) != 1<<20 {
			t.Errorf("%s: %d bytes", key, len(e.Value))
		}
	}
}
