package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/bundle/build"
)

const (
	// quiet is how long no file may change before a build begins: an editor writes a file in several steps.
	quiet = 15 * time.Millisecond
	// settle is how long after directories came to be watched one more build looks for what changed before: by then the
	// processes that the last build started have what they need of the machine.
	settle = 300 * time.Millisecond
	// patience is how long changes that do not end hold a build back.
	patience = 500 * time.Millisecond
	// maxWatched is how many directories are watched; what is in others is seen with the next change in one of these.
	maxWatched = 4096
)

// Update is what a change came to.
type Update struct {
	// Project is what the files say; nil when they have faults.
	Project *Project
	// Bundle is what was built; nil when Err is not.
	Bundle *bundle.Bundle
	// Warnings are the bundler's.
	Warnings []build.Message
	// Err is *Error for a fault of the configuration, *build.Error for one of the script, or another error. Whoever runs
	// the project goes on with the last bundle.
	Err error
	// Took is how long it was from the end of the changes.
	Took time.Duration
}

// WatchOptions say what to watch. Options choose the project.
type WatchOptions struct {
	Options
	MakeOptions
	// Log is told of what can't be watched; nil drops that.
	Log *slog.Logger
}

// Watch builds a project and gives an Update, and again for each change of a file that matters: the configuration,
// .dev.vars and .env files, what went into the script, and what the build command watches. A change that leads to the
// same bundle and the same secrets gives none. It runs until ctx ends, calls update from its own goroutine, and
// returns nil then; other errors are that the project was not found or that nothing can be watched.
func Watch(ctx context.Context, o WatchOptions, update func(Update)) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	files, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return fmt.Errorf("watch project: %w", err)
	}
	w := &watcher{o: &o, files: files, update: update, watched: map[string]bool{}}
	defer w.close()
	if w.file, err = Find(o.Path); err != nil {
		return err
	}
	w.change(ctx, time.Now(), true)
	return w.run(ctx)
}

// watcher has one project.
type watcher struct {
	o       *WatchOptions
	files   *fsnotify.Watcher
	update  func(Update)
	file    string
	watched map[string]bool // directories

	project *Project // the last that had no faults
	builder *build.Builder
	inputs  []string // of the last build that worked
	failed  bool     // the last build did not

	// again says that directories were not watched while the last build read them: what changed there is seen by one more.
	again bool

	hash    string // of the last bundle that was given
	secrets map[string]string
	said    string // the last error that was given
}

func (w *watcher) close() {
	_ = w.files.Close()
	if w.builder != nil {
		w.builder.Close()
	}
}

// run waits for changes.
func (w *watcher) run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var first time.Time // of the changes that no build has seen
	var last time.Time
	command := false
	for {
		if w.again && first.IsZero() {
			first = time.Now()
			last = first
			timer.Reset(settle)
		}
		w.again = false
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.files.Errors:
			w.o.Log.Warn("watching files failed", "err", err)
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				continue
			}
			command = true // anything may have changed
		case e := <-w.files.Events:
			matters, commands := w.matters(e)
			if !matters {
				continue
			}
			command = command || commands
		case <-timer.C:
			if first.IsZero() {
				continue
			}
			since := last
			first = time.Time{}
			w.change(ctx, since, command)
			command = false
			continue
		}
		last = time.Now()
		if first.IsZero() {
			first = last
		}
		timer.Reset(min(quiet, patience-last.Sub(first)))
	}
}

// matters says whether an event calls for a build, and for the build command before it.
func (w *watcher) matters(e fsnotify.Event) (build, command bool) {
	if e.Op == fsnotify.Chmod || temporary(e.Name) {
		return false, false
	}
	if slices.Contains(w.project.files(), e.Name) || e.Name == w.file {
		return true, true
	}
	if w.project != nil && w.project.Command != nil {
		for _, path := range w.project.Command.Watch {
			if e.Name == path || strings.HasPrefix(e.Name, path+string(filepath.Separator)) {
				return true, true
			}
		}
	}
	_, known := slices.BinarySearch(w.inputs, e.Name)
	// After a fault the file that mends it may be one that no build has seen, as may one that hides a known one.
	return known || w.failed || e.Op.Has(fsnotify.Create), false
}

// files are those that decided, also of no project.
func (p *Project) files() []string {
	if p == nil {
		return nil
	}
	return p.Files
}

// temporary says whether a file is one that editors keep for themselves, or that tandem or wrangler write.
func temporary(path string) bool {
	name := filepath.Base(path)
	return strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".swp") || strings.HasSuffix(name, ".swx") ||
		strings.HasPrefix(name, ".#") || name == "4913" || name == ".tandem" || name == ".wrangler" || name == ".git"
}

// change loads, builds and tells.
func (w *watcher) change(ctx context.Context, since time.Time, command bool) {
	u := w.build(ctx, command)
	if ctx.Err() != nil {
		return
	}
	w.watch()
	if u.Err != nil {
		text := u.Err.Error()
		if w.failed && text == w.said {
			return
		}
		w.failed, w.said = true, text
	} else {
		same := !w.failed && u.Bundle.Hash() == w.hash && reflect.DeepEqual(w.secrets, u.Project.Secrets)
		w.failed, w.hash, w.secrets = false, u.Bundle.Hash(), u.Project.Secrets
		if same {
			return
		}
	}
	u.Took = time.Since(since)
	w.update(u)
}

// build loads the project again and builds it.
func (w *watcher) build(ctx context.Context, command bool) Update {
	o := w.o.Options
	o.Path = w.file
	p, err := Load(o)
	if err != nil {
		return Update{Err: err}
	}
	if w.builder == nil || !reflect.DeepEqual(p.Build, w.project.Build) {
		if w.builder != nil {
			w.builder.Close()
			w.builder = nil
		}
		b, err := build.New(p.Build)
		if err != nil {
			return Update{Project: p, Err: err}
		}
		w.builder = b
	}
	w.project = p
	if command {
		if err := p.runCommand(ctx, w.o.MakeOptions); err != nil {
			return Update{Project: p, Err: err}
		}
	}
	r, err := w.builder.Build(ctx)
	if err != nil {
		if failed, ok := errors.AsType[*build.Error](err); ok {
			w.inputs = slices.Compact(slices.Sorted(slices.Values(append(w.inputs, failed.Inputs...))))
		}
		return Update{Project: p, Err: p.explain(err)}
	}
	w.inputs = r.Inputs
	b, err := r.Bundle(p.Manifest) // it adds warnings
	return Update{Project: p, Bundle: b, Warnings: r.Warnings, Err: err}
}

// watch watches the directories of all files that matter, and no others.
func (w *watcher) watch() {
	want := map[string]bool{filepath.Dir(w.file): true}
	if w.project != nil {
		for _, f := range w.project.Files {
			want[filepath.Dir(f)] = true
		}
		want[filepath.Dir(w.project.Build.Entry)] = true
		if c := w.project.Command; c != nil {
			for _, path := range c.Watch {
				for _, dir := range directories(path) {
					want[dir] = true
				}
			}
		}
		if w.project.Build.FindAdditionalModules {
			for _, dir := range directories(cmp.Or(w.project.Build.BaseDir, filepath.Dir(w.project.Build.Entry))) {
				want[dir] = true
			}
		}
	}
	for _, f := range w.inputs {
		want[filepath.Dir(f)] = true
	}
	for dir := range w.watched {
		if !want[dir] {
			_ = w.files.Remove(dir)
			delete(w.watched, dir)
		}
	}
	for dir := range want {
		if w.watched[dir] {
			continue
		}
		if len(w.watched) >= maxWatched {
			w.o.Log.Warn("too many directories to watch all", "limit", maxWatched)
			return
		}
		if err := w.files.Add(dir); err != nil {
			w.o.Log.Debug("a directory can't be watched", "dir", dir, "err", err)
			continue
		}
		w.watched[dir], w.again = true, true
	}
}
