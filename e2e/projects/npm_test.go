package projects

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// modulesDir has the npm packages; tools/e2e installs them.
const modulesDir = "node/node_modules"

// known lists the projects that do not work yet, with the reason.
//
//go:embed known.txt
var known string

// application is a project of testdata that stands on npm packages, and what it answers.
type application struct {
	name string
	// project is its folder, if not the name.
	project string
	// args are of tandem dev.
	args  []string
	files map[string]string
	clock bool // run on a clock that steps advance
	// schedule is one of those of worker, and kept before the first step.
	worker, schedule string
	steps            []step
}

// step is a request and what is checked of its answer.
type step struct {
	// advance moves the clock first.
	advance            time.Duration
	method, path, body string
	header             map[string]string
	// status is 200 when unset.
	status int
	// want is the whole body, has is one part of it.
	want, has string
	// sends are headers of the answer.
	sends map[string]string
	// keep is a header of the answer that the requests from now on have too.
	keep string
}

// Projects on npm packages that people use answer as on Cloudflare. Those of known.txt do not, and a project that
// has come to work must leave that list.
func TestPackages(t *testing.T) {
	reasons := map[string]string{}
	for line := range strings.Lines(known) {
		if name, reason, ok := strings.Cut(strings.TrimSpace(line), " | "); ok && !strings.HasPrefix(name, "#") {
			reasons[name] = reason
		}
	}
	all := slices.Concat(routers, schemas, services, objects, programs, libraries)
	for _, a := range all {
		reason, listed := reasons[a.name]
		delete(reasons, a.name)
		t.Run(a.name, func(t *testing.T) {
			faults := a.run(t)
			switch {
			case !listed && len(faults) > 0:
				t.Error(strings.Join(faults, "\n"))
			case listed && len(faults) == 0:
				t.Errorf("works, but known.txt says that it does not: %s", reason)
			case listed:
				t.Logf("does not work yet: %s\n%s", reason, strings.Join(faults, "\n"))
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		t.Errorf("known.txt: there is no project %q", name)
	}
}

// run runs the project and returns what is not as it should be.
func (a application) run(t *testing.T) (faults []string) {
	modules, err := filepath.Abs(modulesDir)
	if err == nil {
		_, err = os.Stat(modules)
	}
	if err != nil {
		t.Fatalf("the npm packages are missing, tools/e2e installs them: %v", err)
	}
	folder := a.project
	if folder == "" {
		folder = a.name
	}
	p, err := tryStart(t, folder, a.files, modules, harness.Options{TestClock: a.clock, Args: a.args})
	if err != nil {
		return []string{err.Error()}
	}
	if a.schedule != "" {
		p.AwaitSchedule(t, a.worker, a.schedule)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	kept := &keeping{header: http.Header{}}
	client := &http.Client{Jar: jar, Transport: kept, Timeout: 2 * time.Minute}
	for _, s := range a.steps {
		if s.advance > 0 {
			p.Advance(t, s.advance)
		}
		kept.name = s.keep
		if fault := s.run(t, client, p.MustReady(t).WorkerURL); fault != "" {
			faults = append(faults, fault)
		}
	}
	return faults
}

// keeping sends headers that earlier answers had.
type keeping struct {
	header http.Header
	// name is the header to keep of the next answer, or empty.
	name string
}

func (k *keeping) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, k.header)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && k.name != "" {
		k.header.Set(k.name, resp.Header.Get(k.name))
	}
	return resp, err
}

// run sends the request and says what is wrong with the answer.
func (s step) run(t *testing.T, client *http.Client, origin string) (fault string) {
	method, want := s.method, s.status
	if method == "" {
		method = http.MethodGet
	}
	if want == 0 {
		want = http.StatusOK
	}
	r, err := http.NewRequestWithContext(t.Context(), method, origin+s.path, strings.NewReader(s.body))
	if err != nil {
		t.Fatal(err)
	}
	if s.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range s.header {
		r.Header.Set(name, value)
	}
	fault = fmt.Sprintf("%s %s: ", method, s.path)
	resp, err := client.Do(r)
	if err != nil {
		return fault + err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	got := string(text)
	switch {
	case err != nil:
		return fault + err.Error()
	case resp.StatusCode != want:
		return fault + fmt.Sprintf("status %d, want %d: %s", resp.StatusCode, want, got)
	case s.want != "" && got != s.want, !strings.Contains(got, s.has):
		return fault + fmt.Sprintf("got\n\t%s\nwant\n\t%s", got, s.want+s.has)
	}
	for name, value := range s.sends {
		if got := resp.Header.Get(name); got != value {
			return fault + fmt.Sprintf("header %s: got %q, want %q", name, got, value)
		}
	}
	return ""
}
