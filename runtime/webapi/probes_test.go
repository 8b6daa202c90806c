package webapi

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/runtime/isolate"
)

var listProbes = flag.Bool("probes", false, "print what each probe gives that is not as it should be, and fail no test")

// TestProbes evaluates the lines of testdata/probes: an expression, an arrow, and what workerd 1.20261117.1 prints for
// it. A line that begins with "~ " is known to differ: it fails when it does not. A file's name may end in an at sign
// and the compatibility date.
func TestProbes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/probes/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no probes", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(filepath.Base(file), "console") {
				runConsoleProbes(t, file)
				return
			}
			runProbes(t, file)
		})
	}
}

type probe struct {
	expression, want string
	differs          bool
}

func readProbes(t *testing.T, file string) []probe {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []probe
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		line, differs := strings.CutPrefix(line, "~ ")
		expression, want, ok := strings.Cut(line, " ⇒ ")
		if ok && !strings.HasPrefix(line, "#") {
			out = append(out, probe{expression, want, differs})
		}
	}
	return out
}

func runProbes(t *testing.T, file string) {
	show, err := os.ReadFile("testdata/show.js")
	if err != nil {
		t.Fatal(err)
	}
	probes := readProbes(t, file)
	var code strings.Builder
	code.Write(show)
	code.WriteString("const probes = [\n")
	for _, p := range probes {
		fmt.Fprintf(&code, "async (request, env, ctx) => (%s),\n", p.expression)
	}
	code.WriteString(`];
		export default { async fetch(request, env, ctx) {
			const out = [];
			for (const p of probes) {
				try { out.push(show(await p(request, env, ctx))); } catch (e) { out.push("throws " + show(e)); }
			}
			return new Response(JSON.stringify(out));
		} };`)
	o := isolate.Options{}
	if _, date, ok := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txt"), "@"); ok {
		o.Compatibility.Date = date
	}
	i := newWorker(t, code.String(), o, Options{})
	in := httptest.NewRequest(http.MethodGet, "http://example.com/path?q=1", nil)
	in.Header.Set("X-Probe", "a")
	_, body, err := send(t.Context(), i, in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got) != len(probes) {
		t.Fatal(err, body)
	}
	compareProbes(t, probes, got)
}

// runConsoleProbes runs statements, and compares what they print.
func runConsoleProbes(t *testing.T, file string) {
	probes := readProbes(t, file)
	var code strings.Builder
	code.WriteString("const probes = [\n")
	for _, p := range probes {
		fmt.Fprintf(&code, "async (request, env, ctx) => { %s },\n", p.expression)
	}
	code.WriteString(`];
		export default { async fetch(request, env, ctx) {
			for (const p of probes) {
				try { await p(request, env, ctx); } catch (e) { console.log("threw", e); }
				console.log("@@end@@");
			}
			return new Response("");
		} };`)
	var got, lines []string
	i := newWorker(t, code.String(), isolate.Options{OnLog: func(e isolate.Entry) {
		if e.Text != "@@end@@" {
			lines = append(lines, e.Text)
			return
		}
		var plain strings.Builder
		encoder := json.NewEncoder(&plain)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(strings.Join(lines, "\n"))
		got = append(got, strings.TrimSuffix(plain.String(), "\n"))
		lines = nil
	}}, Options{})
	if _, _, err := get(t, i, "/"); err != nil {
		t.Fatal(err)
	}
	compareProbes(t, probes, got)
}

func compareProbes(t *testing.T, probes []probe, got []string) {
	t.Helper()
	for n, p := range probes {
		switch same := got[n] == p.want; {
		case *listProbes && !same:
			fmt.Printf("%s\n  want %s\n  got  %s\n", p.expression, p.want, got[n])
		case *listProbes:
		case same && p.differs:
			t.Errorf("%s is as it should be: take the mark off", p.expression)
		case !same && !p.differs:
			t.Errorf("%s\n  want %s\n  got  %s", p.expression, p.want, got[n])
		}
	}
}
