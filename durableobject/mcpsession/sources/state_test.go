package sources_test

import (
	"io"
	"strings"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/props"
)

// keys returns the keys of an organization's object that are on disk.
func (w *world) keys(organization string) []string {
	w.t.Helper()
	id := objectid.NewNamespace(props.NamespaceSources).FromName(organization)
	o := w.store.Object(props.NamespaceSources, id, storage.Hooks{})
	defer o.Close()
	entries, err := o.List(w.t.Context(), storage.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// sees fails the test if a secret is in the log or in a file of the store.
func (w *world) sees(secret string) {
	w.t.Helper()
	if strings.Contains(w.log.String(), secret) {
		w.t.Errorf("a secret is in the log: %s", w.log)
	}
	if w.files("store", secret) == 0 {
		w.t.Error("no files were read")
	}
}

// files reads the files of a directory, looks for a secret in them, and returns how many there are.
func (w *world) files(dir, secret string) (n int) {
	w.t.Helper()
	names, err := w.fs.List(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		path := w.fs.PathJoin(dir, name)
		info, err := w.fs.Stat(path)
		if err != nil {
			w.t.Fatal(err)
		}
		if info.IsDir() {
			n += w.files(path, secret)
			continue
		}
		f, err := w.fs.Open(path)
		if err != nil {
			w.t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			w.t.Fatal(err)
		}
		if n++; strings.Contains(string(text), secret) {
			w.t.Errorf("a secret is in the file %s", path)
		}
	}
	return n
}
