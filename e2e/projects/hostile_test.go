package projects

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// answered sends a request and returns the answer as it is, within the time given.
func (p *project) answered(path string, within time.Duration) (int, string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), within)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.MustReady(p.t).WorkerURL+path, http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Errorf("%s: %v", path, err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Errorf("%s: %v", path, err)
	}
	return resp.StatusCode, string(text)
}

// patience is how long an event with a small limit of processor time may take on a machine with much to do.
const patience = time.Minute

// hostile starts the project of hostile programs under small limits. That of the heap is small enough for a machine on which
// memory that is touched first takes long to come: what fills it is in one function of the engine, which nothing interrupts.
func hostile(t *testing.T, args ...string) *project {
	t.Helper()
	p, err := tryStart(t, "hostile", nil, "", harness.Options{
		Args: args, Env: []string{"TANDEM_CPU_LIMIT=500", "TANDEM_MEMORY_LIMIT=256"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Programs that compute, recurse or allocate without end get an error, in a Worker and in an object, and both go on for
// others meanwhile. No process ends.
func TestHostilePrograms(t *testing.T) {
	p := hostile(t)
	before := p.MustReady(t).PIDs
	_, text := p.answered("/list", patience)
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil || len(names) < 40 {
		t.Fatal(err, text)
	}
	// Others are served meanwhile, however long the programs take.
	bystanding, stop := context.WithCancel(t.Context())
	slowest := make(chan time.Duration, 1)
	go func() {
		var most time.Duration
		resets := 0
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for bystanding.Err() == nil {
			began := time.Now()
			// Events and objects share isolates with others. One is given up where one of them fills the memory or keeps a
			// built-in function busy, and what is under way there ends with it.
			given := func(status int, got string) bool {
				return status == http.StatusOK && strings.HasSuffix(got, "limit and was reset. [null,null,true]") ||
					status == http.StatusInternalServerError && strings.HasPrefix(got, "Error: Worker exceeded memory limit.")
			}
			for path, want := range map[string]string{"/well": "well", "/bystander/other": ""} {
				status, got := p.answered(path, patience)
				if given(status, got) {
					resets++
				} else if status != http.StatusOK || strings.HasPrefix(got, "error") || want != "" && got != want {
					t.Errorf("%s: %d %s", path, status, got)
				}
				if resets > 10 { // the slower the machine is, the more often something is under way then
					t.Errorf("%s: given up for the %dth time: %d %s", path, resets, status, got)
				}
			}
			most = max(most, time.Since(began))
			<-tick.C
		}
		slowest <- most
	}()
	for _, name := range names {
		for _, where := range []string{"worker", "object"} {
			sent := time.Now()
			status, got := p.answered("/"+where+"/"+name, patience)
			took := time.Since(sent).Round(time.Millisecond)
			began := strings.HasPrefix(got, "caught ") || strings.HasPrefix(got, "value ") || strings.HasPrefix(got, "error ")
			if status != http.StatusOK && status != http.StatusInternalServerError || status == http.StatusOK && !began {
				t.Errorf("%s in the %s: %d %q", name, where, status, got)
			}
			t.Logf("%s in the %s after %v: %d %.100s", name, where, took, status, strings.SplitN(got, "\n", 2)[0])
		}
	}
	stop()
	t.Logf("others waited for %v at most", <-slowest)
	after := p.MustReady(t).PIDs
	for _, process := range []string{"worker", "durableobject"} {
		if before[process] != after[process] {
			t.Errorf("the process %s has ended", process)
		}
	}
}

// An object whose code goes over its limit again and again takes no events for a while and says so; the others go on, and
// it does once an operator has lifted that.
func TestPoisonedObject(t *testing.T) {
	p := hostile(t)
	for range 5 {
		if _, got := p.answered("/poison", patience); got != "error Durable Object exceeded its CPU time limit and was reset. "+
			"[null,null,true]" {
			t.Error(got)
		}
	}
	began := time.Now()
	_, got := p.answered("/poison", patience)
	if !strings.HasPrefix(got, "error The Durable Object is quarantined: it crashed again and again, the last time because it "+
		"exceeded its CPU time limit. It takes no events for another ") || !strings.HasSuffix(got, " [true,null,null]") {
		t.Error(got)
	}
	if took := time.Since(began); took > 400*time.Millisecond {
		t.Logf("quarantine took %v to answer", took)
	}
	if _, got := p.answered("/bystander/healthy", patience); got != "1" {
		t.Error(got)
	}
}

// A handler that waits for what never comes is ended in a Worker. In an object it waits, like on workerd, since another
// event may yet help it; the object and others go on, and nothing is left when the caller has gone.
func TestHungHandlers(t *testing.T) {
	p := hostile(t)
	status, got := p.answered("/hang", patience)
	if status != http.StatusInternalServerError || !strings.HasPrefix(got, "Error: The Workers runtime canceled this request "+
		"because it detected that your Worker's code had hung and would never generate a response.") {
		t.Errorf("in the Worker: %d %s", status, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.MustReady(t).WorkerURL+"/stuck/a", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		ended <- err
	}()
	for n, want := range []string{"1", "2", "3"} {
		if _, got := p.answered("/bystander/a", patience); got != want {
			t.Errorf("call %d of the same object: %s", n, got)
		}
	}
	if _, got := p.answered("/bystander/b", patience); got != "1" {
		t.Errorf("another object: %s", got)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the call that hangs has ended by itself")
	}
	if _, got := p.answered("/bystander/a", patience); got != "4" {
		t.Errorf("after the caller has gone: %s", got)
	}
}

// --strict-limits reaches the objects' storage.
func TestStrictLimits(t *testing.T) {
	if _, got := hostile(t).answered("/strict", patience); got != "set" {
		t.Errorf("without: %s", got)
	}
	_, got := hostile(t, "--strict-limits").answered("/strict", patience)
	if !strings.HasPrefix(got, "error Keys cannot be larger than 2048 bytes. A key of size 2049 was provided.") {
		t.Errorf("with: %s", got)
	}
}

// A class that a migration renames keeps its objects; one that is made anew after its deletion has none.
func TestRenamedClass(t *testing.T) {
	p := start(t, "counter", nil)
	p.want("/increment", "", `{"n":1}`)
	p.replace("src/index.ts", "class Counter ", "class Tally ")
	p.replace("src/index.ts", "my boom", "of a Tally")
	p.write("wrangler.jsonc", `{ "name": "counter", "main": "src/index.ts", "compatibility_date": "2026-04-01",
		"durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Tally" }] }, "migrations": [
			{ "tag": "v1", "new_sqlite_classes": ["Counter"] },
			{ "tag": "v2", "renamed_classes": [{ "from": "Counter", "to": "Tally" }] }] }`)
	p.until("/throw", "of a Tally")
	p.until("/increment?by=0", `{"n":1}`)
	p.write("wrangler.jsonc", `{ "name": "counter", "main": "src/index.ts", "compatibility_date": "2026-04-01",
		"durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Tally" }] }, "migrations": [
			{ "tag": "v1", "new_sqlite_classes": ["Counter"] },
			{ "tag": "v2", "renamed_classes": [{ "from": "Counter", "to": "Tally" }] },
			{ "tag": "v3", "deleted_classes": ["Tally"] }, { "tag": "v4", "new_sqlite_classes": ["Tally"] }] }`)
	p.until("/increment", `{"n":1}`)
}

// What cannot start says why, and what starts without a handler says so to each request.
func TestScriptsThatCannotServe(t *testing.T) {
	for name, c := range map[string]struct{ code, log, answer string }{
		"throws":         {`throw new Error("at load"); export default {};`, "the script does not start: Error: at load", ""},
		"never settles":  {`await new Promise(() => {}); export default {};`, "Top-level await in module is unsettled.", ""},
		"recurses":       {`(function f() { f(); })(); export default {};`, "Maximum call stack size exceeded", ""},
		"wrong default":  {`export default 5;`, "Incorrect type for map entry 'default'", ""},
		"wrong export":   {`export const A = 1; export default {};`, "Incorrect type for map entry 'A'", ""},
		"global scope":   {`setTimeout(() => {}); export default {};`, "Disallowed operation called within global scope.", ""},
		"no exports":     {`1;`, "", "Error: No event handlers were registered. This script does nothing."},
		"no fetch":       {`export default { scheduled() {} };`, "", "Error: Handler does not export a fetch() function."},
		"wrong fetch":    {`export default { fetch: 5 };`, "", "Error: Handler does not export a fetch() function."},
		"no response":    {`export default { fetch() { return 5; } };`, "", "TypeError: Incorrect type for Promise: the Promise did not resolve to 'Response'."},
		"hangs":          {`export default { fetch() { return { then() {} }; } };`, "", "Error: The Workers runtime canceled this request because"},
		"evaluates":      {`export default { fetch() { return eval("5"); } };`, "", "EvalError: Code generation from strings disallowed for this context"},
		"throws nothing": {`export default { fetch() { throw null; } };`, "", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := tryStart(t, "counter", map[string]string{
				"src/index.ts": c.code, "wrangler.jsonc": `{"name": "bad", "main": "src/index.ts", "compatibility_date": "2026-04-01"}`,
			}, "", harness.Options{})
			if c.log != "" {
				if err == nil || !strings.Contains(err.Error(), c.log) {
					t.Errorf("got %v, want %s", err, c.log)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if status, got := p.answered("/", patience); status != http.StatusInternalServerError || !strings.HasPrefix(got, c.answer) {
				t.Errorf("got %d %q, want %q", status, got, c.answer)
			}
		})
	}
}
