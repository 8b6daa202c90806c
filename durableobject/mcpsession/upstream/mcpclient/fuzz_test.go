package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// Nothing that a server answers with makes the client panic, hang or return what is not JSON. ID in an answer stands for
// the request's id; an answer is JSON, or events if it has a line that begins with "data:".
func FuzzAnswer(f *testing.F) {
	for _, result := range []string{
		`null`, `{}`, `[]`, `1`, `{"content":null}`, `{"content":[null]}`, `{"content":[{}]}`, `{"content":[{"type":"x"}]}`,
		`{"content":[{"type":"text","text":1}]}`, `{"content":[{"type":"resource"}]}`, `{"content":[{"type":"image"}]}`,
		`{"content":[{"type":"resource","resource":null}]}`, `{"structuredContent":null}`, `{"structuredContent":[1e999]}`,
		`{"isError":true}`, `{"isError":true,"content":[null]}`, `{"inputRequests":{"a":null}}`, `{"inputRequests":{}}`,
		`{"resultType":"input_required"}`, `{"tools":null}`, `{"tools":[null,{}]}`, `{"nextCursor":1}`,
		`{"tools":[{"name":"a"},{"name":"b","inputSchema":null},{"name":"c","inputSchema":[]}]}`,
		`{"tools":[{"name":"a","inputSchema":{"properties":{"p":{"x-mcp-header":1}}}}]}`,
		`{"content":[{"type":"resource","resource":{"uri":"u"}},{"type":"resource_link"},{"type":"audio","data":"!"}]}`,
		`{"structuredContent":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		f.Add(`{"jsonrpc":"2.0","id":ID,"result":` + result + `}`)
		f.Add("data: " + `{"jsonrpc":"2.0","id":ID,"result":` + result + "}\n\n")
	}
	for _, message := range []string{
		`{`, ``, `null`, `[]`, `[{"jsonrpc":"2.0","id":ID,"result":{}}]`, `{"jsonrpc":"2.0","id":99,"result":{}}`,
		`{"jsonrpc":"2.0","id":null,"result":{}}`, `{"jsonrpc":"2.0","id":ID}`, `{"jsonrpc":"2.0","id":ID,"error":null}`,
		`{"jsonrpc":"2.0","id":ID,"error":{}}`, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32020,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32042,"message":"m","data":{"elicitations":[null]}}}`,
		`{"jsonrpc":"1.0","id":ID,"result":{}}`, `{"jsonrpc":"2.0","id":"ID","result":{}}`,
	} {
		f.Add(message)
		f.Add("id: 1\ndata: " + message + "\n\n")
	}
	var requests strings.Builder
	for i, method := range []string{
		"ping", "roots/list", "completion/complete", "sampling/createMessage", "elicitation/create", "notifications/progress", "no/such",
		"notifications/cancelled", "notifications/message", "notifications/tools/list_changed",
		"notifications/resources/updated", "notifications/elicitation/complete", "notifications/subscriptions/acknowledged",
	} {
		for _, params := range []string{
			"", `,"params":null`, `,"params":{}`, `,"params":[]`, `,"params":{"_meta":null}`, `,"params":{"messages":[null]}`,
			`,"params":{"messages":[{}]}`, `,"params":{"messages":[{"role":"user","content":null}],"tools":[null]}`,
			`,"params":{"messages":[{"role":"user","content":[null,{"type":"tool_result","content":[null]}]}]}`,
			`,"params":{"messages":[{"role":"user","content":{"type":"tool_use","input":null}}]}`,
			`,"params":{"ref":null,"argument":null,"context":null}`, `,"params":{"ref":{"type":"x"}}`,
			`,"params":{"requestedSchema":null,"mode":"url"}`, `,"params":{"requestId":null,"progressToken":{}}`,
		} {
			fmt.Fprintf(&requests, "data: {\"jsonrpc\":\"2.0\",\"method\":%q%s}\n\n", method, params)
			fmt.Fprintf(&requests, "data: {\"jsonrpc\":\"2.0\",\"id\":\"%d%d\",\"method\":%q%s}\n\n", i, len(params), method, params)
		}
	}
	f.Add(requests.String() + "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n\n")

	s := serve(f, nil, false)
	var answer atomic.Value
	answer.Store("")
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		id, method, _ := peek(r)
		if method != "tools/call" && method != "tools/list" {
			return false
		}
		text := strings.ReplaceAll(answer.Load().(string), "ID", string(id))
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(text, "data:") || strings.Contains(text, "\ndata:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		fmt.Fprint(w, text)
		return true
	}
	c, err := Connect(f.Context(), Options{URL: s.url, CallTimeout: 300 * time.Millisecond, ListTimeout: 300 * time.Millisecond})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = c.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	f.Fuzz(func(t *testing.T, text string) {
		answer.Store(text)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		got, err := c.Call(ctx, "work", nil)
		if err == nil && !json.Valid(got) || ctx.Err() != nil {
			t.Errorf("got %q (%v)", got, ctx.Err())
		}
		tools, err := c.Tools(ctx)
		for _, tool := range tools {
			if tool.Name == "" || !isObject(tool.InputSchema) {
				t.Errorf("got tool %+v", tool)
			}
		}
		if e, ok := err.(*upstream.Error); err != nil && (!ok || e.Code == "") { //nolint:errorlint // sources return no other
			t.Errorf("got error %T", err)
		}
	})
}

// A challenge is never more than its parts.
func FuzzRefusal(f *testing.F) {
	for _, challenge := range []string{
		"", "Bearer", `Bearer error="insufficient_scope", scope="a b"`, `Basic realm="x", Bearer error=invalid_token`,
		`Bearer error="`, `Bearer =`, `Bearer error=,`, `"`, `Bearer error="a\`, "Bearer\x00", `, ,Bearer scope="\""`,
	} {
		f.Add(challenge)
	}
	f.Fuzz(func(t *testing.T, challenge string) {
		e := Unauthorized(http.StatusUnauthorized, challenge)
		if e.Code != upstream.CodeUnauthorized || e.Message == "" || len(e.Message) > 1024 {
			t.Errorf("got %+v", e)
		}
		if len(e.Details) > 0 && !json.Valid(e.Details) {
			t.Errorf("got details %q", e.Details)
		}
	})
}
