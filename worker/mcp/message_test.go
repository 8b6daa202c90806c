package mcp

import (
	"encoding/json"
	"testing"
)

func FuzzParseMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"a","version":"1"}}}`,
		`[{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"execute","_meta":{}}}]`,
		`{"jsonrpc":"2.0","id":1.5,"result":{}}`, `{"jsonrpc":"2.0","method":"m","params":[1]}`, ` [] `, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parseMessage(body, true)
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Errorf("%q is not JSON and was taken", body)
		}
		if (m.id == "") != (m.rawID == nil) {
			t.Errorf("%q: id %q without its JSON", body, m.id)
		}
		if m.rawID != nil && !json.Valid(m.rawID) {
			t.Errorf("%q: id %s", body, m.rawID)
		}
	})
}

// Parameters of a wrong form are the object's to refuse: they never make a request malformed.
func TestOddParameters(t *testing.T) {
	t.Parallel()
	for _, params := range []string{`[]`, `[1]`, `{"name":1}`, `{"name":"x","_meta":1}`, `{"name":"x","_meta":{"a":1}}`,
		`{"clientInfo":[]}`, `null`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}`} {
		body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + params + `}`
		m, err := parseMessage([]byte(body), true)
		if err != nil || m.method != "tools/call" || m.id != "7" || m.metaVersion != "" {
			t.Errorf("%s: got %+v, %v", params, m, err)
		}
	}
}

func BenchmarkParseMessage(b *testing.B) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseMessage(body, true); err != nil {
			b.Fatal(err)
		}
	}
}
