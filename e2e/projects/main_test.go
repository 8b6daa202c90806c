package projects

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// binary is set before the first test runs and never again.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tandem-e2e-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	if binary, err = harness.Build(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// project is a copy of one in testdata, and the stack that runs it.
type project struct {
	t   *testing.T
	dir string
	*harness.Stack
}

// start copies a project, adds files to it, and runs it.
func start(t *testing.T, name string, files map[string]string) *project {
	t.Helper()
	p, err := tryStart(t, name, files, "", harness.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tryStart is start with npm packages, if modules names their folder, and options, for a project that may fail to run.
func tryStart(t *testing.T, name string, files map[string]string, modules string, o harness.Options) (*project, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: dir}
	for name, text := range files {
		p.write(name, text)
	}
	if modules != "" {
		if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	o.Binary, o.Args = binary, append(o.Args, dir)
	s, err := harness.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("log of the stack:\n%s", s.Log())
		}
	})
	p.Stack = s
	return p, nil
}

// write replaces a file of the project.
func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// replace replaces text in a file of the project.
func (p *project) replace(name, from, to string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(name, strings.ReplaceAll(string(text), from, to))
}

// post sends a request to the project's Worker.
func (p *project) post(path, body string) (int, string) {
	p.t.Helper()
	return post(p.t, p.MustReady(p.t).WorkerURL+path, body)
}

func post(t *testing.T, address, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true // an idle connection may be ended in the moment of its use when a process is replaced
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// want sends a request and checks its answer.
func (p *project) want(path, body, want string) {
	p.t.Helper()
	if status, got := p.post(path, body); got != want || status != http.StatusOK {
		p.t.Errorf("%s: got %d %q, want %q", path, status, got, want)
	}
}

// until asks until the answer is as wanted: for what happens in its own time.
func (p *project) until(path, want string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, got := p.post(path, "")
		if strings.Contains(got, want) {
			return
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("%s: got %q, want %q", path, got, want)
		case <-tick.C:
		}
	}
}

// logs waits until the stack has logged a text.
func (p *project) logs(text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(p.Log(), text) {
		select {
		case <-ctx.Done():
			p.t.Fatalf("the log lacks %q", text)
		case <-tick.C:
		}
	}
}
