package scenario

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// A Worker with a KV namespace and a schedule. What the handler of the schedule was told is a key.
const servicesConfig = `{
	"name": "services", "main": "index.ts", "compatibility_date": "2026-04-01",
	"kv_namespaces": [{ "binding": "NOTES", "id": "notes" }],
	"triggers": { "crons": ["*/10 * * * *"] },
}`

const servicesScript = `
interface Env { NOTES: any }
export default {
	async fetch(request: Request, { NOTES }: Env): Promise<Response> {
		const url = new URL(request.url);
		const key = url.pathname.slice(1);
		const ttl = url.searchParams.get("ttl");
		if (request.method === "PUT") {
			await NOTES.put(key, request.body, { metadata: { by: "put" }, expirationTtl: ttl ? Number(ttl) : undefined });
			return new Response("stored");
		}
		if (key === "") return Response.json((await NOTES.list()).keys.map((k: { name: string }) => k.name));
		const { value, metadata } = await NOTES.getWithMetadata(key);
		return Response.json({ value, metadata });
	},
	async scheduled(controller: any, { NOTES }: Env) {
		if (controller.cron === "fail") throw new Error("no");
		const runs = (await NOTES.get("runs", "json")) ?? [];
		runs.push(controller.cron + " " + controller.scheduledTime / 60_000 % 10);
		await NOTES.put("runs", JSON.stringify(runs));
	},
};
`

// ask sends a request to the Worker of a stack.
func ask(t *testing.T, s *harness.Stack, method, path, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.MustReady(t).WorkerURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", method, path, err, s.Log())
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// expect sends a request to the Worker of a stack and expects an answer.
func expect(t *testing.T, s *harness.Stack, method, path, body, want string) {
	t.Helper()
	if status, got := ask(t, s, method, path, body); got != want {
		t.Errorf("%s %s: got %d %s, want %s", method, path, status, got, want)
	}
}

// A Worker's notes outlive kill -9 of the object host and expire at their time, and its schedule fires by the clock.
func TestKVAndCron(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"wrangler.jsonc": servicesConfig, "index.ts": servicesScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, harness.Options{TestClock: true, Args: []string{dir}})
	s.AwaitSchedule(t, "services", "*/10 * * * *")
	// No event is due by itself for the next nine minutes; one was due on the way here, or even two.
	now := time.Now()
	s.Advance(t, now.Truncate(10*time.Minute).Add(11*time.Minute).Sub(now))
	expect(t, s, http.MethodPut, "/runs", "[]", "stored")
	long := strings.Repeat("long ", 200_000)
	expect(t, s, http.MethodPut, "/short", "hello", "stored")
	expect(t, s, http.MethodPut, "/long", long, "stored")
	expect(t, s, http.MethodPut, "/gone?ttl=1200", "soon", "stored")
	s.Kill(t, "durableobject")
	expect(t, s, http.MethodGet, "/short", "", `{"value":"hello","metadata":{"by":"put"}}`)
	if _, got := ask(t, s, http.MethodGet, "/long", ""); !strings.Contains(got, long) {
		t.Errorf("the long value has %d bytes", len(got))
	}
	expect(t, s, http.MethodGet, "/", "", `["gone","long","runs","short"]`)

	expect(t, s, http.MethodPost, "/cdn-cgi/local/scheduled?cron=by+hand&time=60000", "", "ok")
	expect(t, s, http.MethodGet, "/cdn-cgi/handler/scheduled?cron=fail&format=json", "",
		`{"outcome":"exception","noRetry":false}`)
	expect(t, s, http.MethodGet, "/__scheduled?cron=again&time=0", "", "Ran scheduled event")
	s.Advance(t, 30*time.Minute)
	_, got := ask(t, s, http.MethodGet, "/runs", "")
	var note struct{ Value string }
	if err := json.Unmarshal([]byte(got), &note); err != nil {
		t.Fatal(got, err)
	}
	const want = `["by hand 1","again 0","*/10 * * * * 0","*/10 * * * * 0","*/10 * * * * 0"]`
	if note.Value != want {
		t.Errorf("events %s, want %s", note.Value, want)
	}
	expect(t, s, http.MethodGet, "/gone", "", `{"value":null,"metadata":null}`)
	expect(t, s, http.MethodGet, "/", "", `["long","runs","short"]`)
}
