package mcpsession

import (
	"io"
	"net/http"
	"testing"

	"github.com/tandem-do/tandem/proto/props"
)

// benchmark posts one message again and again; what the object host does for it is all that is measured.
func benchmark(b *testing.B, o Options, body string, fresh bool) {
	w := newWorld(b, o)
	u := w.user("a", "o")
	do := func(session, body string) *http.Response {
		resp, err := u.RoundTrip(request(b.Context(), http.MethodPost, session, body))
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp, err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp
	}
	id := ""
	if !fresh {
		id = do("", initializeBody).Header.Get(props.HeaderSessionID)
	}
	b.ReportAllocs()
	for b.Loop() {
		do(id, body)
	}
}

func BenchmarkInitialize(b *testing.B) { benchmark(b, Options{}, initializeBody, true) }

func BenchmarkToolsList(b *testing.B) {
	benchmark(b, Options{}, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, false)
}

const executeBody = `{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
	`"params":{"name":"execute","arguments":{"code":"return 6 * 7"}}}`

func BenchmarkExecute(b *testing.B) { benchmark(b, Options{}, executeBody, false) }

// BenchmarkExecuteLimited asks for a place before, as executions do by default.
func BenchmarkExecuteLimited(b *testing.B) {
	benchmark(b, Options{Limits: props.UsageLimits{Concurrent: 100}}, executeBody, false)
}
