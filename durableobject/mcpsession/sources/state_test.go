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
func (w *world) sees(what, secret string) {
	w.t.Helper()
	if strings.Contains(w.log.String(), secret) {
		w.t.Errorf("%s: in the log: %s", what, w.log)
	}
	files, err := w.fs.List("store")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range files {
		path := w.fs.PathJoin("store", name)
		if info, err := w.fs.Stat(path); err != nil || info.IsDir() {
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
		if strings.Contains(string(text), secret) {
			w.t.Errorf("%s: in the file %s", what, name)
		}
	}
}
