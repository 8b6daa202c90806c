package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// makes returns a statement that creates the policy of a name: an effect that can be counted.
func makes(name string) string {
	return fmt.Sprintf(`await tools.executor.coreTools.policies.create({owner: "user", pattern: "made.%s", action: "block"});`, name)
}

// asks is a statement that pauses, and sets r to what the tool gave.
const asks = `r = await tools.executor.coreTools.policies.list({});`

// expectMade checks that the policies of these names were created once each, and no others.
func expectMade(t *testing.T, c *harness.Client, names ...string) {
	t.Helper()
	id := pauseID(t, c.Execute(t, guardedCode))
	made := regexp.MustCompile(`made\.(\w+)`).FindAllStringSubmatch(c.Resume(t, id, "accept").Text, -1)
	var got []string
	for _, m := range made {
		got = append(got, m[1])
	}
	if !slices.Equal(got, names) {
		t.Errorf("created %v, want %v", got, names)
	}
}

// A paused execution survives the loss of the object host and of the sandbox, before its pause, between two and after
// the answer, and a restart of everything; its effects are there once.
func TestPauseSurvives(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, start(t, harness.Options{}))
	code := `let r; console.log("begun"); emit("emitted first");` + makes("a") + asks + makes("b") + `console.log("between"); emit("emitted then");` +
		asks + makes("c") + `return JSON.stringify(r)`
	var names []string
	for i, kill := range []string{"durableobject", "sandbox", "router", "worker"} {
		t.Run(kill, func(t *testing.T) {
			suffixed := regexp.MustCompile(`made\.(\w)`).ReplaceAllString(code, fmt.Sprintf("made.${1}%d", i))
			c := g.node.Connect(t, g.opts)
			first := pauseID(t, c.Execute(t, suffixed))
			g.stack.Kill(t, kill)
			second := pauseID(t, g.resume(t, first, "accept"))
			g.stack.Kill(t, kill)
			r := g.resume(t, second, "accept")
			expectResumed(t, r)
			if logs := fmt.Sprint(r.StructuredContent["logs"]); logs != "[begun between]" {
				t.Errorf("the logs are %s", logs)
			}
			if strings.Count(r.Text, "emitted first") != 1 || strings.Count(r.Text, "emitted then") != 1 {
				t.Errorf("the emitted values are in %q", r.Text)
			}
			g.stack.Kill(t, kill)
			if again := g.resume(t, second, "accept"); again.Text != r.Text {
				t.Errorf("the outcome again is %q, want %q", again.Text, r.Text)
			}
			for _, n := range []string{"a", "b", "c"} {
				names = append(names, n+strconv.Itoa(i))
			}
			expectMade(t, g.node.Connect(t, g.opts), names...)
		})
	}
}

// resume answers a pause on a new client. What a killed process excuses is tried again.
func (g guarded) resume(t *testing.T, id, action string) harness.ToolResult {
	t.Helper()
	var r harness.ToolResult
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); pause(t, 200*time.Millisecond) {
		c, err := g.node.TryConnect(g.opts)
		if err == nil {
			r, err = c.CallTool("resume", map[string]any{"executionId": id, "action": action})
		}
		if err == nil && !strings.Contains(r.Text, "call the resume tool again") {
			return r
		}
	}
	t.Fatalf("resume of %s came to nothing: %+v", id, r)
	return r
}

// A drained host hands its pauses on.
func TestPauseSurvivesDrain(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, start(t, harness.Options{}))
	id := g.pausedExecution(t)
	before := g.stack.MustReady(t).PIDs["durableobject"]
	if err := syscall.Kill(before, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := g.stack.WaitReady(within(t, 2*time.Minute), func(r harness.Ready) bool {
		return r.PIDs["durableobject"] != before && r.PIDs["durableobject"] != 0
	}); err != nil {
		t.Fatal(err)
	}
	expectResumed(t, g.resume(t, id, "accept"))
}

// A call that is declined after its host was lost throws, and so does a cancelled one.
func TestDeclineAfterLoss(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, start(t, harness.Options{}))
	code := `let r; try { ` + asks + ` return "went on" } catch (e) { return "threw: " + e.message }`
	for action, want := range map[string]string{"decline": "declined", "cancel": "cancelled"} {
		id := pauseID(t, g.node.Connect(t, g.opts).Execute(t, code))
		g.stack.Kill(t, "durableobject")
		r := g.resume(t, id, action)
		if r.IsError || !strings.HasPrefix(r.Text, "threw: ") || !strings.Contains(r.Text, want) {
			t.Errorf("after %s: %+v", action, r)
		}
	}
}

// The clock and the randomness of a program are the same when it is run again, and the order of what it did at once: had
// it seen other values, its calls would have had other arguments, and it would have diverged.
func TestProgramIsTheSameAgain(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, start(t, harness.Options{}))
	c := g.node.Connect(t, g.opts)
	id := pauseID(t, c.Execute(t, `
		let r
		const sleep = (ms) => new Promise((done) => setTimeout(done, ms))
		const seen = [Date.now(), performance.now(), Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(4))]]
		const order = []
		await Promise.all([1, 2, 3, 4].map(async (i) => {
			await sleep(i % 2 * 5); order.push("t" + i, Date.now())
			await tools.search({query: "p" + i}); order.push("s" + i, Date.now(), Math.random())
		}))
		// What the program has seen is the argument of a call: the host compares it with what it was before.
		const told = JSON.stringify({seen, order})
		await tools.search({query: told.slice(0, 1000)})
		await tools.executor.coreTools.policies.create({owner: "user", pattern: "seen." + crypto.randomUUID(), action: "block"})
		`+asks+`
		const jumped = Date.now()
		return {told, jumped, paused: jumped - order[1] > 1000, r: r.data.policies.filter((p) => p.pattern.startsWith("seen.")).length}`))
	pause(t, 1200*time.Millisecond)
	g.stack.Kill(t, "durableobject")
	r := g.resume(t, id, "accept")
	if r.IsError || r.StructuredContent["status"] != "completed" {
		t.Fatalf("resume gave %+v", r)
	}
	var got struct {
		Told   string
		Paused bool
		R      int
	}
	if err := json.Unmarshal([]byte(r.Text), &got); err != nil || !got.Paused || got.R != 1 {
		t.Errorf("it saw %s, %v", r.Text, err)
	}
}

// approving is a client that executes programs with effects and approves their pauses, whatever happens to the stack.
type approving struct {
	guarded
	name string
	// effects tells of each effect of the programs that ended: whether the program was told that it took place.
	effects map[string]bool
}

var toolText = regexp.MustCompile(`"text":"((?:[^"\\]|\\.)*)"`)

// call calls a tool without a session of its own and returns its text; empty for what a killed process excuses.
func (a *approving) call(t *testing.T, tool, arguments string) string {
	headers := mcpHeaders(a.opts.Token)
	headers["Mcp-Protocol-Version"], headers["Mcp-Method"], headers["Mcp-Name"] = "2026-07-28", "tools/call", tool
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, arguments)
	req, err := http.NewRequestWithContext(within(t, 2*time.Minute), "POST", a.opts.URL, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	m := toolText.FindSubmatch(answer)
	if err != nil || m == nil {
		return ""
	}
	var text string
	if err := json.Unmarshal([]byte(`"`+string(m[1])+`"`), &text); err != nil {
		t.Errorf("text of %s: %v", answer, err)
	}
	return text
}

// work executes one program and approves its pauses until it ends. A program that is lost before its first pause is
// given up: nobody knows its id.
func (a *approving) work(t *testing.T, n int) {
	name := fmt.Sprintf("%s%d", a.name, n)
	code := fmt.Sprintf(`const told = []
		const make = async (n) => {
			const r = await tools.executor.coreTools.policies.create({owner: "user", pattern: "made.%s_" + n, action: "block"})
			told.push(n + "=" + (r.ok ? "ok" : r.error.code))
		}
		await make(1); await tools.executor.coreTools.policies.list({})
		await Promise.all([make(2), make(3)]); await tools.executor.coreTools.policies.list({}); await make(4)
		return "told " + told.join()`, name)
	arguments, _ := json.Marshal(map[string]string{"code": code}) // strings always marshal
	text := a.call(t, "execute", string(arguments))
	var id string
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		if m := executionIDLine.FindStringSubmatch(text); m != nil {
			id = m[1]
		} else if told, ok := strings.CutPrefix(text, "told "); ok {
			for _, was := range strings.Split(told, ",") {
				call, was, _ := strings.Cut(was, "=")
				if was != "ok" && was != "outcome_unknown" {
					t.Errorf("call %s of %s was told of %s", call, name, was)
				}
				a.effects[name+"_"+call] = was == "ok"
			}
			return
		} else if id == "" {
			return
		} else if text != "" && !strings.Contains(text, "call the resume tool again") {
			t.Errorf("%s ended with %s", name, text)
			return
		}
		if text == "" {
			pause(t, 50*time.Millisecond)
		}
		text = a.call(t, "resume", fmt.Sprintf(`{"executionId":%q,"action":"accept"}`, id))
	}
	t.Errorf("%s comes to no end", name)
}

// Hosts and sandboxes are killed while programs pause and are approved: every program that has paused comes to its end,
// and no effect is there twice.
func TestKillDuringApprovals(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, start(t, harness.Options{}))
	stop := make(chan struct{})
	var clients []*approving
	var work sync.WaitGroup
	for i := range 3 {
		a := &approving{guarded: g, name: string(rune('a' + i)), effects: map[string]bool{}}
		clients = append(clients, a)
		work.Go(func() {
			for n := range 30 { // an owner may have so many policies
				select {
				case <-stop:
					if len(a.effects) > 0 {
						return
					}
				default:
				}
				a.work(t, n)
			}
		})
	}
	for _, process := range []string{"durableobject", "sandbox", "durableobject", "sandbox", "durableobject"} {
		pause(t, 300*time.Millisecond)
		g.stack.Kill(t, process)
	}
	pause(t, 300*time.Millisecond)
	close(stop)
	work.Wait()
	c := g.node.Connect(t, g.opts)
	made := map[string]int{}
	const patterns = `const r = await tools.executor.coreTools.policies.list({})
		return r.data.policies.map((p) => p.pattern).join()` // the whole of them would be cut
	for _, m := range regexp.MustCompile(`made\.(\w+)`).FindAllStringSubmatch(
		c.Resume(t, pauseID(t, c.Execute(t, patterns)), "accept").Text, -1) {
		if made[m[1]]++; made[m[1]] > 1 {
			t.Errorf("%s is there twice", m[1])
		}
	}
	for _, a := range clients {
		t.Logf("%s: %d effects told", a.name, len(a.effects))
		if len(a.effects) == 0 {
			t.Errorf("no program of %s ended", a.name)
		}
		for name, told := range a.effects {
			if told && made[name] != 1 {
				t.Errorf("%s is not there", name)
			}
		}
	}
}

// children returns the processes that a process has started and that live.
func children(t *testing.T, parent int) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("no /proc to count processes in")
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[0] != "Z" && f[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// resident returns the resident memory of a process in MiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		return 0
	}
	kib, _ := strconv.Atoi(string(m[1])) // digits
	return kib >> 10
}

// A thousand executions are paused at once on one host with the limits as they are: they hold no process each, little
// memory, and can go on after their host was killed, too.
func TestThousandPauses(t *testing.T) {
	t.Parallel()
	const organizations, each = 4, 250
	s := start(t, harness.Options{Args: []string{"--approval-window", "1h"}})
	host := s.MustReady(t).PIDs["durableobject"]
	before := resident(t, host)
	var g sync.WaitGroup
	at := time.Now()
	ids := make([][]string, organizations)
	accounts := make([]guarded, organizations)
	for i := range organizations {
		accounts[i] = newGuarded(t, s)
		g.Go(func() {
			r := newRaw(t, s, accounts[i].opts.Token)
			for n := range each {
				answer := r.post(executeBody(n+2, `const a = []; for (let i = 0; i < 100; i++) a.push(Math.random()); `+guardedCode))
				m := regexp.MustCompile(`"executionId":"(exec_[0-9a-f-]+)"`).FindStringSubmatch(answer.Body)
				if m == nil {
					t.Errorf("execution %d of %d: %d %s", n, i, answer.Status, answer.Body)
					return
				}
				ids[i] = append(ids[i], m[1])
			}
		})
	}
	g.Wait()
	if t.Failed() {
		return
	}
	took := time.Since(at)
	processes := 0
	for range 120 { // each process is given back after a grace
		pause(t, time.Second)
		if processes = len(children(t, s.MustReady(t).PIDs["sandbox"])); processes <= 64 {
			break
		}
	}
	t.Logf("%d paused executions in %v: %d sandbox processes, the host has %d MiB, %d more than before",
		organizations*each, took.Round(time.Second), processes, resident(t, host), resident(t, host)-before)
	if processes > 64 {
		t.Errorf("%d sandbox processes are left", processes)
	}
	s.Kill(t, "durableobject")
	for i := range organizations {
		g.Go(func() {
			r := newRaw(t, s, accounts[i].opts.Token)
			for n := 0; n < each; n += 10 {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"resume",`+
					`"arguments":{"executionId":%q,"action":"accept"}}}`, n+2, ids[i][n])
				if answer := r.post(body); !strings.Contains(answer.Body, `"status":"completed"`) {
					t.Errorf("resume %d of %d: %d %s", n, i, answer.Status, answer.Body)
					return
				}
			}
		})
	}
	g.Wait()
}
