package wranglerstate

import (
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
	long := strings.Repeat("k", 65536)
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
		{"keys out of order", func(t *testing.T, dir string) {
			path := writeFake(t, dir, id, fake{Values: map[string]string{"a": v8(t, 1.0), "b": v8(t, 2.0)}})
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			cells := data[4096+8:][:4] // of the leaf that is page 2, two bytes each
			copy(cells, []byte{cells[2], cells[3], cells[0], cells[1]})
			write(t, path, data)
		}, "1: corrupt, skipped\n    " + id + ": "},
		{"a damaged list of free pages", func(t *testing.T, dir string) {
			path := writeFake(t, dir, id, fake{Values: map[string]string{"a": v8(t, 1.0)}})
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[39] = 5 // their number
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
		}, `…": its key has 65536 bytes, at most 65535`},
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

// Tables of any kind are named, and disturb nothing.
func TestTables(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), room().FromName("ada")
	values := map[string]string{"k": v8(t, 1.0)}
	writeFake(t, dir, id.String(), fake{Values: values, SQL: `
		CREATE TABLE plain (x TEXT CHECK (x <> 'b'));
		PRAGMA ignore_check_constraints = 1; INSERT INTO plain VALUES ('a'), ('b');
		CREATE TABLE "odd ""name" (x);
		CREATE TABLE _cf_EXTERNALS (id); CREATE VIEW shown AS SELECT * FROM plain;
		PRAGMA writable_schema = 1;
		INSERT INTO sqlite_schema VALUES ('table', 'search', 'search', 0, 'CREATE VIRTUAL TABLE search USING fts5 (body)')`})
	i := doImport(t, dir, t.TempDir(), nil).ok()
	i.want("not importable yet: SQL tables of 1 object: odd \"name (0 rows), plain (2 rows), search (rows not counted)")
	if strings.Contains(i.text(), "EXTERNALS") {
		t.Errorf("an empty table of the platform is named:\n%s", i.text())
	}
	if got := stateOf(t, i.store(), "chat-Room", id); !cmp.Equal(got.Values, values) {
		t.Errorf("got %v", got)
	}
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
	held := filepath.Join(target, "db", "LOCK")
	before := snapshot(t, target)
	doImport(t, "testdata/wrangler", target, dry).ok().want("to import 0 objects", "4 already there")
	after := snapshot(t, target)
	if after[held] = before[held]; !cmp.Equal(before, after) {
		diff := cmp.Diff(before, after)
		t.Errorf("a dry run has changed the target (-before +after):\n%s", diff)
	}
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
	other := filepath.Join(state, "v3", "r2", "miniflare-R2BucketObject", id+sqliteSuffix)
	queue := filepath.Join(state, "workerd", "queues", "QueueShard", id+sqliteSuffix)
	for _, path := range []string{other, queue} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, nil)
	}
	writeFake(t, filepath.Join(state, "workerd"), room().FromName("ben").String(), values)
	linked := t.TempDir()
	if err := os.Symlink(filepath.Join(state, "v3", "do", "chat-Room"), filepath.Join(linked, "chat-Room")); err != nil {
		t.Fatal(err)
	}
	both := []string{"imported 2 objects", "v3/r2\n  not importable yet: state of the platform, 1 database",
		"workerd/queues\n  not importable yet: state of the platform, 1 database"}
	for name, test := range map[string]struct {
		dir  string
		want []string
	}{
		"project": {project, both}, ".wrangler": {filepath.Join(project, ".wrangler"), both}, "state": {state, both},
		"v3":        {filepath.Join(state, "v3"), []string{"chat-Room (do/chat-Room)", "imported 1 object,", "r2\n  not importable"}},
		"do":        {filepath.Join(state, "v3", "do"), []string{"chat-Room (chat-Room)", "imported 1 object,"}},
		"namespace": {filepath.Join(state, "v3", "do", "chat-Room"), []string{"chat-Room (chat-Room)", "imported 1 object,"}},
		"link":      {linked, []string{"chat-Room (chat-Room)", "imported 1 object,"}},
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

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
