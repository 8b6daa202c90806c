package wranglerstate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/tandem-do/tandem/durableobject/service/kv"
	"github.com/tandem-do/tandem/durableobject/storage"
	kvproto "github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/proto/objectid"
)

// Where miniflare keeps KV: the entries of all namespaces in databases of one folder, each named by the ID that the
// namespace's own gives, and the values in files of a folder that has the namespace's ID as its name.
const (
	folderKV       = "kv"
	kvUniqueKey    = "miniflare-KVNamespaceObject"
	folderBlobs    = "blobs"
	tableKVEntries = "_mf_entries"
)

// maxKVPending is how much of a namespace is written to disk at a time, in bytes.
const maxKVPending = 8 << 20

// KVNamespace is what came over of one KV namespace.
type KVNamespace struct {
	// Folder is relative to the source; ID is the namespace's.
	Folder, ID string
	// Keys are those of the source. Imported came over, Unchanged were there already, Expired are gone since.
	Keys, Imported, Unchanged, Expired int
	// Bytes, of keys and values, WithMetadata and Expiring are those of the keys in Imported.
	Bytes                  int64
	WithMetadata, Expiring int
	// Findings are at most 1000 for each reason; Counts has their true numbers.
	Findings []Finding
	Counts   map[Reason]int
}

func (n *KVNamespace) found(reason Reason, key, detail string) {
	addFinding(&n.Findings, &n.Counts, Finding{reason, key, detail})
}

// kvEntry is a row of the table of entries.
type kvEntry struct {
	key, blob, metadata string
	// expiration is in milliseconds since 1970, or 0.
	expiration int64
}

// kvFolder is the import of one folder of KV namespaces.
type kvFolder struct {
	*importer
	folder folder
	now    int64
}

// kv imports the namespaces of a folder, and says how many databases it can make nothing of.
func (im *importer) kv(ctx context.Context, f folder) (left int, err error) {
	names, err := subfolders(f.path)
	if err != nil {
		return 0, err
	}
	known := map[string]string{}
	ids := objectid.NewNamespace(kvUniqueKey)
	for _, name := range names {
		known[ids.FromName(name).String()] = name
	}
	files, err := list(filepath.Join(f.path, kvUniqueKey))
	if errors.Is(err, fs.ErrNotExist) {
		return countDatabases(f.path)
	}
	if err != nil {
		return 0, err
	}
	all, err := countDatabases(f.path)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(files.ids, func(a, b string) int { return strings.Compare(known[a]+a, known[b]+b) })
	k := &kvFolder{importer: im, folder: f, now: time.Now().Unix()}
	left = all - len(files.ids)
	for _, file := range files.ids {
		name, ok := known[file]
		if err := k.namespace(ctx, file, name, ok); err != nil {
			return left, fmt.Errorf("import KV namespace %q: %w", name, err)
		}
	}
	return left, nil
}

// namespace imports one namespace. Without a name nothing of it has values that are still there.
func (k *kvFolder) namespace(ctx context.Context, file, name string, named bool) error {
	n := &KVNamespace{Folder: k.folder.shown + "/" + name, ID: name}
	path := filepath.Join(k.folder.path, kvUniqueKey, file+sqliteSuffix)
	d, err := openDatabase(ctx, path)
	var tables []string
	if err == nil {
		defer d.close() //nolint:errcheck // nothing was written
		tables, err = d.tables()
	}
	if err == nil && !slices.Contains(tables, tableKVEntries) {
		return nil // it was never used
	}
	if err == nil {
		err = d.query(`SELECT count(*) FROM _mf_entries`, func(row *sqlite3.Stmt) error {
			n.Keys = row.ColumnInt(0)
			return nil
		})
	}
	if err == nil && n.Keys == 0 {
		return nil
	}
	k.report.KV = append(k.report.KV, n)
	if !named {
		n.Folder, n.ID = k.folder.shown+"/"+kvUniqueKey, file
	}
	switch {
	case err != nil && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		n.found(unreadableReason(err), file, err.Error())
		return nil
	case !named:
		n.found(ReasonUnreadable, file, "there is no folder of the namespace's values")
		return nil
	}
	w := &kvWriter{kvFolder: k, KVNamespace: n, blobs: filepath.Join(k.folder.path, name, folderBlobs)}
	return w.entries(ctx, d)
}

// kvWriter writes one namespace.
type kvWriter struct {
	*kvFolder
	*KVNamespace
	blobs string
	// shards are the objects of the namespace that were opened.
	shards  [kvproto.Shards]*storage.Object
	pending int
}

// entries imports all keys. A database that turns out to be damaged is reported, with what came over before.
func (w *kvWriter) entries(ctx context.Context, d *database) error {
	defer func() {
		for _, o := range w.shards {
			if o != nil {
				o.Close()
			}
		}
	}()
	w.progress.UniqueKey, w.progress.Objects, w.progress.Total = w.Folder, 0, w.Keys
	const rows = `SELECT key, blob_id, metadata, expiration FROM _mf_entries ORDER BY key`
	var failed error
	err := d.query(rows, func(row *sqlite3.Stmt) error {
		if failed = context.Cause(ctx); failed == nil {
			failed = w.entry(ctx, kvEntry{row.ColumnText(0), row.ColumnText(1), row.ColumnText(2), row.ColumnInt64(3)})
		}
		w.progress.Objects++
		w.tick()
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case err != nil && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		w.found(unreadableReason(err), filepath.Base(d.path), err.Error())
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	if err := d.unchanged(); err != nil {
		w.found(ReasonUnreadable, filepath.Base(d.path), err.Error())
	}
	return nil
}

// entry imports one key.
func (w *kvWriter) entry(ctx context.Context, e kvEntry) error {
	if e.expiration != 0 && e.expiration/1000 <= w.now {
		w.Expired++
		return nil
	}
	value, err := readBlob(w.blobs, e.blob)
	if err != nil {
		w.found(ReasonUnreadable, fmt.Sprintf("%.64q", e.key), err.Error())
		return nil
	}
	to := kvproto.Entry{Value: value, Metadata: e.metadata, Expiration: e.expiration / 1000}
	found, err := w.restore(ctx, e.key, to)
	var fault *kvproto.Fault
	switch {
	case errors.As(err, &fault):
		w.found(ReasonValue, fmt.Sprintf("%.64q", e.key), fault.Text)
		return nil
	case err != nil:
		return err
	case found == kv.RestoredSame:
		w.Unchanged++
		return nil
	case found == kv.RestoredOther && !w.Overwrite:
		w.found(ReasonConflict, fmt.Sprintf("%.64q", e.key), "")
		return nil
	}
	w.Imported++
	w.Bytes += int64(len(e.key) + len(value))
	w.progress.Bytes += int64(len(e.key) + len(value))
	if e.metadata != "" {
		w.WithMetadata++
	}
	if e.expiration != 0 {
		w.Expiring++
	}
	if w.pending += len(e.key) + len(value); w.pending >= maxKVPending {
		return w.flush(ctx)
	}
	return nil
}

// restore writes a key, unless that must not be.
func (w *kvWriter) restore(ctx context.Context, key string, e kvproto.Entry) (kv.Restored, error) {
	if w.target.store == nil {
		return kv.RestoredNew, nil
	}
	shard := kvproto.Shard(key)
	o := w.shards[shard]
	if o == nil {
		name := kvproto.ObjectName(w.ID, shard)
		id := objectid.NewNamespace(kvproto.UniqueKey).FromName(name)
		o = w.target.store.Object(kvproto.UniqueKey, id, storage.Hooks{})
		o.SetName(name)
		w.shards[shard] = o
	}
	return kv.Restore(ctx, o, key, e, func(found kv.Restored) bool {
		return !w.DryRun && (found == kv.RestoredNew || w.Overwrite)
	})
}

// flush commits what is pending.
func (w *kvWriter) flush(ctx context.Context) error {
	w.pending = 0
	if w.DryRun {
		return nil
	}
	for _, o := range w.shards {
		if o != nil {
			if err := flush(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// readBlob reads a value.
func readBlob(dir, name string) ([]byte, error) {
	if name == "" || filepath.Base(name) != name || name == ".." || name == "." {
		return nil, fmt.Errorf("its value's file has the name %.80q", name)
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("its value is no regular file"))
	}
	return io.ReadAll(io.LimitReader(f, kvproto.MaxValueBytes+1))
}

// print writes what came over for people.
func (n *KVNamespace) print(w io.Writer, verb string) {
	fmt.Fprintf(w, "KV %s (%s)\n  %s: %d %s", n.ID, n.Folder, plural(n.Keys, "key"), n.Imported, verb)
	for _, c := range []struct {
		count int
		text  string
	}{{n.Unchanged, "already there"}, {n.Expired, "expired"}} {
		if c.count > 0 {
			fmt.Fprintf(w, ", %d %s", c.count, c.text)
		}
	}
	fmt.Fprintln(w)
	if n.Imported > 0 {
		fmt.Fprintf(w, "  %s: %s, %d with metadata, %d that expire\n", verb, size(n.Bytes), n.WithMetadata, n.Expiring)
	}
	for reason := range reasons {
		printFindings(w, reason, n.Findings, n.Counts)
	}
}
