package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// peek reads a JSON-RPC request and puts its body back.
func peek(r *http.Request) (id json.RawMessage, method, body string) {
	data, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(data))
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(data, &m)
	return m.ID, m.Method, string(data)
}

// The client declares that it answers nothing, and refuses what a server asks all the same, at once: the call goes on.
func TestServerRequests(t *testing.T) {
	t.Parallel()
	answers := make(chan string, 3)
	s := serve(t, nil, false)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		id, method, body := peek(r)
		switch {
		case method == "initialize" && !strings.Contains(body, `"capabilities":{}`):
			t.Errorf("the client declares %s", body)
		case method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			for i, m := range []string{"roots/list", "sampling/createMessage", "elicitation/create"} {
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":%q,\"params\":"+
					"{\"messages\":[],\"maxTokens\":1,\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\"}}}\n\n", i, m)
				_ = http.NewResponseController(w).Flush()
			}
			for range 3 {
				if answer := <-answers; !strings.Contains(answer, `"error":{"code":-32`) {
					t.Errorf("the client answered %s", answer)
				}
			}
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", id)
			return true
		case method == "" && strings.Contains(body, `"id":"q`):
			answers <- body
			w.WriteHeader(http.StatusAccepted)
			return true
		}
		return false
	}
	c := dial(t, Options{URL: s.url})
	if got, err := c.Call(soon(t), "any", nil); err != nil || string(got) != "null" {
		t.Errorf("got %s (%v)", got, err)
	}
}

// A server that asks without end and takes no answers does not get a connection for each.
func TestFloodOfRequests(t *testing.T) {
	t.Parallel()
	const flood = 2000
	var answering, most atomic.Int64
	over := make(chan struct{})
	s := serve(t, nil, false)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		id, method, body := peek(r)
		switch {
		case method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range flood {
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":\"ping\"}\n\n", i)
			}
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", id)
			return true
		case method == "" && strings.Contains(body, `"id":"q`):
			for now := answering.Add(1); ; {
				seen := most.Load()
				if now <= seen || most.CompareAndSwap(seen, now) {
					break
				}
			}
			<-over
			answering.Add(-1)
			w.WriteHeader(http.StatusAccepted)
			return true
		}
		return false
	}
	c := dial(t, Options{URL: s.url})
	_, err := c.Call(soon(t), "any", nil)
	close(over)
	if err != nil {
		t.Errorf("call: %v", err)
	}
	if n := most.Load(); n > maxAsides {
		t.Errorf("%d answers were on their way at once, want at most %d", n, maxAsides)
	}
}

// A result that asks for input is an error; one that only asks to come back is come back for.
func TestNeedsInput(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	s := serve(t, nil, true)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		id, method, body := peek(r)
		if method != "tools/call" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.Contains(body, `"asks"`):
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"a":{"method":`+
				`"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}}`, id)
		case later.Add(1) < 3:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"s%d"}}`,
				id, later.Load())
		case strings.Contains(body, `"requestState":"s2"`):
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
		default:
			t.Errorf("the client came back with %s", body)
		}
		return true
	}
	c := dial(t, Options{URL: s.url})
	_, err := c.Call(soon(t), "asks", nil)
	if e := wantError(t, err, upstream.CodeFailed); !strings.Contains(e.Message, "asks for input") {
		t.Errorf("got %v", e)
	}
	if got, err := c.Call(soon(t), "later", nil); err != nil || string(got) != "null" {
		t.Errorf("got %s (%v)", got, err)
	}
}

// A tool that wants arguments in headers is called with them, though nobody has listed the tools.
func TestArgumentsInHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, true)
	s.mcp.AddTool(&mcp.Tool{Name: "routed", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`,
	)}, says("done"))
	seen := make(chan string, 4)
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Mcp-Name") == "routed" {
			seen <- r.Header.Get("Mcp-Param-Region")
		}
		return false
	}
	c := dial(t, Options{URL: s.url})
	got, err := c.Call(soon(t), "routed", json.RawMessage(`{"region":"eu"}`))
	if err != nil || string(got) != `"done"` {
		t.Fatalf("got %s (%v)", got, err)
	}
	if first, second := <-seen, <-seen; first != "" || second != "eu" {
		t.Errorf("the header was %q, then %q", first, second)
	}
}

// A server tells that its tools have changed, in both eras; and the client goes on without where it cannot.
func TestToolsChanged(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern=%v", modern), func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, false)
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				if modern {
					return false
				}
				id, method, _ := peek(r)
				if method == "server/discover" {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
				}
				return method == "server/discover"
			}
			s.add("first", says(""))
			changed := make(chan struct{}, 8)
			c := dial(t, Options{URL: s.url, ToolsChanged: func() { changed <- struct{}{} }})
			if tools, err := c.Tools(soon(t)); err != nil || len(tools) != 1 {
				t.Fatalf("got %d tools (%v)", len(tools), err)
			}
			s.add("second", says(""))
			select {
			case <-changed:
			case <-soon(t).Done():
				t.Fatal("nobody was told")
			}
			if tools, err := c.Tools(soon(t)); err != nil || len(tools) != 2 {
				t.Errorf("got %d tools (%v)", len(tools), err)
			}
		})
	}
}

// A standing stream that is refused, fails or never begins costs nothing but itself.
func TestNoStandingStream(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"503": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"401": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"cut": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"never": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-over:
			case <-r.Context().Done():
			}
		},
		"ended": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, false)
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				id, method, _ := peek(r)
				if r.Method == http.MethodGet {
					answer(w, r)
					return true
				}
				if method == "server/discover" {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
				}
				return method == "server/discover"
			}
			s.add("work", says("done"))
			c := dial(t, Options{URL: s.url, ToolsChanged: func() {}})
			if got, err := c.Call(soon(t), "work", nil); err != nil || string(got) != `"done"` {
				t.Errorf("got %s (%v)", got, err)
			}
		})
	}
}
