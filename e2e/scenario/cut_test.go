package scenario

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

const (
	cutSeed     = 20261130
	cutSessions = 2
	// cutCallers make calls side by side in each session, cutCalls each.
	cutCallers = 4
	cutCalls   = 8
	// maxCuts is how often one call's streams may break before the test gives it up.
	maxCuts = 1000

	// keepsSessions is a setting by which no session's runtime is disposed of within a test.
	keepsSessions = "MCP_SESSION_TIMEOUT_MS=600000"
)

// cutter decides where streams break. It may be used from many goroutines.
type cutter struct {
	mu   sync.Mutex // guards rand
	rand *rand.Rand
	cuts atomic.Int64
}

// where has three of four streams break off: in their first bytes, or at a time while the program runs.
func (c *cutter) where(*http.Request) harness.Cut {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rand.IntN(4) == 0 {
		return harness.Cut{Never: true}
	}
	c.cuts.Add(1)
	return harness.Cut{Bytes: c.rand.IntN(600), After: time.Duration(c.rand.IntN(400)) * time.Millisecond}
}

// streamed is what a client has of a call's streams.
type streamed struct {
	// last is the id of the last whole event, answer the call's answer.
	last   string
	answer string
	// first, unless nil, is closed when there is a last event.
	first chan<- struct{}
}

// read reads a stream until it ends or breaks off.
func (s *streamed) read(resp *http.Response, id int) {
	defer resp.Body.Close()
	var event, data string
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return // what came of the last event does not count
		}
		line = strings.TrimSuffix(line, "\n")
		if value, ok := strings.CutPrefix(line, "id: "); ok {
			event = value
		}
		if value, ok := strings.CutPrefix(line, "data: "); ok {
			data = value
		}
		if line != "" {
			continue
		}
		if event != "" {
			s.last = event
			if s.first != nil {
				close(s.first)
				s.first = nil
			}
		}
		var message struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal([]byte(data), &message) == nil && message.ID == id {
			s.answer = string(message.Result) + string(message.Error)
		}
		event, data = "", ""
	}
}

// cutCall makes a call and comes back for its answer as often as its streams break. It returns false if the call was not
// accepted: then its stream broke before the first event, which has the id to come back with.
func cutCall(r raw, id int, code string) (answer string, accepted bool) {
	ctx := within(r.t, 3*time.Minute)
	var s streamed
	resp, err := r.try(ctx, "POST", executeBody(id, code), nil)
	for range maxCuts {
		switch {
		case err != nil: // broke before the answer's head
		case resp.StatusCode != http.StatusOK:
			resp.Body.Close()
			r.t.Errorf("call %d, after event %q: %d (seed %d)", id, s.last, resp.StatusCode, cutSeed)
			return "", true
		default:
			s.read(resp, id)
		}
		if s.answer != "" || s.last == "" {
			return s.answer, s.last != ""
		}
		resp, err = r.try(ctx, "GET", "", map[string]string{"Last-Event-ID": s.last})
	}
	return "", true
}

// Whatever breaks, and wherever: of each call that was accepted the answer is obtained.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	s := start(t, harness.Options{Env: []string{keepsSessions}}) // an answer is kept as long as its session's runtime
	token := s.NewIdentity(t).Token
	c := &cutter{rand: rand.New(rand.NewPCG(cutSeed, 0))}
	behind := harness.CutProxy(t, s.MustReady(t).MCPURL, c.where)
	var g sync.WaitGroup
	var answered, refused atomic.Int64
	for range cutSessions {
		r := newRaw(t, s, token)
		r.url = behind
		r.headers["Mcp-Protocol-Version"] = "2025-11-25"
		for caller := range cutCallers {
			g.Go(func() {
				for i := range cutCalls {
					id := caller*cutCalls + i
					code := fmt.Sprintf("await new Promise(r => setTimeout(r, %d)); return 'answer-%d-'.padEnd(%d, 'x')",
						id*37%300, id, id*211%3000)
					answer, accepted := cutCall(r, 1000+id, code)
					switch {
					case !accepted:
						refused.Add(1)
					case !strings.Contains(answer, fmt.Sprintf("answer-%d-", id)):
						t.Errorf("call %d: got %.200q (seed %d)", id, answer, cutSeed)
					default:
						answered.Add(1)
					}
				}
			})
		}
	}
	g.Wait()
	t.Logf("%d calls answered, %d not accepted, %d streams cut", answered.Load(), refused.Load(), c.cuts.Load())
	if answered.Load() < cutSessions*cutCallers*cutCalls/4 || c.cuts.Load() < answered.Load() {
		t.Errorf("%d calls answered over %d cuts tell little (seed %d)", answered.Load(), c.cuts.Load(), cutSeed)
	}
}

// The SDK's client comes back by itself when a call's stream breaks while the program runs.
func TestCutStreamOfClient(t *testing.T) {
	t.Parallel()
	s := start(t, harness.Options{Env: []string{keepsSessions}})
	var calls atomic.Int64
	behind := harness.CutProxy(t, s.MustReady(t).MCPURL, func(r *http.Request) harness.Cut {
		if r.Method == http.MethodPost && calls.Add(1) == 2 { // after initialize
			return harness.Cut{Bytes: 1 << 20, After: 200 * time.Millisecond}
		}
		return harness.Cut{Never: true}
	})
	c := harness.StartNode(t).Connect(t, harness.ConnectOptions{URL: behind, Token: s.NewIdentity(t).Token})
	if got := c.Execute(t, "await new Promise(r => setTimeout(r, 1000)); return 'late'"); got.Text != "late" {
		t.Errorf("execute gave %+v", got)
	}
	if calls.Load() < 2 {
		t.Error("no call's stream was cut")
	}
}

// The worker that carries a call's stream can die: the answer is obtained from the next one.
func TestKillWorkerDuringCall(t *testing.T) {
	t.Parallel()
	s := start(t, harness.Options{Env: []string{keepsSessions}})
	r := newRaw(t, s, s.NewIdentity(t).Token)
	r.headers["Mcp-Protocol-Version"] = "2025-11-25"
	ctx := within(t, 5*time.Minute)
	resp := r.open(ctx, "POST", executeBody(2, "await new Promise(r => setTimeout(r, 10000)); return 'late'"), nil)
	first := make(chan struct{})
	got := streamed{first: first}
	read := make(chan struct{})
	go func() {
		defer close(read)
		got.read(resp, 2)
	}()
	select {
	case <-first:
	case <-read:
	}
	s.Kill(t, "worker")
	<-read
	if got.last == "" || got.answer != "" {
		t.Fatalf("before the worker died: %+v", got)
	}
	again := map[string]string{"Last-Event-ID": got.last}
	got.read(r.open(ctx, "GET", "", again), 2)
	if !strings.Contains(got.answer, "late") {
		t.Errorf("from the next worker: %+v", got)
	}
}
