package mcpsession

import (
	"io"
	"net/http"
	"testing"

	"github.com/tandem-do/tandem/proto/props"
)

// benchmark posts one message again and again; what the object host does for it is all that is measured.
func benchmark(b *testing.B, body string, fresh bool) {
	w := newWorld(b, Options{})
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

func BenchmarkInitialize(b *testing.B) { benchmark(b, initializeBody, true) }

func BenchmarkToolsList(b *testing.B) {
	benchmark(b, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, false)
}

func BenchmarkExecute(b *testing.B) {
	benchmark(b, `{"jsonrpc":"2.0","id":1,"method":"tools/call",`+
		`"params":{"name":"execute","arguments":{"code":"return 6 * 7"}}}`, false)
}
