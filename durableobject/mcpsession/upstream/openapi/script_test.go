package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/egress"
	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// world is a described server that keeps the last request, and the source that calls it.
type world struct {
	server *httptest.Server
	client *http.Client
	source *Source

	mu   sync.Mutex // guards last
	last string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{client: egress.NewClient(egress.Options{AllowPrivate: true})}
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	t.Cleanup(w.client.CloseIdleConnections)
	return w
}

// ServeHTTP keeps a request as text.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.RequestURI)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		switch name {
		case "Accept", "Accept-Encoding", "User-Agent", "Content-Length":
		default:
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.Header[name], " | "))
		}
	}
	if len(body) > 0 {
		fmt.Fprintf(&b, "\n%s\n", body)
	}
	w.mu.Lock()
	w.last = b.String()
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(rw, `{"ok":true}`)
}

// TestScripts runs the scripts in testdata: `open` reads a document and prints its tools, `call` prints the request of a call.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		w := newWorld(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "open":
				return w.open(t, d)
			case "call":
				return w.call(t, d)
			default:
				t.Fatalf("unknown command %s", d.Cmd)
				return ""
			}
		})
	})
}

func (w *world) open(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	document := []byte(d.Input)
	o := Options{HTTP: w.client, BaseURL: w.server.URL + "/base"}
	var file, schemas string
	var own bool
	d.MaybeScanArgs(t, "file", &file)
	d.MaybeScanArgs(t, "schemas", &schemas)
	if own = d.HasArg("own"); own {
		o.BaseURL = ""
	}
	d.MaybeScanArgs(t, "url", &o.DocumentURL)
	var auth []string
	for _, arg := range d.CmdArgs {
		if arg.Key == "auth" {
			auth = arg.Vals
		}
	}
	if len(auth) > 0 {
		o.Auth = Auth{Scheme: Scheme(auth[0]), Secret: "hush-hush-hush"}
	}
	if len(auth) == 3 {
		o.Auth.In, o.Auth.Name = auth[1], auth[2]
	}
	if file != "" {
		var err error
		if document, err = os.ReadFile(filepath.Join("testdata", file)); err != nil {
			t.Fatal(err)
		}
	}
	source, err := New(document, o)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	w.source = source
	return printSource(t, source, own, schemas != "no")
}

func printSource(t *testing.T, source *Source, server, schemas bool) string {
	t.Helper()
	var b strings.Builder
	if server {
		fmt.Fprintf(&b, "%s at %s\n", source.Title(), source.Server())
	}
	tools, err := source.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		fmt.Fprintf(&b, "%s: %s\n", tool.Name, strings.ReplaceAll(tool.Description, "\n\n", " / "))
		if schemas {
			fmt.Fprintf(&b, "  in  %s\n", tool.InputSchema)
		}
		if schemas && tool.OutputSchema != nil {
			fmt.Fprintf(&b, "  out %s\n", tool.OutputSchema)
		}
	}
	for _, skipped := range source.Skipped() {
		fmt.Fprintf(&b, "skipped %s: %s\n", skipped.Operation, skipped.Reason)
	}
	return b.String()
}

func (w *world) call(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	result, err := w.source.Call(t.Context(), d.CmdArgs[0].Key, json.RawMessage(d.Input))
	if err != nil {
		worded, ok := errors.AsType[*upstream.Error](err)
		if !ok {
			t.Fatalf("%T: %v", err, err)
		}
		return worded.Code + ": " + worded.Message + "\n"
	}
	if !bytes.Equal(result, []byte(`{"ok":true}`)) {
		t.Errorf("result %s", result)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}
