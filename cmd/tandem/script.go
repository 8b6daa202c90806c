package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/deploy"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/worker/script"
)

// maxSecretsBytes bounds a file of secrets.
const maxSecretsBytes = 1 << 20

// maxBundles is how many bundles a process runs.
const maxBundles = 64

// bundleFlags are the flags of processes that run bundles.
type bundleFlags struct {
	// files are the bundles, and secrets as many files of theirs, or none.
	files, secrets []string
	development    bool
	cpu            time.Duration
	memoryMiB      int
}

// Bounds of --cpu-limit and --memory-limit.
const (
	defaultCPU   = 30 * time.Second
	minCPU       = 10 * time.Millisecond
	maxCPU       = time.Hour
	minMemoryMiB = 64
	maxMemoryMiB = 1 << 20
)

// errStuck is why a process ends in which a built-in function of the engine runs on and on: it takes a processor, or the
// memory, from all other events.
var errStuck = errors.New("a script's call of a built-in function does not return and cannot be stopped")

func (f *bundleFlags) add(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.files, "bundle", nil, "bundle file of tandem build to run, instead of the MCP application")
	fs.StringArrayVar(&f.secrets, "secrets-file", nil, "JSON file of the bundle's secrets: an object of names and texts")
	f.cpu, f.memoryMiB = defaultCPU, int(isolate.DefaultHeapBytes()>>20)
	fs.Var(durationValue{&f.cpu, minCPU, maxCPU}, "cpu-limit", "computing time of an event of a bundle's script")
	fromEnv(fs, "cpu-limit", "TANDEM_CPU_LIMIT")
	fs.Var(intValue{&f.memoryMiB, minMemoryMiB, maxMemoryMiB}, "memory-limit",
		"MiB of heap at which a bundle's script is stopped")
	fromEnv(fs, "memory-limit", "TANDEM_MEMORY_LIMIT")
	fs.BoolVar(&f.development, "development", false, "log each request, and show clients the stacks of errors")
	hide(fs, "development")
}

// given reports whether there is a bundle to run.
func (f *bundleFlags) given() bool { return len(f.files) > 0 }

// open reads the bundles and the values of their secrets. From here on the process lives in UTC, as scripts do like on
// workerd: the engine's Date has the zone of the process.
func (f *bundleFlags) open() ([]deploy.Version, error) {
	switch {
	case len(f.files) > maxBundles:
		return nil, usagef("--bundle is given %d times, at most %d are allowed", len(f.files), maxBundles)
	case len(f.secrets) > 0 && len(f.secrets) != len(f.files):
		return nil, usagef("--secrets-file is given %d times and --bundle %d times: give each bundle its file, or none",
			len(f.secrets), len(f.files))
	}
	time.Local = time.UTC
	isolate.Guard(f.limits())
	var list []deploy.Version
	for i := range f.files {
		v, err := f.read(i)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// read reads the i-th bundle and its secrets.
func (f *bundleFlags) read(i int) (v deploy.Version, err error) {
	if v.Bundle, err = bundle.Open(f.files[i]); err != nil {
		return v, err
	}
	v.Secrets = map[string]string{}
	if len(f.secrets) > 0 {
		v.Secrets, err = readSecrets(f.secrets[i])
	}
	if err == nil && !f.development {
		err = checkSecrets(v)
	}
	return v, err
}

// checkSecrets says which secrets the configuration requires and nobody has given.
func checkSecrets(v deploy.Version) error {
	var missing []string
	for _, name := range v.Bundle.Manifest().Secrets {
		if _, ok := v.Secrets[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("secrets that %s requires are missing (--secrets-file): %s", v.Bundle.Manifest().Name,
			strings.Join(missing, ", "))
	}
	return nil
}

// limits are those of scripts.
func (f *bundleFlags) limits() isolate.Limits {
	return isolate.Limits{CPU: f.cpu, HeapBytes: uint64(f.memoryMiB) << 20}
}

// readSecrets reads a file of secrets. No value of it is ever in an error.
func readSecrets(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open secrets: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o007 != 0 {
		err = fmt.Errorf("everybody on this machine may use %s (%v): chmod 600 it", path, info.Mode().Perm())
	}
	if err != nil {
		return nil, fmt.Errorf("open secrets: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSecretsBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	values := map[string]string{}
	if len(data) > maxSecretsBytes || json.Unmarshal(data, &values) != nil {
		return nil, fmt.Errorf("secrets of %s: want one JSON object of names and texts, at most %d bytes", path, maxSecretsBytes)
	}
	return values, nil
}

// outbound sends the requests of scripts to the world. Redirects are the script's business.
func outbound() func(context.Context, *http.Request) (*http.Response, error) {
	t := &http.Transport{
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 32, MaxIdleConns: 512, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 1 << 20,
	}
	return func(ctx context.Context, q *http.Request) (*http.Response, error) {
		return t.RoundTrip(q.WithContext(ctx))
	}
}

// printLog prints what scripts log after a label: warnings and errors apart from the rest.
func printLog(sys system, label string) func(isolate.Entry) {
	return func(e isolate.Entry) {
		out := sys.stdout
		if e.Level == isolate.LevelError || e.Level == isolate.LevelWarn {
			out = sys.stderr
		}
		fmt.Fprintln(out, label+e.Text)
	}
}

// printRequest prints a line for each request, as wrangler does.
func printRequest(sys system) func(script.Request) {
	return func(r script.Request) {
		fmt.Fprintf(sys.stdout, "%s %s %d %s (%dms)\n", r.Method, r.Path, r.Status, http.StatusText(r.Status),
			r.Took.Milliseconds())
	}
}

// workerAddresses are where a bundle's worker process listens, and whom it speaks to.
type workerAddresses struct {
	// listen is for HTTP; services for the calls of other processes, which find it at target, none if empty.
	listen, services, target string
	router                   string
}

// open opens the listeners, and returns where others find the second one.
func (a workerAddresses) open() (web, services net.Listener, at string, err error) {
	if web, err = sidecar.Listen(a.listen); err != nil || a.services == "" {
		return web, nil, "", err
	}
	if services, err = sidecar.Listen(a.services); err != nil {
		return nil, nil, "", errors.Join(err, web.Close())
	}
	if at = a.target; at == "" {
		at = target(services.Addr())
	}
	return web, services, at, nil
}

// serveScript runs the worker of a bundle.
func (f *bundleFlags) serveScript(ctx context.Context, sys system, at workerAddresses, log *slog.Logger) error {
	list, err := f.open()
	if err != nil {
		return err
	}
	if len(list) > 1 {
		return usagef("a worker process runs one bundle, --bundle is given %d times", len(list))
	}
	b, values := list[0].Bundle, list[0].Secrets
	l, services, found, err := at.open()
	if err != nil {
		return err
	}
	conn, err := sidecar.Dial(at.router)
	if err != nil {
		err = errors.Join(err, l.Close())
		if services != nil {
			err = errors.Join(err, services.Close())
		}
		return err
	}
	defer conn.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o := script.Options{
		Listener: l, Services: services, ServicesAddress: found, Router: conn, Bundle: b, Secrets: values, Development: f.development,
		Fetch: outbound(), //nolint:bodyclose // whoever calls it closes them
		OnLog: printLog(sys, ""), Log: log, Limits: f.limits(), OnStuck: func() { stop(errStuck) },
	}
	reload, stopReload := reloads()
	defer stopReload()
	o.Load, o.Reload = func() (deploy.Version, error) { return f.read(0) }, reload
	if f.development {
		o.OnRequest = printRequest(sys)
	}
	err = script.Serve(ctx, o)
	if context.Cause(ctx) == errStuck { //nolint:errorlint // it is not wrapped
		return errors.Join(errStuck, err)
	}
	if errors.Is(err, script.ErrScript) {
		return fmt.Errorf("%w: %w", errProject, err)
	}
	return err
}
