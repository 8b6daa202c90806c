package projects

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// A counter's increments survive the death of its host, and its alarm fires after one.
func TestCounterSurvivesItsHost(t *testing.T) {
	p := start(t, "counter", map[string]string{".dev.vars": "TOKEN=t0ken\n"})
	p.want("/increment", "", `{"n":1}`)
	p.want("/increment?by=4", "", `{"n":5}`)
	p.want("/x?name=me", "body", "hello me: body")
	p.want("/token", "", "t0ken")
	p.Kill(t, "durableobject")
	p.want("/increment", "", `{"n":6}`)
	if status, _ := p.post("/later", ""); status != http.StatusAccepted {
		t.Errorf("later: %d", status)
	}
	p.Kill(t, "durableobject")
	p.until("/increment?by=0", `{"n":16}`)
	p.Kill(t, "worker")
	p.want("/increment", "", `{"n":17}`)
}

// A change of the source is served soon; one that cannot be built leaves the last version running, and what is stored
// stays.
func TestReload(t *testing.T) {
	p := start(t, "counter", nil)
	p.want("/increment", "", `{"n":1}`)
	status, text := p.post("/throw", "")
	if status != 500 || !strings.HasPrefix(text, "Error: my boom\n    at ") || !strings.Contains(text, "(src/index.ts:") {
		t.Errorf("throw: %d %q", status, text)
	}
	p.replace("src/index.ts", "my boom", "other boom")
	p.until("/throw", "Error: other boom")
	p.replace("src/index.ts", "export default", "export defaut")
	p.want("/increment", "", `{"n":2}`)
	p.replace("src/index.ts", "export defaut", "export default")
	p.replace("src/index.ts", "other boom", "third boom")
	p.until("/throw", "Error: third boom")
	p.want("/increment", "", `{"n":3}`)
	p.replace("src/index.ts", "export class Counter", "if (Date.now() === 0) throw new Error('at load');\nexport class Counter")
	p.logs("Error: at load")
	p.replace("src/index.ts", "if (Date.now() === 0) throw", "if (Date.now() === 1) throw")
	p.replace("src/index.ts", "third boom", "fourth boom")
	p.until("/throw", "Error: fourth boom")
	p.until("/increment", `{"n":4}`) // the host is replaced in its own time
}

// What tandem build writes runs without the source.
func TestBundle(t *testing.T) {
	secrets := filepath.Join(t.TempDir(), "secrets.json")
	if err := os.WriteFile(secrets, []byte(`{"TOKEN": "secret"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	address := harness.StartProduction(t, harness.Production{
		Binary: binary, Project: "testdata/counter", WorkerFlags: []string{"--secrets-file", secrets}, Output: t.Output(),
	})
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/increment", 200, `{"n":1}`}, {"/increment", 200, `{"n":2}`}, {"/token", 200, "secret"}, {"/throw", 500, "Internal Server Error"},
	} {
		if status, text := post(t, "http://"+address+c.path, ""); status != c.status || text != c.want {
			t.Errorf("%s: got %d %q, want %d %q", c.path, status, text, c.status, c.want)
		}
	}
}

// A project that has no object host is reloaded as well.
func TestReloadWithoutObjects(t *testing.T) {
	p := start(t, "service-worker", map[string]string{
		"wrangler.json": `{ "name": "plain", "main": "index.js", "compatibility_date": "2026-04-01" }`,
		"index.js":      `export default { fetch: () => new Response("one") };`,
	})
	p.want("/", "", "one")
	p.replace("index.js", "one", "two")
	p.until("/", "two")
}
