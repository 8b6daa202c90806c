package projects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// production is a Worker in production: a router, an object host and two worker processes of one bundle file.
type production struct {
	t           *testing.T
	dir, router string
	// web are where the worker processes listen.
	web [2]string
}

// startProduction builds the project testdata/deploy and runs it.
func startProduction(t *testing.T) *production {
	t.Helper()
	p := &production{t: t, dir: t.TempDir()}
	if err := os.CopyFS(p.dir, os.DirFS(filepath.Join("testdata", "deploy"))); err != nil {
		t.Fatal(err)
	}
	p.router = "unix:" + filepath.Join(p.dir, "r")
	p.build("0")
	p.write("secrets.json", `{"TOKEN": "first"}`)
	p.run("router", "--listen", p.router, "--state-dir", "router")
	serve := func(process string, args ...string) {
		p.run(append([]string{
			process, "--bundle", "deploy.bundle", "--secrets-file", "secrets.json", "--router", p.router,
		}, args...)...)
	}
	serve("durableobject", "--listen", "unix:"+filepath.Join(p.dir, "o"), "--state-dir", "objects", "--test-clock")
	for i := range p.web {
		p.web[i] = harness.FreeAddress(t)
		serve("worker", "--listen", p.web[i])
		harness.AwaitListener(t, p.web[i])
	}
	harness.AwaitProcesses(t, p.router, 1+len(p.web), p.command)
	return p
}

func (p *production) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = p.dir
	return cmd
}

// run runs a process until the end of the test.
func (p *production) run(args ...string) {
	p.t.Helper()
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = p.t.Output(), p.t.Output()
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("%s: %v", args[0], err)
		}
	})
}

// write replaces a file, whole.
func (p *production) write(name, text string) {
	p.t.Helper()
	part := filepath.Join(p.dir, name+".part")
	err := os.WriteFile(part, []byte(text), 0o600)
	if err == nil {
		err = os.Rename(part, filepath.Join(p.dir, name))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *production) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// build builds the bundle of a version.
func (p *production) build(version string, replace ...string) {
	p.t.Helper()
	source, err := filepath.Abs(filepath.Join("testdata", "deploy"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range []string{"wrangler.jsonc", "index.ts"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			p.t.Fatal(err)
		}
		r := strings.NewReplacer(append([]string{`"VERSION": "0"`, fmt.Sprintf(`"VERSION": %q`, version)}, replace...)...)
		p.write(name, r.Replace(string(text)))
	}
	if out, err := p.command("build", "--quiet", "-o", "deploy.bundle").CombinedOutput(); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
}

// reload runs tandem reload, and returns its exit code and what it says.
func (p *production) reload() (code int, text string) {
	p.t.Helper()
	cmd := p.command("reload", "--router", p.router)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		p.t.Fatal(err)
	} else if ok {
		code = exit.ExitCode()
	}
	return code, string(out)
}

// fetch makes a request of the i-th worker process.
func (p *production) fetch(i int, path, body string) string {
	p.t.Helper()
	status, text := post(p.t, "http://"+p.web[i]+path, body)
	if status != http.StatusOK {
		p.t.Errorf("%s: %d %s", path, status, text)
	}
	return text
}

// No request fails while five versions are deployed to two worker processes and an object host, and none is lost. Each
// answer is of a version that ran, of the Worker and of the object.
func TestDeployUnderLoad(t *testing.T) {
	p := startProduction(t)
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var hot, all atomic.Int64
	for n := range 6 {
		load.Go(func() {
			path, last := "/hot", int64(0)
			if n >= 3 {
				path = "/each"
			}
			for ctx.Err() == nil {
				var got [3]any
				text := p.fetch(n%2, path, fmt.Sprint("object ", n))
				if err := json.Unmarshal([]byte(text), &got); err != nil {
					t.Errorf("%s: %s: %v", path, text, err)
					return
				}
				count := int64(got[2].(float64))
				if count <= last {
					t.Errorf("%s: %d after %d: a write was lost", path, count, last)
				}
				last = count
				all.Add(1)
				if n < 3 {
					hot.Add(1)
				}
			}
		})
	}
	for v := 1; v <= 5; v++ {
		<-time.NewTimer(300 * time.Millisecond).C // of load
		p.build(fmt.Sprint(v))
		if code, text := p.reload(); code != 0 || strings.Count(text, " runs, before it ") != 3 {
			t.Errorf("deployment %d: exit code %d\n%s", v, code, text)
		}
		for i := range p.web {
			if got := p.fetch(i, "/", ""); got != fmt.Sprint(v, " first") {
				t.Errorf("after deployment %d: %q", v, got)
			}
		}
	}
	stop()
	load.Wait()
	want := fmt.Sprintf(`["5","5",%d]`, hot.Load()+1)
	if got := p.fetch(0, "/hot", ""); got != want {
		t.Errorf("at the end: %s, want %s", got, want)
	}
	t.Logf("%d requests", all.Load())
}

// A request that runs when a version is deployed is finished by the one that began it, in the Worker and in the object. An
// object that does not come to rest is reset, with Cloudflare's words and as retryable.
func TestDeployFinishes(t *testing.T) {
	p := startProduction(t)
	p.build("1")
	var running sync.WaitGroup
	running.Go(func() {
		if got := p.fetch(0, "/slow", ""); got != "000" {
			t.Errorf("slow: %q", got)
		}
	})
	running.Go(func() {
		const want = `["Durable Object reset because its code was updated.",true,true,null]`
		if got := p.fetch(1, "/endless", ""); got != want {
			t.Errorf("endless: got %s, want %s", got, want)
		}
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); p.fetch(0, "/running", "") != "[true,true]"; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("slow and endless do not begin")
		}
	}
	if code, text := p.reload(); code != 0 {
		t.Errorf("exit code %d\n%s", code, text)
	}
	running.Wait()
	if got := p.fetch(1, "/slow", ""); got != "111" {
		t.Errorf("afterwards: %q", got)
	}
}

// What cannot run is refused by every process with the reason, and what ran goes on.
func TestDeployRefuses(t *testing.T) {
	p := startProduction(t)
	good := p.read("deploy.bundle")
	for _, tc := range []struct {
		name string
		make func()
		want string
	}{
		{"truncated", func() { p.write("deploy.bundle", good[:len(good)/2]) }, "bundle file is damaged"},
		{"another file", func() { p.write("deploy.bundle", "hello") }, "not a bundle file"},
		{"newer", func() { p.write("deploy.bundle", strings.Replace(good, "tandem-bundle 1", "tandem-bundle 7", 1)) },
			"its format is 7, and this version of tandem reads 1"},
		{"another Worker's", func() { p.build("1", `"name": "deploy"`, `"name": "other"`) },
			`the bundle is another Worker's: it is "other", and "deploy" runs here`},
		{"broken", func() { p.build("1", "export default {", "throw new Error('at load');\nexport default {") },
			"Error: at load"},
		{"gone", func() { _ = os.Remove(filepath.Join(p.dir, "deploy.bundle")) }, "no such file"},
		{"open secrets", func() {
			p.write("deploy.bundle", good)
			if err := os.Chmod(filepath.Join(p.dir, "secrets.json"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "chmod 600 it"},
		{"no secrets", func() { p.write("secrets.json", `{"OTHER": "x"}`) },
			"secrets that deploy requires are missing (--secrets-file): TOKEN"},
	} {
		tc.make()
		code, text := p.reload()
		if code != 6 || strings.Count(text, tc.want) != 3 || strings.Count(text, "goes on: ") != 3 {
			t.Errorf("%s: exit code %d, want %q three times in\n%s", tc.name, code, tc.want, text)
		}
		for i := range p.web {
			if got := p.fetch(i, "/", ""); got != "0 first" {
				t.Errorf("%s: then %q", tc.name, got)
			}
		}
	}
	p.write("secrets.json", `{"TOKEN": "second"}`)
	if code, text := p.reload(); code != 0 || strings.Count(text, " runs with other secrets") != 3 || strings.Contains(text, "second") {
		t.Errorf("other secrets: exit code %d\n%s", code, text)
	}
	if got := p.fetch(1, "/", ""); got != "0 second" {
		t.Errorf("then %q", got)
	}
	if code, text := p.reload(); code != 0 || strings.Count(text, " runs already") != 3 {
		t.Errorf("again: exit code %d\n%s", code, text)
	}
}

// A Cron Trigger fires in production: one of the Worker's processes gets each event, once. Nobody can send one by HTTP.
// What was due while the object host was ahead by a day is one event, that of the last time.
func TestCronInProduction(t *testing.T) {
	p := startProduction(t)
	for _, path := range []string{"/cdn-cgi/local/scheduled?cron=0+3+*+*+*", "/cdn-cgi/handler/scheduled", "/__scheduled"} {
		if got := p.fetch(0, path, ""); got != "0 first" {
			t.Errorf("%s: %q", path, got)
		}
	}
	host := "unix:" + filepath.Join(p.dir, "o")
	harness.AwaitSchedule(t, p.command, "deploy", "0 3 * * *", "--address", host)
	for day := 1; day <= 2; day++ {
		if out, err := p.command("clock", "advance", "24h", "--wait", "2m", "--address", host).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got, want := p.fetch(1, "/cron", ""), fmt.Sprint(day); got != want {
			t.Errorf("events after %d days: %s", day, got)
		}
	}
	if out, err := harness.Schedules(p.command, "deploy", "--address", host); err != nil || !strings.Contains(out, `outcome: "ok"`) {
		t.Error(out, err)
	}
}
