package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/uuid"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// Builder builds one project, again and again. Close it.
type Builder struct {
	o       Options
	context api.BuildContext

	// mu guards the build that runs.
	mu   sync.Mutex
	seen *seen
}

// Result is a build that worked.
type Result struct {
	// Code is the script, in the shape that package isolate describes; SourceMap is its map.
	Code, SourceMap []byte
	// Format is how the script takes events.
	Format bundle.Format
	// Exports are the names that the entry exports, sorted.
	Exports []string
	// Inputs are the absolute paths of the files that went in, sorted.
	Inputs []string
	// Warnings are what esbuild and wrangler's rules have to say.
	Warnings []Message

	main            string
	versionMetadata string
}

// New returns a builder. Errors are of the options; those of the project come with Build.
func New(o Options) (*Builder, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	if o.Mode == "" {
		o.Mode = Development
	}
	if o.BaseDir == "" {
		o.BaseDir = filepath.Dir(o.Entry)
	}
	// esbuild names files by their real paths.
	for _, path := range []*string{&o.Dir, &o.Entry, &o.BaseDir} {
		if real, err := filepath.EvalSymlinks(*path); err == nil {
			*path = real
		}
	}
	b := &Builder{o: o, seen: &seen{}}
	c, contextErr := api.Context(b.buildOptions())
	if contextErr != nil {
		return nil, &Error{Messages: messages(contextErr.Errors, api.ErrorMessage)}
	}
	b.context = c
	return b, nil
}

// Build builds once. The error is *Error for a fault of the project, or the context's.
func Build(ctx context.Context, o Options) (*Result, error) {
	b, err := New(o)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return b.Build(ctx)
}

// Close frees what the builder keeps. No build may run.
func (b *Builder) Close() { b.context.Dispose() }

// Build builds what is there now. The error is *Error for a fault of the project, or the context's.
func (b *Builder) Build(ctx context.Context) (*Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	b.seen.reset()
	stop := context.AfterFunc(ctx, b.context.Cancel)
	r := b.context.Rebuild()
	if !stop() {
		return nil, context.Cause(ctx)
	}
	warnings := append(b.seen.warnings(), messages(r.Warnings, api.WarningMessage)...)
	if len(r.Errors) > 0 {
		return nil, &Error{Messages: messages(b.explain(r.Errors), api.ErrorMessage), Warnings: warnings,
			Inputs: b.seen.files(), NoEntry: slices.ContainsFunc(r.Errors, b.lacksEntry)}
	}
	return b.result(&r, warnings)
}

func (b *Builder) result(r *api.BuildResult, warnings []Message) (*Result, error) {
	meta, err := parseMetafile(r.Metafile)
	if err != nil {
		return nil, err
	}
	res := &Result{Warnings: warnings, main: relative(b.o.Dir, b.o.Entry), versionMetadata: b.o.VersionMetadata}
	var code string
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			res.SourceMap = f.Contents
		} else {
			code = string(f.Contents)
		}
	}
	s, err := wrap(code)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(s.exports, meta.exports) && !s.commonJS {
		return nil, fmt.Errorf("the bundler says that the entry exports %q, and the bundle exports %q", meta.exports,
			s.exports)
	}
	res.Code, res.Exports = []byte(quoteFields(s.code)), s.exports
	res.Format = bundle.FormatServiceWorker
	if len(s.exports) > 0 {
		res.Format = bundle.FormatModules
	}
	res.Inputs = b.seen.files()
	for _, name := range meta.inputs {
		res.Inputs = append(res.Inputs, filepath.Join(b.o.Dir, filepath.FromSlash(name)))
	}
	slices.Sort(res.Inputs)
	res.Inputs = slices.Compact(res.Inputs)
	return res, nil
}

// Bundle makes a bundle of the result. It sets the manifest's Format, Main and Exports. It fails with *Error when the
// script does not export a class or an entrypoint of its own that a binding names; a class that only migrations name
// it leaves out, with a warning.
func (r *Result) Bundle(m bundle.Manifest) (*bundle.Bundle, error) {
	m.Format, m.Main, m.Exports = r.Format, r.main, r.Exports
	if err := r.checkExports(&m); err != nil {
		return nil, err
	}
	r.leaveOut(&m)
	if r.versionMetadata != "" {
		m.Vars = append(slices.Clip(m.Vars), bundle.Var{Name: r.versionMetadata, Value: r.version()})
	}
	b, err := bundle.New(&m, r.Code, r.SourceMap)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", m.Name, err)
	}
	return b, nil
}

// checkExports checks that the entry exports what the configuration names. What an entry of the CommonJS format exports
// is not known, but it has no classes.
func (r *Result) checkExports(m *bundle.Manifest) error {
	var list []Message
	missing := func(name, what string) {
		if slices.Contains(r.Exports, name) {
			return
		}
		text := fmt.Sprintf("the configuration names the %s %q, which %s does not export", what, name, m.Main)
		if r.Format == bundle.FormatServiceWorker {
			text += ": it exports nothing, so that it is a script of the Service Worker format"
		}
		list = append(list, plain(text))
	}
	for _, d := range m.DurableObjects {
		if d.Script == m.Name {
			missing(d.Class, "Durable Object class")
		}
	}
	for _, s := range m.Services {
		if s.Worker == m.Name && s.Entrypoint != "" {
			missing(s.Entrypoint, "entrypoint")
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &Error{Messages: list, Inputs: r.Inputs}
}

// version is what a script is told of its version: an ID that changes with the script. Unlike wrangler: the time is
// not that of the build, so that two builds of one source are the same.
func (r *Result) version() json.RawMessage {
	id := uuid.NewSHA1(uuid.Nil, r.Code)
	return fmt.Appendf(nil, `{"id":%q,"tag":"","timestamp":"1970-01-01T00:00:00.000Z"}`, id)
}

// leaveOut drops classes that are not there. Like wrangler: only what a binding names has to be.
func (r *Result) leaveOut(m *bundle.Manifest) {
	var classes []bundle.Class
	for _, c := range m.Classes {
		if slices.Contains(r.Exports, c.Name) {
			classes = append(classes, c)
			continue
		}
		w := plain(fmt.Sprintf("the configuration declares the Durable Object class %q, which %s does not export", c.Name,
			m.Main))
		w.kind = api.WarningMessage
		r.Warnings = append(r.Warnings, w)
	}
	m.Classes = classes
}

// relative returns a path with slashes as the project sees it.
func relative(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}

// IsProjectError says whether an error is the project's fault, so that the next change may mend it.
func IsProjectError(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}
