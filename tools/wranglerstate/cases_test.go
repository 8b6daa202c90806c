package wranglerstate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
)

func TestAlarmTables(t *testing.T) {
	t.Parallel()
	ns, nanos := later().UnixMilli(), later().UnixNano()
	own := later().Add(time.Hour)
	for _, test := range []struct {
		name  string
		named bool
		rows  []string
		file  *fake
		want  state
	}{
		{"two columns", false, []string{"%, 4102444800123000000"}, &fake{}, state{Alarm: ns}},
		{"three columns", true, []string{"%, 4102444800123000000, 'ada'"}, &fake{}, state{Alarm: ns, Name: "ada"}},
		{"no name", true, []string{"%, 4102444800123000000, NULL"}, &fake{}, state{Alarm: ns}},
		{"a name that is not its own", true, []string{"%, 4102444800123000000, 'eve'"}, &fake{}, state{Alarm: ns}},
		{"no database", true, []string{"%, 4102444800123000000, 'ada'"}, nil, state{Alarm: ns, Name: "ada"}},
		{"the object's own time has precedence", true, []string{"%, 1, 'ada'"},
			&fake{Alarm: new(own.UnixNano())}, state{Alarm: own.UnixMilli(), Name: "ada"}},
		{"and so has that it has none", true, []string{"%, 4102444800123000000, 'ada'"},
			&fake{Alarm: new(int64), Values: map[string]string{"k": v8(t, true)}},
			state{Name: "ada", Values: map[string]string{"k": v8(t, true)}}},
		{"own alone", false, nil, &fake{Alarm: &nanos}, state{Alarm: ns}},
		{"rounded up, so as not to be early", false, nil, &fake{Alarm: new(nanos + 1)}, state{Alarm: ns + 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, id := t.TempDir(), room().FromName("ada")
			if test.file != nil {
				writeFake(t, dir, id.String(), *test.file)
			}
			for i, row := range test.rows {
				test.rows[i] = strings.Replace(row, "%", "'"+id.String()+"'", 1)
			}
			if test.rows != nil {
				writeAlarms(t, dir, test.named, test.rows...)
			}
			i := doImport(t, dir, t.TempDir(), nil).ok()
			if test.want.Values == nil {
				test.want.Values = map[string]string{}
			}
			if diff := cmp.Diff(test.want, stateOf(t, i.store(), "chat-Room", id)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Each fault is named; what is beside it comes over all the same.
func TestFaults(t *testing.T) {
	t.Parallel()
	good := map[string]string{"k": v8(t, "good")}
	id := room().FromName("ada").String()
	long := strings.Repeat("k", 2049)
	for _, test := range []struct {
		name  string
		write func(t *testing.T, dir string)
		want  string
	}{
		{"not a database", func(t *testing.T, dir string) {
			path := writeFake(t, dir, id, fake{})
			write(t, path, []byte(strings.Repeat("garbage ", 1000)))
		}, "1: corrupt, skipped\n    " + id + ": "},
		{"a damaged page", func(t *testing.T, dir string) {
			path := writeFake(t, dir, id, fake{Values: map[string]string{"a": v8(t, strings.Repeat("x", 20000)), "b": v8(t, 1.0)}})
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			copy(data[4096:], make([]byte, 64))
			write(t, path, data)
		}, "1: corrupt, skipped\n    " + id + ": "},
		{"cut short", func(t *testing.T, dir string) {
			path := writeFake(t, dir, id, fake{Values: map[string]string{"a": v8(t, strings.Repeat("x", 20000))}})
			if err := os.Truncate(path, 8192); err != nil {
				t.Fatal(err)
			}
		}, "1: corrupt, skipped\n    " + id + ": "},
		{"a hot journal", func(t *testing.T, dir string) {
			write(t, writeFake(t, dir, id, fake{Values: good})+"-journal", []byte("x"))
		}, "1: could not be read, skipped\n    " + id + ": a transaction in its -journal file"},
		{"a directory", func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, "chat-Room", id+sqliteSuffix), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "1: could not be read, skipped\n    " + id + ": "},
		{"an ID of another namespace", func(t *testing.T, dir string) {
			writeFake(t, dir, objectid.NewNamespace("chat-Other").FromName("ada").String(), fake{Values: good})
		}, "1: the ID was not made for this unique key, skipped\n    " + objectid.NewNamespace("chat-Other").FromName("ada").String()},
		{"an alarm of another namespace", func(t *testing.T, dir string) {
			writeAlarms(t, dir, false, "'"+objectid.NewNamespace("chat-Other").FromName("ada").String()+"', 4102444800123000000")
		}, "1: the ID was not made for this unique key"},
		{"a file of another name", func(t *testing.T, dir string) { writeFake(t, dir, "backup", fake{Values: good}) },
			"1: not named like an object, skipped\n    backup.sqlite\n"},
		{"a value that is none", func(t *testing.T, dir string) {
			writeFake(t, dir, id, fake{Values: map[string]string{"bad": "\xff\x0f!", "k": v8(t, 1.0)}})
		}, "1: has values that can't come over\n    " + id + `: key "bad": `},
		{"a key that is too long", func(t *testing.T, dir string) {
			writeFake(t, dir, id, fake{Values: map[string]string{long: v8(t, 1.0)}})
		}, `…": its key has 2049 bytes, at most 2048`},
		{"an impossible alarm", func(t *testing.T, dir string) {
			writeFake(t, dir, id, fake{Alarm: new(int64(-1e9)), Values: good})
		}, "1: has an alarm at an impossible time, which was left out\n    " + id + ": alarm at 1969-12-31T23:59:59Z"},
		{"damaged alarms", func(t *testing.T, dir string) {
			write(t, writeFake(t, dir, "metadata", fake{}), []byte("garbage"))
		}, "1: corrupt, skipped\n    metadata.sqlite: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			beside := room().FromName("beside")
			writeFake(t, dir, beside.String(), fake{Values: good})
			test.write(t, dir)
			i := doImport(t, dir, t.TempDir(), nil)
			i.want(test.want)
			if i.report.Err() == nil {
				t.Error("the report has no error")
			}
			if got := stateOf(t, i.store(), "chat-Room", beside); !cmp.Equal(got.Values, good) {
				t.Errorf("the object beside it is %v", got)
			}
		})
	}
}

// Facets are named and, as nothing can be done about them, no error.
func TestFacets(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), room().FromName("ada").String()
	writeFake(t, dir, id, fake{Values: map[string]string{"k": v8(t, 1.0)}})
	writeFake(t, dir, id+".1", fake{})
	write(t, filepath.Join(dir, "chat-Room", id+".facets"), nil)
	doImport(t, dir, t.TempDir(), nil).ok().want("2: facets can't be imported yet\n    " + id + ".1.sqlite\n    " + id + ".facets\n")
}

func TestPartial(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), room().FromName("ada")
	writeFake(t, dir, id.String(), fake{Values: map[string]string{"bad": "\xff\x0f!", "k": v8(t, 1.0)}})
	target := t.TempDir()
	i := doImport(t, dir, target, nil)
	if n := i.only(); n.Imported != 0 {
		t.Errorf("imported %d objects without --partial", n.Imported)
	}
	i = doImport(t, dir, target, func(o *Options) { o.Partial = true })
	i.want(`key "bad": offset 3: not a serialized value`)
	if got := stateOf(t, i.store(), "chat-Room", id); !cmp.Equal(got.Values, map[string]string{"k": v8(t, 1.0)}) {
		t.Errorf("got %v", got)
	}
}

func TestAgain(t *testing.T) {
	t.Parallel()
	dir, target := t.TempDir(), t.TempDir()
	ada, ben := room().FromName("ada"), room().FromName("ben")
	past := time.Now().Add(-time.Hour).UnixNano()
	values := map[string]string{"a": v8(t, 1.0), "b": v8(t, "two")}
	writeFake(t, dir, ada.String(), fake{Values: values, Alarm: &past})
	writeFake(t, dir, ben.String(), fake{Values: values})
	if n := doImport(t, dir, target, nil).ok().only(); n.Imported != 2 || n.Unchanged != 0 || n.Alarms != 1 {
		t.Fatalf("first: %+v", n)
	}
	if n := doImport(t, dir, target, nil).ok().only(); n.Imported != 0 || n.Unchanged != 2 {
		t.Fatalf("again: %+v", n)
	}
	for name, change := range map[string]func(o *storage.Object) error{
		"another value": func(o *storage.Object) error {
			return o.Put(t.Context(), []storage.Entry{{Key: "b", Value: []byte(v8(t, 3.0))}}, storage.PutOptions{})
		},
		"one more key": func(o *storage.Object) error {
			return o.Put(t.Context(), []storage.Entry{{Key: "c", Value: []byte(v8(t, 3.0))}}, storage.PutOptions{})
		},
		"one key less": func(o *storage.Object) error {
			_, err := o.Delete(t.Context(), []string{"b"}, storage.PutOptions{})
			return err
		},
		"an alarm": func(o *storage.Object) error { return o.SetAlarm(t.Context(), later(), storage.PutOptions{}) },
	} {
		edit(t, target, ben, change)
		i := doImport(t, dir, target, nil)
		i.want("1 already there", "1: has other state in the target, skipped (--overwrite replaces it)\n    "+ben.String())
		if i.report.Err() == nil {
			t.Errorf("%s: a conflict is no error", name)
		}
		n := doImport(t, dir, target, func(o *Options) { o.Overwrite = true }).ok().only()
		if n.Imported != 1 || n.Unchanged != 1 {
			t.Errorf("%s: overwriting: %+v", name, n)
		}
	}
	s := imported{T: t, dir: target}.store()
	if diff := cmp.Diff(state{Values: values}, stateOf(t, s, "chat-Room", ben)); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
}

// edit changes an object in the target.
func edit(t *testing.T, target string, id objectid.ID, change func(o *storage.Object) error) {
	t.Helper()
	s, err := storage.Open(storage.Options{Dir: target})
	if err != nil {
		t.Fatal(err)
	}
	o := s.Object("chat-Room", id, storage.Hooks{})
	if err := errors.Join(change(o), flush(t.Context(), o), s.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "none", "objects")
	dry := func(o *Options) { o.DryRun = true }
	doImport(t, "testdata/wrangler", target, dry).ok().want("to import 7 objects", "5 objects: 4 to import, 1 empty")
	if _, err := os.Stat(filepath.Dir(target)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the target was made: %v", err)
	}
	i := doImport(t, "testdata/wrangler", target, nil).ok()
	doImport(t, "testdata/wrangler", target, dry).ok().want("to import 0 objects", "4 already there")
	id := objectid.NewNamespace("recorded-Room").FromName("values")
	if got := stateOf(t, i.store(), "recorded-Room", id); len(got.Values) < 40 {
		t.Errorf("got %d values after a dry run over them", len(got.Values))
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	values := map[string]string{"k": v8(t, 1.0)}
	writeFake(t, dir, room().FromName("ada").String(), fake{Values: values})
	writeFake(t, dir, room().FromName("ben").String(), fake{Values: values, Alarm: new(later().UnixNano())})
	writeAlarms(t, dir, true, "'"+room().FromName("ben").String()+"', 4102444800123000000, 'ben'")
	lost := room().NewUnique()
	writeFake(t, dir, lost.String(), fake{Values: values})
	i := doImport(t, dir, t.TempDir(), func(o *Options) {
		o.Rename = map[string]string{"chat-Room": "talk-Space"}
		o.Names = []string{"eve", "ada"}
	})
	i.want("chat-Room as talk-Space (chat-Room)", "2 imported",
		"1: renaming needs the object's name, which is not known (--names), skipped\n    "+lost.String())
	s := i.store()
	to := objectid.NewNamespace("talk-Space")
	for name, want := range map[string]state{
		"ada": {Name: "ada", Values: values}, "ben": {Name: "ben", Alarm: later().UnixMilli(), Values: values},
	} {
		if diff := cmp.Diff(want, stateOf(t, s, "talk-Space", to.FromName(name))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	_, err := Import(t.Context(), Options{Source: dir, Target: t.TempDir(), Rename: map[string]string{"chat-Rom": "x"}})
	if err == nil || !strings.Contains(err.Error(), `no namespace "chat-Rom"`) || !strings.Contains(err.Error(), "chat-Room") {
		t.Errorf("renaming a namespace that is not there: %v", err)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	values := fake{Values: map[string]string{"k": v8(t, 1.0)}}
	state := filepath.Join(project, ".wrangler", "state")
	id := room().FromName("ada").String()
	writeFake(t, filepath.Join(state, "v3", "do"), id, values)
	other := filepath.Join(state, "v3", "kv", "miniflare-KVNamespaceObject", id+sqliteSuffix)
	queue := filepath.Join(state, "workerd", "queues", "QueueShard", id+sqliteSuffix)
	for _, path := range []string{other, queue} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, nil)
	}
	writeFake(t, filepath.Join(state, "workerd"), room().FromName("ben").String(), values)
	both := []string{"imported 2 objects", "v3/kv\n  not importable yet: state of the platform, 1 database",
		"workerd/queues\n  not importable yet: state of the platform, 1 database"}
	for name, test := range map[string]struct {
		dir  string
		want []string
	}{
		"project": {project, both}, ".wrangler": {filepath.Join(project, ".wrangler"), both}, "state": {state, both},
		"v3": {filepath.Join(state, "v3"), []string{"chat-Room (do/chat-Room)", "imported 1 object,", "kv\n  not importable"}},
		"do": {filepath.Join(state, "v3", "do"), []string{"chat-Room (chat-Room)", "imported 1 object,"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doImport(t, test.dir, t.TempDir(), nil).ok().want(test.want...)
		})
	}
	for name, dir := range map[string]string{"empty": t.TempDir(), "missing": filepath.Join(project, "no")} {
		target := filepath.Join(t.TempDir(), "objects")
		_, err := Import(t.Context(), Options{Source: dir, Target: target})
		if err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(target); err == nil {
			t.Errorf("%s: the target was made", name)
		}
	}
}

// An object of more than wholeBytes is written in parts. What a killed import leaves of it is removed by the next one.
func TestParts(t *testing.T) {
	t.Parallel()
	dir, target, id := t.TempDir(), t.TempDir(), room().FromName("ada")
	writeFake(t, dir, id.String(), fake{Alarm: new(later().UnixNano()), SQL: `
		CREATE TABLE _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
		WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i+1 FROM n WHERE i < 33)
		INSERT INTO _cf_KV SELECT printf('%03d', i), x'ff0f420080808001' FROM n;
		UPDATE _cf_KV SET value = CAST(x'ff0f22808040' || printf('%1048576s', key) AS BLOB)`})
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	copied := int64(0)
	im := &importer{Options: Options{Source: dir}, report: &Report{}} // it tells its progress all the time
	im.Progress = func(p Progress) {
		if copied = p.Bytes; copied > 20<<20 {
			cancel(stopped)
		}
	}
	var err error
	if im.target, err = openTarget(ctx, target, false); err != nil {
		t.Fatal(err)
	}
	s, err := findSource(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := im.namespace(ctx, s.namespaces[0]); !errors.Is(err, stopped) {
		t.Fatalf("after %d bytes: %v", copied, err)
	}
	to := im.target.store.Object("chat-Room", id, storage.Hooks{})
	if empty, err := to.Empty(); err != nil || !empty {
		t.Errorf("a cancelled import has left a part: %v", err)
	}
	// As it is after kill -9 in the middle.
	err = errors.Join(im.target.notePart("chat-Room", id),
		to.Put(t.Context(), []storage.Entry{{Key: "000", Value: []byte("part")}}, storage.PutOptions{}),
		flush(t.Context(), to), im.target.close())
	if err != nil {
		t.Fatal(err)
	}
	if n := doImport(t, dir, target, func(o *Options) { o.DryRun = true }).ok().only(); n.Imported != 1 {
		t.Errorf("dry run over a part: %+v", n)
	}
	i := doImport(t, dir, target, nil).ok()
	if n := i.only(); n.Imported != 1 || n.Keys != 34 || n.Bytes < wholeBytes {
		t.Errorf("after it was cut short: %+v", n)
	}
	if n := doImport(t, dir, target, nil).ok().only(); n.Unchanged != 1 {
		t.Errorf("once more: %+v", n)
	}
	if got := stateOf(t, i.store(), "chat-Room", id); len(got.Values) != 34 || got.Alarm != later().UnixMilli() {
		t.Errorf("%d values, alarm %d", len(got.Values), got.Alarm)
	}
	if _, err := os.Stat(filepath.Join(target, partFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note is still there: %v", err)
	}
}

// What changes while it is read is not imported.
func TestChanged(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), room().FromName("ada")
	path := writeFake(t, dir, id.String(), fake{Values: map[string]string{"k": v8(t, 1.0)}})
	f, err := openObject(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := f.unchanged(); err != nil {
		t.Error(err)
	}
	target, err := openTarget(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer target.close()
	c, err := f.read()
	if err != nil {
		t.Fatal(err)
	}
	write(t, path+"-wal", []byte("more"))
	_, err = target.put(t.Context(), "chat-Room", object{source: f, contents: c, id: id}, false, func(int) {})
	if !errors.Is(err, errChanged) {
		t.Errorf("got %v", err)
	}
	if empty, err := target.store.Object("chat-Room", id, storage.Hooks{}).Empty(); err != nil || !empty {
		t.Errorf("it was imported: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("signal"))
	report, err := Import(ctx, Options{Source: "testdata/wrangler", Target: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "signal") || report == nil {
		t.Errorf("got %v, %v", report, err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
