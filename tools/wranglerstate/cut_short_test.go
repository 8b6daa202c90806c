package wranglerstate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/durableobject/storage"
)

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

// The part is removed also when the source does not have the object any more.
func TestPartAlone(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), room().FromName("ada")
	target, err := openTarget(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	to := target.store.Object("chat-Room", id, storage.Hooks{})
	err = errors.Join(target.notePart("chat-Room", id),
		to.Put(t.Context(), []storage.Entry{{Key: "000", Value: []byte("part")}}, storage.PutOptions{}),
		flush(t.Context(), to), target.close())
	if err != nil {
		t.Fatal(err)
	}
	s := doImport(t, "testdata/wrangler", dir, nil).ok().store()
	if ids, err := s.Objects("chat-Room", nil, 0); err != nil || len(ids) > 0 {
		t.Errorf("got %v, %v", ids, err)
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
