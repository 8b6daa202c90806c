package wranglerstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
)

const (
	// partFile names, beside a store, the object of which only a part may be there.
	partFile = "IMPORT"
	// wholeBytes is the size up to which an object is one batch, partBytes that of the batches of a larger one.
	wholeBytes = 32 << 20
	partBytes  = 8 << 20
	// maxCommits bounds the commits that are waited for together, promptBytes the size of an object up to which its
	// commit may wait for others.
	maxCommits  = 64
	promptBytes = 1 << 20
)

// outcome is what happened to an object.
type outcome int

const (
	outcomeImported outcome = iota
	// outcomeSame: the target has the very same state.
	outcomeSame
	// outcomeConflict: the target has other state.
	outcomeConflict
)

// target is the store that objects are written to.
type target struct {
	dir string
	// store is nil when there is none to look into, on a dry run.
	store  *storage.Store
	dryRun bool
	// commits are on their way to disk.
	commits []*storage.Commit
}

// openTarget opens the store, and removes what an import has left of an object.
func openTarget(ctx context.Context, dir string, dryRun bool) (*target, error) {
	t := &target{dir: dir, dryRun: dryRun}
	o := storage.Options{
		Dir: dir, Limits: storage.Limits{KeyBytes: maxKeyBytes, ValueBytes: maxValueBytes, PendingBytes: 1 << 30},
	}
	var err error
	if dryRun {
		if storage.IsStore(dir) {
			t.store, err = storage.OpenReadOnly(o)
		}
		return t, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make directory of store: %w", err)
	}
	if t.store, err = storage.Open(o); err != nil {
		return nil, err
	}
	if err := t.removePart(ctx); err != nil {
		return nil, errors.Join(err, t.store.Close())
	}
	return t, nil
}

func (t *target) close() error {
	if t.store == nil {
		return nil
	}
	return t.store.Close()
}

// put writes an object whole, unless the target has state for it.
func (t *target) put(ctx context.Context, namespace string, o object, overwrite bool, copied func(int)) (outcome, error) {
	if t.store == nil {
		return outcomeImported, nil
	}
	to := t.store.Object(namespace, o.id, storage.Hooks{})
	defer to.Close()
	empty, err := to.Empty()
	if err != nil {
		return 0, err
	}
	if !empty && !t.isPart(namespace, o.id) {
		same, err := sameState(ctx, to, o)
		if err != nil || same {
			return outcomeSame, err
		}
		if !overwrite {
			return outcomeConflict, nil
		}
	}
	if t.dryRun {
		return outcomeImported, nil
	}
	if !empty {
		if err := to.DeleteAll(ctx); err != nil {
			return 0, err
		}
	}
	if o.name != nil {
		to.SetName(*o.name)
	}
	if !o.at.IsZero() {
		if err := to.SetAlarm(ctx, o.at, storage.PutOptions{}); err != nil {
			return 0, err
		}
	}
	if o.bytes > wholeBytes {
		return outcomeImported, t.putParts(ctx, to, o, copied)
	}
	return outcomeImported, t.putWhole(ctx, to, o, copied)
}

// putWhole writes an object as one batch.
func (t *target) putWhole(ctx context.Context, to *storage.Object, o object, copied func(int)) error {
	err := copyEntries(ctx, to, o, func(n int) error {
		copied(n)
		return nil
	})
	if err != nil {
		return err
	}
	if c := to.Flush(); c != nil {
		t.commits = append(t.commits, c)
	}
	if len(t.commits) < maxCommits && o.bytes <= promptBytes {
		return nil
	}
	return t.settle(ctx)
}

// putParts writes an object as several batches, with a note on disk meanwhile.
func (t *target) putParts(ctx context.Context, to *storage.Object, o object, copied func(int)) error {
	if err := t.notePart(to.Namespace(), o.id); err != nil {
		return err
	}
	pending := 0
	err := copyEntries(ctx, to, o, func(n int) error {
		copied(n)
		if pending += n; pending < partBytes {
			return nil
		}
		pending = 0
		return flush(ctx, to)
	})
	if err == nil {
		err = flush(ctx, to)
	}
	if err != nil {
		to.Discard()
		return errors.Join(err, t.removePart(context.WithoutCancel(ctx)))
	}
	return t.forgetPart()
}

// copyEntries copies the values, and checks that the source is still what was read before. wrote is told the bytes of
// each entry.
func copyEntries(ctx context.Context, to *storage.Object, o object, wrote func(n int) error) error {
	if o.source == nil {
		return nil
	}
	err := o.source.copyTo(func(e storage.Entry) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := to.Put(ctx, []storage.Entry{e}, storage.PutOptions{}); err != nil {
			return fmt.Errorf("put key %q of object %s: %w", e.Key, o.id, err)
		}
		return wrote(len(e.Key) + len(e.Value))
	})
	if err == nil {
		err = o.source.unchanged()
	}
	return err
}

// flush commits what is pending and waits for it.
func flush(ctx context.Context, to *storage.Object) error {
	if c := to.Flush(); c != nil {
		return c.Wait(ctx)
	}
	return nil
}

// settle waits until what was put is on disk.
func (t *target) settle(ctx context.Context) error {
	for _, c := range t.commits {
		if err := c.Wait(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	t.commits = t.commits[:0]
	return nil
}

// sameState reports whether the target holds exactly the object.
func sameState(ctx context.Context, to *storage.Object, o object) (bool, error) {
	at, has, err := to.Alarm(ctx)
	if err != nil || has == o.at.IsZero() || has && !sameAlarm(at, o.at) {
		return false, err
	}
	if o.name != nil {
		if name, ok, err := to.Name(); err != nil || !ok || name != *o.name {
			return false, err
		}
	}
	errOther := errors.New("not the same")
	after, count := (*string)(nil), 0
	next := func() (e storage.Entry, ok bool, err error) {
		page, err := to.List(ctx, storage.ListOptions{StartAfter: after, Limit: 1})
		if err != nil || len(page) == 0 {
			return e, false, err
		}
		after = &page[0].Key
		count++
		return page[0], true, nil
	}
	if o.source != nil {
		err = o.source.copyTo(func(e storage.Entry) error {
			other, ok, err := next()
			if err == nil && (!ok || other.Key != e.Key || string(other.Value) != string(e.Value)) {
				err = errOther
			}
			return err
		})
	}
	if errors.Is(err, errOther) || err != nil {
		return false, ignore(err, errOther)
	}
	_, more, err := next()
	return !more && err == nil, err
}

func ignore(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// sameAlarm reports whether an alarm is the imported one: one that was due then was set to the time of the import.
func sameAlarm(at, source time.Time) bool {
	millis := source.Add(time.Millisecond - 1).UnixMilli()
	return at.UnixMilli() == millis || at.UnixMilli() > millis && !at.After(time.Now())
}

// notePart records the object that is being written in parts.
func (t *target) notePart(namespace string, id objectid.ID) error {
	path := filepath.Join(t.dir, partFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s\n%s\n", id, namespace)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return syncDir(t.dir)
}

func (t *target) forgetPart() error {
	if err := os.Remove(filepath.Join(t.dir, partFile)); err != nil {
		return err
	}
	return syncDir(t.dir)
}

// readPart returns the object that notePart has recorded. noted is false when there is no such file; ok is false when it
// was cut short itself, before anything was written.
func (t *target) readPart() (namespace string, id objectid.ID, noted, ok bool, err error) {
	text, err := os.ReadFile(filepath.Join(t.dir, partFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", id, false, false, nil
	}
	first, namespace, _ := strings.Cut(string(text), "\n")
	namespace, ended := strings.CutSuffix(namespace, "\n")
	return namespace, parseID(first), true, isID(first) && ended && namespace != "", err
}

// isPart reports whether only a part of an object is there: on a dry run, which does not remove it.
func (t *target) isPart(namespace string, id objectid.ID) bool {
	n, i, _, ok, err := t.readPart()
	return ok && err == nil && n == namespace && i == id
}

// removePart removes the object that notePart has recorded, if any.
func (t *target) removePart(ctx context.Context) error {
	namespace, id, noted, ok, err := t.readPart()
	if err != nil || !noted {
		return err
	}
	if !ok {
		return t.forgetPart()
	}
	to := t.store.Object(namespace, id, storage.Hooks{})
	defer to.Close()
	if err := to.DeleteAll(ctx); err != nil {
		return err
	}
	if err := flush(ctx, to); err != nil {
		return err
	}
	return t.forgetPart()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
