package wranglerstate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/v8value"
)

// imported is what one import did.
type imported struct {
	*testing.T
	dir    string
	report *Report
	err    error
}

// doImport imports into a directory.
func doImport(t *testing.T, source, target string, change func(*Options)) imported {
	t.Helper()
	i, diff := importOnce(t, source, target, change)
	if diff != "" {
		t.Errorf("the source has changed (-before +after):\n%s", diff)
	}
	return i
}

// importOnce imports, and returns what has changed in the source meanwhile.
func importOnce(t *testing.T, source, target string, change func(*Options)) (i imported, diff string) {
	t.Helper()
	o := Options{Source: source, Target: target}
	if change != nil {
		change(&o)
	}
	before := snapshot(t, source)
	report, err := Import(t.Context(), o)
	return imported{t, target, report, err}, cmp.Diff(before, snapshot(t, source))
}

// ok fails the test unless everything came over.
func (i imported) ok() imported {
	i.Helper()
	if err := errors.Join(i.err, i.report.Err()); err != nil {
		i.Fatalf("import: %v\n%s", err, i.text())
	}
	return i
}

// text is the printed report.
func (i imported) text() string {
	var b strings.Builder
	i.report.Print(&b)
	return b.String()
}

// want fails the test unless the report has each line.
func (i imported) want(lines ...string) {
	i.Helper()
	if i.err != nil {
		i.Fatal(i.err)
	}
	for _, line := range lines {
		if !strings.Contains(i.text(), line) {
			i.Errorf("the report lacks %q:\n%s", line, i.text())
		}
	}
}

// store opens the target until the end of the test.
func (i imported) store() *storage.Store {
	i.Helper()
	s, err := storage.Open(storage.Options{Dir: i.dir})
	if err != nil {
		i.Fatal(err)
	}
	i.Cleanup(func() { s.Close() })
	return s
}

// state is an object's whole state in the target.
type state struct {
	Name   string
	Alarm  int64 // milliseconds since 1970
	Values map[string]string
}

func stateOf(t *testing.T, s *storage.Store, namespace string, id objectid.ID) state {
	t.Helper()
	o := s.Object(namespace, id, storage.Hooks{})
	defer o.Close()
	name, _, err := o.Name()
	if err != nil {
		t.Fatal(err)
	}
	st := state{Name: name, Values: map[string]string{}}
	at, ok, err := o.Alarm(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		st.Alarm = at.UnixMilli()
	}
	entries, err := o.List(t.Context(), storage.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		st.Values[e.Key] = string(e.Value)
	}
	return st
}

// snapshot returns every file below a directory with its time and a hash.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // whoever writes there has removed it
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		files[path] = fmt.Sprintf("%s %x", info.ModTime(), sha256.Sum256(data))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// fake is a database that the test writes as workerd does.
type fake struct {
	Values map[string]string
	// Alarm is in nanoseconds; nil leaves the table out, a pointer to 0 makes it NULL.
	Alarm *int64
	// SQL is run as it is.
	SQL string
}

// room is the namespace of most tests.
func room() objectid.Namespace { return objectid.NewNamespace("chat-Room") }

// writeFake writes a database below dir/chat-Room and returns its path.
func writeFake(t *testing.T, dir, file string, f fake) string {
	t.Helper()
	path := filepath.Join(dir, "chat-Room", file+sqliteSuffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeDatabase(path, f); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeDatabase(path string, f fake) (err error) {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	sql := "PRAGMA journal_mode = wal; BEGIN;" + f.SQL + ";"
	if len(f.Values) > 0 {
		sql += "CREATE TABLE _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;"
	}
	for key, value := range f.Values {
		sql += fmt.Sprintf("INSERT INTO _cf_KV VALUES (%s, x'%x');", sqlite3.Quote(key), value)
	}
	if f.Alarm != nil {
		sql += "CREATE TABLE _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB);"
		sql += fmt.Sprintf("INSERT INTO _cf_METADATA VALUES (1, nullif(%d, 0)), (2, 77);", *f.Alarm)
	}
	return conn.Exec(sql + "COMMIT")
}

// writeAlarms writes the alarms of dir/chat-Room.
func writeAlarms(t *testing.T, dir string, named bool, rows ...string) {
	t.Helper()
	column := ""
	if named {
		column = ", actor_name TEXT"
	}
	sql := "CREATE TABLE _cf_ALARM (actor_id TEXT PRIMARY KEY, scheduled_time INTEGER" + column + ") WITHOUT ROWID;"
	for _, row := range rows {
		sql += "INSERT INTO _cf_ALARM VALUES (" + row + ");"
	}
	writeFake(t, dir, "metadata", fake{SQL: sql})
}

// v8 is a serialized value.
func v8(t *testing.T, v v8value.Value) string {
	t.Helper()
	b, err := v8value.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// later is an alarm that does not fire during a test.
func later() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 123e6, time.UTC) }

// only returns the one namespace of a report.
func (i imported) only() Namespace {
	i.Helper()
	if i.err != nil || len(i.report.Namespaces) != 1 {
		i.Fatalf("import: %v, %d namespaces", i.err, len(i.report.Namespaces))
	}
	n := *i.report.Namespaces[0]
	n.Counts = maps.Clone(n.Counts)
	return n
}
