package wranglerstate

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/tandem-do/tandem/proto/objectid"
)

// idDigits is the length of an ID in hex digits.
const idDigits = 2 * objectid.Size

// defaultProgressEvery is the time between two calls of Options.Progress.
const defaultProgressEvery = 2 * time.Second

// Options say what is imported, and where to.
type Options struct {
	// Source is the directory to look in: .wrangler/state, a project that has it, its v3 or v3/do, the directory of
	// workerd's localDisk service, or the folder of one namespace.
	Source string
	// Target is the directory of the object store. It is created, unless DryRun.
	Target string
	// DryRun reads everything and writes no object.
	DryRun bool
	// Overwrite replaces objects that have other state in the target; without it they are left alone.
	Overwrite bool
	// Partial imports objects without those values that can't come over; without it such objects are left out.
	Partial bool
	// Rename maps unique keys of the source to those of the target. IDs depend on the unique key, so that only objects
	// whose names are known can be renamed.
	Rename map[string]string
	// Names are names that objects may have, beside those that the source knows.
	Names []string
	// Progress, if set, is told every two seconds how far the import is, on the goroutine of Import.
	Progress func(Progress)
}

// Progress is how far an import is.
type Progress struct {
	// UniqueKey is the namespace that is read.
	UniqueKey string
	// Objects of Total in this namespace are done.
	Objects, Total int
	// Bytes are those of keys and values that were copied so far, of all namespaces.
	Bytes int64
}

// importer is one import. Its methods return the errors that end all of it; what concerns one object alone goes into the
// report.
type importer struct {
	Options
	target   *target
	report   *Report
	progress Progress
	// shown is when the progress was told last; it is told again progressEvery later.
	shown         time.Time
	progressEvery time.Duration
}

// Import brings objects over. The report says what came over, also when it returns an error; Report.Err says whether all
// did. Errors: of reading the source's folders, of opening the target (see storage.Open), of writing to it, and the
// cause of ctx's end.
func Import(ctx context.Context, o Options) (report *Report, err error) {
	s, err := findSource(o.Source)
	if err != nil {
		return nil, err
	}
	known := make([]string, len(s.namespaces))
	for i, f := range s.namespaces {
		known[i] = f.uniqueKey
	}
	for key := range o.Rename {
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("no namespace %q to rename in %s; there are %q", key, s.root, known)
		}
	}
	report = &Report{Source: s.root, DryRun: o.DryRun}
	im := &importer{Options: o, report: report, shown: time.Now(), progressEvery: defaultProgressEvery}
	if im.target, err = openTarget(ctx, o.Target, o.DryRun); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, im.target.close()) }()
	for _, f := range s.namespaces {
		if err := im.namespace(ctx, f); err != nil {
			return report, fmt.Errorf("import namespace %q: %w", f.uniqueKey, err)
		}
	}
	for _, f := range s.platform {
		n, err := countDatabases(f.path)
		if f.uniqueKey == folderKV {
			n, err = im.kv(ctx, f)
		}
		if err != nil {
			return report, fmt.Errorf("read source: %w", err)
		}
		if n > 0 {
			report.Platform = append(report.Platform, Platform{Folder: f.shown, Databases: n})
		}
	}
	return report, nil
}

// namespace is the import of one namespace.
type namespace struct {
	*importer
	*Namespace
	folder   folder
	from, to objectid.Namespace
	alarms   *alarmIndex
	// names are the extra names by the ID that they give.
	names map[objectid.ID]string
}

func (im *importer) namespace(ctx context.Context, f folder) (err error) {
	files, err := list(f.path)
	if err != nil {
		return err
	}
	n := &namespace{
		importer: im, folder: f, from: objectid.NewNamespace(f.uniqueKey),
		Namespace: &Namespace{Folder: f.shown, UniqueKey: f.uniqueKey, Target: f.uniqueKey, Objects: len(files.ids)},
	}
	if renamed, ok := im.Rename[f.uniqueKey]; ok {
		n.Target = renamed
	}
	n.to = objectid.NewNamespace(n.Target)
	im.report.Namespaces = append(im.report.Namespaces, n.Namespace)
	n.names = make(map[objectid.ID]string, len(im.Names))
	for _, name := range im.Names {
		n.names[n.from.FromName(name)] = name
	}
	for _, name := range files.facets {
		n.found(ReasonFacet, name, "")
	}
	for _, name := range files.other {
		n.found(ReasonFileName, name, "")
	}
	n.alarms, err = openAlarms(ctx, f.path)
	if err = n.unreadable(ctx, alarmsFile, err); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.alarms.close()) }()
	return n.objects(ctx, files.ids)
}

// objects imports those that have a database, then those that are known by an alarm alone.
func (n *namespace) objects(ctx context.Context, ids []string) error {
	n.progress.UniqueKey, n.progress.Objects, n.progress.Total = n.UniqueKey, 0, len(ids)
	for _, id := range ids {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := n.object(ctx, id); err != nil {
			return err
		}
		n.progress.Objects++
		n.tick()
	}
	err := n.alarms.each(func(row scheduled) error {
		if _, ok := slices.BinarySearch(ids, row.id); ok || !isID(row.id) {
			return nil
		}
		n.Objects++
		return n.write(ctx, object{file: row.id, contents: contents{alarm: &row.at, noted: row.name}})
	})
	if n.alarms != nil && err == nil {
		if cerr := n.alarms.unchanged(); cerr != nil {
			n.found(ReasonUnreadable, alarmsFile, cerr.Error())
		}
	}
	return errors.Join(err, n.target.settle(ctx))
}

// object is an object of the source on its way.
type object struct {
	// file is the ID in the source as 64 hex digits.
	file string
	// source is nil when there is no database.
	source *objectFile
	contents
	// id, name and at are what it gets in the target.
	id   objectid.ID
	name *string
	at   time.Time
}

// object imports the object of one database.
func (n *namespace) object(ctx context.Context, file string) error {
	if id := parseID(file); !n.from.Owns(id) {
		n.found(ReasonForeign, file, "")
		return nil
	}
	f, err := openObject(ctx, filepath.Join(n.folder.path, file+sqliteSuffix))
	if err != nil {
		return n.unreadable(ctx, file, err)
	}
	defer f.close() //nolint:errcheck // nothing was written
	o := object{file: file, source: f}
	if o.contents, err = f.read(); err != nil {
		return n.unreadable(ctx, file, err)
	}
	row, ok, err := n.alarms.of(file)
	if err != nil {
		return n.unreadable(ctx, alarmsFile, err)
	}
	if ok && o.alarm == nil {
		o.alarm = &row.at
	}
	if o.noted == nil {
		o.noted = row.name
	}
	return n.write(ctx, o)
}

// unreadable reports a file that could not be read. It returns the error only when ctx has ended.
func (n *namespace) unreadable(ctx context.Context, file string, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	n.found(unreadableReason(err), file, err.Error())
	return nil
}

// unreadableReason is why a database could not be read.
func unreadableReason(err error) Reason {
	if corrupt(err) {
		return ReasonCorrupt
	}
	return ReasonUnreadable
}

// write decides whether and how an object comes over, and has it written.
func (n *namespace) write(ctx context.Context, o object) error {
	for _, t := range o.tables {
		n.addTable(t)
	}
	if len(o.tables) > 0 {
		n.WithTables++
	}
	if o.alarm != nil {
		o.at = *o.alarm
	}
	if o.keys == 0 && o.badCount == 0 && len(o.tables) > 0 {
		n.SQLOnly++ // without its tables even its alarm would only do harm
		return nil
	}
	if o.keys == 0 && o.badCount == 0 && o.at.IsZero() {
		n.Empty++
		return nil
	}
	if reason := n.identify(&o); reason != 0 {
		n.found(reason, o.file, "")
		return nil
	}
	if o.badCount > 0 {
		n.found(ReasonValue, o.file, badText(o.contents))
		if !n.Partial || o.keys == 0 {
			return nil
		}
	}
	if !o.at.IsZero() && o.at.UnixNano() <= 0 {
		n.found(ReasonAlarm, o.file, "alarm at "+o.at.UTC().Format(time.RFC3339))
		if o.at = (time.Time{}); o.keys == 0 {
			return nil
		}
	}
	return n.put(ctx, o)
}

// put writes an object and counts it.
func (n *namespace) put(ctx context.Context, o object) error {
	outcome, err := n.target.put(ctx, n.Target, o, n.Overwrite, n.copied)
	switch {
	case errors.Is(err, errChanged), ofSource(err):
		return n.unreadable(ctx, o.file, err)
	case err != nil:
		return err
	case outcome == outcomeConflict:
		n.found(ReasonConflict, o.file, "")
		return nil
	case outcome == outcomeSame:
		n.Unchanged++
		return nil
	}
	n.Imported++
	n.Keys += int64(o.keys)
	n.Bytes += o.bytes
	if !o.at.IsZero() {
		n.Alarms++
	}
	if o.name != nil {
		n.Named++
	}
	return nil
}

// copied counts bytes of an object that is being written.
func (n *namespace) copied(bytes int) {
	n.progress.Bytes += int64(bytes)
	n.tick()
}

// identify finds the object's ID and name in the target, or why it can have none.
func (n *namespace) identify(o *object) Reason {
	id := parseID(o.file)
	if !n.from.Owns(id) {
		return ReasonForeign
	}
	if known, ok := n.names[id]; ok {
		o.name = &known
	}
	if o.noted != nil && n.from.FromName(*o.noted) == id {
		o.name = o.noted
	}
	switch {
	case n.Target == n.UniqueKey:
		o.id = id
	case o.name == nil:
		return ReasonUnnamed
	default:
		o.id = n.to.FromName(*o.name)
	}
	if o.name != nil && len(*o.name) > objectid.MaxNameBytes {
		o.name = nil // it gives an ID, but nobody is told it
	}
	return 0
}

// tick tells the progress every two seconds.
func (im *importer) tick() {
	if im.Progress == nil || time.Since(im.shown) < im.progressEvery {
		return
	}
	im.shown = time.Now()
	im.Progress(im.progress)
}

// isID reports whether s is 64 lower-case hex digits.
func isID(s string) bool {
	return parseID(s).String() == s
}

// parseID reads hex digits; what is none gives an ID whose String differs.
func parseID(s string) (id objectid.ID) {
	if len(s) == idDigits {
		_, _ = hex.Decode(id[:], []byte(s)) // see above
	}
	return id
}
