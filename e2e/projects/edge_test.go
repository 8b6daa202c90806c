package projects

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// A Worker has a cache, in development and in production, which the isolates of its process share; so has an object.
// request.cf is there in development only, and goes along with a request.
func TestEdge(t *testing.T) {
	p := start(t, "edge", nil)
	p.want("/where", "", `["US","0",22]`)
	p.want("/where/others", "", `[["US","0",22],[null,null,0],["XX",null,1]]`)
	cache(t, p.want)
	// No client can say what it is: that would be no header of HTTP.
	got := raw(t, p.MustReady(t).WorkerURL, "GET /where HTTP/1.1\r\nHost: a\r\n:cf: {\"country\":\"XX\"}\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("a header of that name: got %q", got)
	}
	p.replace("index.js", `case "/object":`, `case "/again": return new Response("again"); case "/object":`)
	p.until("/again", "again")
	p.want("/kept", "", `[[200,"page","HIT"],[206,"ag","HIT"],[304,"","HIT"]]`)
	p.want("/forget", "", `[true,false]`)
	p.want("/kept", "", `["nothing","nothing","nothing"]`)

	q := startBundle(t, "edge")
	q("/where", "", `[null,null,0]`)
	q("/where/others", "", `[[null,null,0],[null,null,0],["XX",null,1]]`)
	cache(t, q)
}

// raw sends bytes to a server, and returns the line that it answers with.
func raw(t *testing.T, origin, text string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", strings.TrimPrefix(origin, "http://"), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// cache keeps a page, and has an object keep one of its own.
func cache(t *testing.T, want func(path, body, want string)) {
	t.Helper()
	want("/kept", "", `["nothing","nothing","nothing"]`)
	want("/keep", "page", `[200,"page","HIT"]`)
	for range 4 {
		want("/kept", "", `[[200,"page","HIT"],[206,"ag","HIT"],[304,"","HIT"]]`)
	}
	want("/object", "", `["nothing",[200,"of an object","HIT"],true]`)
}

// A script that is not there is an error of the configuration that names it.
func TestMainIsMissing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ config, place, want, line string }{
		{
			"{ \"name\": \"edge\", \"compatibility_date\": \"2026-04-01\",\n  \"main\": \"src/indx.js\" }",
			"wrangler.jsonc:2:11",
			`"main" is "src/indx.js", and there is no such file; did you mean "src/index.js"?`, `"main": "src/indx.js" }`,
		},
		{
			"name = \"edge\"\ncompatibility_date = \"2026-04-01\"\nmain = \"dist/index.js\"\n", "wrangler.toml:3:8",
			`"main" is "dist/index.js", and there is no such file; did you mean "src/index.js"?`, `main = "dist/index.js"`,
		},
	} {
		dir := t.TempDir()
		name, _, _ := strings.Cut(tt.place, ":")
		for file, text := range map[string]string{
			name: tt.config, "src/index.js": "export default {}", "node_modules/x/indx.js": "",
		} {
			file = filepath.Join(dir, file)
			if err := errors.Join(
				os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600),
			); err != nil {
				t.Fatal(err)
			}
		}
		for _, command := range []string{"dev", "check", "build"} {
			cmd := exec.CommandContext(t.Context(), binary, command, ".")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_RUNTIME_DIR=")
			out, err := cmd.CombinedOutput()
			if want := tt.place + ": error: " + tt.want + "\n"; err == nil || !strings.Contains(string(out), want) ||
				!strings.Contains(string(out), tt.line) {
				t.Errorf("%s: got %v %s, want %s", command, err, out, want)
			}
		}
	}
}

// startBundle runs a project as production does, by a bundle, and returns what checks an answer.
func startBundle(t *testing.T, name string) (want func(path, body, want string)) {
	t.Helper()
	address := harness.StartProduction(t, harness.Production{
		Binary: binary, Project: filepath.Join("testdata", name), Output: t.Output(),
	})
	return func(path, body, want string) {
		t.Helper()
		if _, got := post(t, "http://"+address+path, body); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
