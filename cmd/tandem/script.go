package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/worker/script"
)

// maxSecretsBytes bounds a file of secrets.
const maxSecretsBytes = 1 << 20

// bundleFlags are the flags of processes that run a bundle.
type bundleFlags struct {
	file, secrets string
	development   bool
	cpu           time.Duration
	memoryMiB     int
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
	fs.StringVar(&f.file, "bundle", "", "bundle file of tandem build to run, instead of the MCP application")
	fs.StringVar(&f.secrets, "secrets-file", "", "JSON file of the bundle's secrets: an object of names and texts")
	f.cpu, f.memoryMiB = defaultCPU, int(isolate.DefaultHeapBytes()>>20)
	fs.Var(durationValue{&f.cpu, minCPU, maxCPU}, "cpu-limit", "computing time of an event of a bundle's script")
	fromEnv(fs, "cpu-limit", "TANDEM_CPU_LIMIT")
	fs.Var(intValue{&f.memoryMiB, minMemoryMiB, maxMemoryMiB}, "memory-limit",
		"MiB of heap at which a bundle's script is stopped")
	fromEnv(fs, "memory-limit", "TANDEM_MEMORY_LIMIT")
	fs.BoolVar(&f.development, "development", false, "log each request, and show clients the stacks of errors")
	hide(fs, "development")
}

// open reads the bundle and the values of its secrets. From here on the process lives in UTC, as scripts do like on
// workerd: the engine's Date has the zone of the process.
func (f *bundleFlags) open() (*bundle.Bundle, map[string]string, error) {
	time.Local = time.UTC
	isolate.Guard(f.limits().HeapBytes)
	b, err := bundle.Open(f.file)
	if err != nil {
		return nil, nil, err
	}
	values := map[string]string{}
	if f.secrets != "" {
		if values, err = readSecrets(f.secrets); err != nil {
			return nil, nil, err
		}
	}
	return b, values, nil
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

// printLog prints what scripts log, as it is: warnings and errors apart from the rest.
func printLog(sys system) func(isolate.Entry) {
	return func(e isolate.Entry) {
		out := sys.stdout
		if e.Level == isolate.LevelError || e.Level == isolate.LevelWarn {
			out = sys.stderr
		}
		fmt.Fprintln(out, e.Text)
	}
}

// printRequest prints a line for each request, as wrangler does.
func printRequest(sys system) func(script.Request) {
	return func(r script.Request) {
		fmt.Fprintf(sys.stdout, "%s %s %d %s (%dms)\n", r.Method, r.Path, r.Status, http.StatusText(r.Status),
			r.Took.Milliseconds())
	}
}

// serveScript runs the worker of a bundle.
func (f *bundleFlags) serveScript(ctx context.Context, sys system, listen, router string, log *slog.Logger) error {
	b, values, err := f.open()
	if err != nil {
		return err
	}
	l, err := sidecar.Listen(listen)
	if err != nil {
		return err
	}
	conn, err := sidecar.Dial(router)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer conn.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o := script.Options{
		Listener: l, Router: conn, Bundle: b, Secrets: values, Development: f.development,
		Fetch: outbound(), //nolint:bodyclose // whoever calls it closes them
		OnLog: printLog(sys), Log: log, Limits: f.limits(), OnStuck: func() { stop(errStuck) },
	}
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
