package scenario

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/e2e/harness"
)

// Secrets of the sources, which must be found nowhere.
const (
	trackerSecret = "tracker-9f86d081884c7d65-secret"
	petsSecret    = "pets-60303ae22b998861-secret"
)

// tracker is an MCP server in the test's process that can be stopped and started again at the same address.
type tracker struct {
	address string
	server  *mcp.Server
	http    *http.Server
	created atomic.Int64
}

func startTracker(t *testing.T) *tracker {
	t.Helper()
	k := &tracker{address: harness.FreeAddress(t), server: mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, nil)}
	k.add("create-issue")
	k.start(t)
	t.Cleanup(k.stop)
	return k
}

// add adds a tool that answers with its name and the title that it was given.
func (k *tracker) add(name string) {
	type in struct {
		Title string `json:"title"`
	}
	type out struct {
		Tool  string `json:"tool"`
		Title string `json:"title"`
	}
	mcp.AddTool(k.server, &mcp.Tool{Name: name, Description: "Keeps a quokka's ticket."},
		func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, out, error) {
			k.created.Add(1)
			return nil, out{name, in.Title}, nil
		})
}

func (k *tracker) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", k.address)
	if err != nil {
		t.Fatal(err)
	}
	k.address = l.Addr().String()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return k.server }, nil)
	k.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+trackerSecret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})}
	go k.http.Serve(l) //nolint:errcheck // it ends with stop
}

func (k *tracker) stop() { k.http.Close() }

// startPets starts an HTTP API with an OpenAPI document.
func startPets(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"paths":{"/pets/{id}":{"get":{
			"operationId":"getPet","summary":"Gets a pet.","parameters":[
				{"name":"id","in":"path","required":true,"schema":{"type":"integer"}}],
			"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object"}}}}}}}}}`))
	})
	mux.HandleFunc("GET /pets/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != petsSecret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"id":` + r.PathValue("id") + `,"name":"Rex"}`))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// operator uses `tandem sources` against a stack.
type operator struct {
	stack *harness.Stack
	token string
	// printed is all that was printed.
	printed bytes.Buffer
}

// sources runs a command and returns what it prints.
func (o *operator) sources(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shared.binary, append([]string{"sources"}, args...)...)
	cmd.Env = append(os.Environ(), "TANDEM_URL="+o.stack.MustReady(t).APIURL, "TANDEM_TOKEN="+o.token, "TRACKER="+trackerSecret)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	o.printed.Write(out)
	return string(out), err
}

func (o *operator) must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := o.sources(t, stdin, args...)
	if err != nil {
		t.Fatalf("tandem sources %v: %v\n%s", args, err, out)
	}
	return out
}

// api asks the API and notes the answer.
func (o *operator) api(t *testing.T, method, path, body string) harness.Response {
	t.Helper()
	r := harness.Do(t, method, o.stack.MustReady(t).APIURL+path,
		map[string]string{"Authorization": "Bearer " + o.token, "Content-Type": "application/json"}, []byte(body))
	o.printed.WriteString(r.Body)
	return r
}

// Issue 4, "Upstream tools": an MCP server and an OpenAPI document become tools, with search, schemas, policies and
// approvals; a source that is down fails its own calls; the secrets are found nowhere.
func TestSources(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := start(t, harness.Options{StateDir: state, Args: []string{"--allow-private-sources"}})
	k, pets := startTracker(t), startPets(t)
	o := &operator{stack: s, token: s.NewIdentity(t).Token}
	c := harness.StartNode(t).Connect(t, harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: o.token})
	expect := func(code, want string) {
		t.Helper()
		if r := c.Execute(t, code); r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %s, want %s", code, r.Text, want)
		}
	}

	if out, err := o.sources(t, "wrong-secret\n", "add", "tracker", "--mcp", "http://"+k.address, "--bearer-file", "-"); err == nil ||
		!strings.Contains(out, "wants credentials") {
		t.Errorf("wrong credentials: %v %s", err, out)
	}
	o.must(t, "", "add", "tracker", "--mcp", "http://"+k.address, "--bearer-env", "TRACKER")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(petsSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.must(t, "", "add", "pets", "--openapi", pets.URL+"/openapi.json", "--header-file", "X-Api-Key="+key)
	if out := o.must(t, "", "list"); !strings.Contains(out, "tracker") || !strings.Contains(out, "pets") {
		t.Errorf("list: %s", out)
	}
	if out := o.must(t, "", "tools", "pets"); !strings.Contains(out, "tools.pets.getPet") {
		t.Errorf("tools: %s", out)
	}

	expect(`const r = await tools.tracker.create_issue({title: "roof"}); return r.data`, `"title": "roof"`)
	expect(`const r = await tools.pets.getPet({id: 7}); return r.data`, `"name": "Rex"`)
	expect(`return (await tools.search({query: "quokka"})).data`, `"path": "tracker.create_issue"`)
	expect(`return (await tools.describe.tool({path: "tracker.create_issue"})).data`, `"outputSchema"`)
	expect(`return (await tools.pets.getPet({id: "seven"})).error`, `"invalid_tool_arguments"`)
	expect(`return (await tools.pets.getpet({id: 7})).error`, `"pets.getPet"`)

	policy := o.api(t, "POST", "/api/policies", `{"owner":"org","pattern":"tracker.*","action":"require_approval"}`)
	before := k.created.Load()
	id := pauseID(t, c.Execute(t, `return (await tools.tracker.create_issue({title: "door"})).data`))
	if k.created.Load() != before {
		t.Error("the call was made before its approval")
	}
	if r := c.Resume(t, id, "accept"); r.IsError || !strings.Contains(r.Text, `"title": "door"`) || k.created.Load() != before+1 {
		t.Errorf("after the approval: %+v, %d calls", r, k.created.Load())
	}
	var rule struct{ ID string }
	if err := json.Unmarshal([]byte(policy.Body), &rule); err != nil {
		t.Fatal(err)
	}
	o.api(t, "DELETE", "/api/policies/"+rule.ID, `{"owner":"org"}`)

	k.stop()
	expect(`const r = await tools.tracker.create_issue({title: "x"}); return [r.error.code, (await tools.pets.getPet({id: 8})).data.name]`,
		"source_unavailable")
	if out, err := o.sources(t, "", "refresh", "tracker"); err == nil || !strings.Contains(out, "error") {
		t.Errorf("refresh of a source that is down: %v, %s", err, out)
	}
	expect(`return (await tools.search({query: "quokka"})).data`, `"path": "tracker.create_issue"`)
	k.add("close-issue")
	k.start(t)
	o.must(t, "", "refresh", "tracker")
	expect(`return (await tools.tracker.close_issue({title: "y"})).data`, `"tool": "close-issue"`)

	s.Kill(t, "durableobject")
	expect(`return (await tools.pets.getPet({id: 9})).data`, `"id": 9`)
	expect(`return (await tools.tracker.close_issue({title: "z"})).data`, `"title": "z"`)
	o.api(t, "GET", "/api/sources", "")
	o.must(t, "", "remove", "pets")
	expect(`return (await tools.pets.getPet({id: 7})).error`, "tool_not_found")
	expectNoSecrets(t, s, state, o.printed.String())
}

// A source that wants a sign-in: the stack's own MCP endpoint. The person at the browser is somebody else.
func TestSourceWithSignIn(t *testing.T) {
	t.Parallel()
	s := start(t, harness.Options{Args: []string{"--allow-private-sources"}})
	ready, token := s.MustReady(t), s.NewIdentity(t).Token
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shared.binary, "sources", "add", "nested", "--mcp", ready.MCPURL, "--oauth")
	cmd.Env = append(os.Environ(), "TANDEM_URL="+ready.APIURL, "TANDEM_TOKEN="+token)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if address := strings.TrimSpace(lines.Text()); strings.HasPrefix(address, "http") {
			resp, err := http.Get(address + "&login_hint=somebody-else@example.com") //nolint:noctx // as a browser does
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s%s", err, &said, &stdout)
	}
	c := harness.StartNode(t).Connect(t, harness.ConnectOptions{URL: ready.MCPURL, Token: token})
	r := c.Execute(t, `return (await tools.nested.execute({code: "return 6 * 7"}))`)
	if r.IsError || !strings.Contains(r.Text, "42") {
		t.Errorf("a program in a program: %s", r.Text)
	}
}

// expectNoSecrets looks for the secrets in all that a stack has written.
func expectNoSecrets(t *testing.T, s *harness.Stack, state, printed string) {
	t.Helper()
	search := s.MustReady(t).DashboardURL + "/api/spans/search?lookback=15m&limit=1000"
	for range 300 { // spans leave their process within a second or so
		r := harness.Do(t, "GET", search+"&operation=executor.tool.execute&attr.mcp.tool.name=tracker.close_issue", nil, nil)
		if strings.Contains(r.Body, "close_issue") {
			break
		}
		pause(t, 200*time.Millisecond)
	}
	spans := harness.Do(t, "GET", search, nil, nil)
	texts := map[string]string{"the log": s.Log(), "the spans": spans.Body, "what was printed and answered": printed}
	if !strings.Contains(spans.Body, "tracker.close_issue") {
		t.Error("the spans do not name the tool")
	}
	files := 0
	err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // a file may go while the stack runs
		}
		text, err := os.ReadFile(path)
		if err == nil {
			files++
			texts[path] = string(text)
		}
		return nil
	})
	if err != nil || files < 5 {
		t.Fatalf("%d files read, %v", files, err)
	}
	for what, text := range texts {
		for _, secret := range []string{trackerSecret, petsSecret} {
			if strings.Contains(text, secret) {
				t.Errorf("a secret is in %s", what)
			}
		}
	}
}

// Without the flag a source cannot have an address of this machine, and the refusal names the flag.
func TestSourcesArePublic(t *testing.T) {
	t.Parallel()
	pets := startPets(t)
	o := &operator{stack: shared.stack, token: shared.stack.NewIdentity(t).Token}
	for _, body := range []string{
		`{"name":"a","kind":"openapi","url":"` + pets.URL + `/openapi.json"}`,
		`{"name":"b","kind":"mcp","url":"` + pets.URL + `"}`,
	} {
		r := o.api(t, "POST", "/api/sources", body)
		if r.Status != http.StatusBadGateway || !strings.Contains(r.Body, "--allow-private-sources") {
			t.Errorf("%s: %d %s", body, r.Status, r.Body)
		}
	}
	if r := o.api(t, "GET", "/api/sources", ""); r.Body != "[]" {
		t.Errorf("left behind: %s", r.Body)
	}
}
