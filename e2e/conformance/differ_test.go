package conformance

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// EnvURL and EnvDate point the suite at another runtime that serves testdata/project: its origin, and the compatibility
// date that it runs at. EnvNodeURL is that of another one, or the same, which serves the project with the main module
// node.js and the flag nodejs_compat; it may be left out. Differences from workerd are printed; the ledger is tandem's
// and is not held against them.
const (
	EnvURL     = "TANDEM_CONFORMANCE_URL"
	EnvNodeURL = "TANDEM_CONFORMANCE_NODE_URL"
	EnvDate    = "TANDEM_CONFORMANCE_DATE"
)

//go:embed differ.txt
var differText string

var rewrite = flag.Bool("rewrite", false, "write what differs to differ.txt, with the reasons that it has")

// unexplained is the reason of a difference that -rewrite has added: a fault until there is a better one.
const unexplained = "?"

// dates are the compatibility dates at which the probes run.
var dates = []string{"2024-04-05", "2026-04-01", "2026-08-20"}

// difference is a line of the ledger: a probe that differs, and at which dates; at all without any.
type difference struct {
	probe string
	dates []string
	why   string
}

// parseDiffer reads the ledger: probe, dates or "all", reason, between bars.
func parseDiffer(text string) (known map[string]difference, faults []string) {
	known = map[string]difference{}
	last := ""
	for _, l := range lines(text, " | ") {
		when, why, _ := strings.Cut(l[1], " | ")
		d := difference{probe: l[0], dates: strings.Split(when, ","), why: why}
		if when == "all" {
			d.dates = dates
		}
		switch {
		case why == "" || why == unexplained:
			faults = append(faults, fmt.Sprintf("differ.txt: %s lacks its dates or its reason", d.probe))
		case d.probe <= last:
			faults = append(faults, fmt.Sprintf("differ.txt: %s is out of order, or there twice", d.probe))
		}
		for _, date := range d.dates {
			if !slices.Contains(dates, date) {
				faults = append(faults, fmt.Sprintf("differ.txt: %s names the date %q", d.probe, date))
			}
		}
		known[d.probe], last = d, d.probe
	}
	return known, faults
}

// rewriteDiffer writes the ledger anew: which probes differ at which dates, with the reasons that are known.
func rewriteDiffer(differ map[string][]string, known map[string]difference) error {
	var out strings.Builder
	for line := range strings.Lines(differText) {
		if strings.HasPrefix(line, "#") {
			out.WriteString(line)
		}
	}
	for _, probe := range slices.Sorted(maps.Keys(differ)) {
		when, why := strings.Join(differ[probe], ","), known[probe].why
		if len(differ[probe]) == len(dates) {
			when = "all"
		}
		if why == "" {
			why = unexplained
		}
		fmt.Fprintf(&out, "%s | %s | %s\n", probe, when, why)
	}
	return os.WriteFile("differ.txt", []byte(out.String()), 0o644) //nolint:gosec // a file of the repository
}

// compare says where the lines of a runtime differ from workerd's otherwise than the ledger says.
func compare(want, got map[string]string, known map[string]difference, date string) (faults []string) {
	for probe, w := range want {
		listed := slices.Contains(known[probe].dates, date)
		switch same := got[probe] == w; {
		case same && listed:
			faults = append(faults, fmt.Sprintf("%s is the same at %s: take it out of differ.txt", probe, date))
		case !same && !listed:
			faults = append(faults, fmt.Sprintf("%s at %s\n  workerd %s\n  here    %s", probe, date, w, got[probe]))
		}
	}
	for probe := range got {
		if _, ok := want[probe]; !ok {
			faults = append(faults, fmt.Sprintf("%s is answered by one side only at %s", probe, date))
		}
	}
	for probe := range known {
		if _, ok := want[probe]; !ok {
			faults = append(faults, fmt.Sprintf("differ.txt: there is no probe %s", probe))
		}
	}
	slices.Sort(faults)
	return faults
}

// The probes of testdata/project give the same lines on workerd and on tandem, but for those in the ledger.
func TestDifferential(t *testing.T) {
	if _, err := os.Stat(workerdBinary); err != nil {
		t.Skip("workerd is not installed: run npm ci in e2e/node")
	}
	if origin := os.Getenv(EnvURL); origin != "" {
		date := os.Getenv(EnvDate)
		if date == "" {
			t.Fatalf("%s needs %s", EnvURL, EnvDate)
		}
		want, got := probe(t, startWorkerd(t, platform(), date)), probe(t, origin)
		if node := os.Getenv(EnvNodeURL); node != "" {
			maps.Copy(want, runAreas(t, startWorkerd(t, nodeHalf(), date)))
			maps.Copy(got, runAreas(t, node))
		}
		for _, fault := range compare(want, got, nil, date) {
			t.Error(fault)
		}
		t.Logf("%d lines", len(want))
		return
	}
	known, faults := parseDiffer(differText)
	for _, fault := range faults {
		t.Error(fault)
	}
	differ, compared := map[string][]string{}, 0
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	binary, err := harness.Build(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, date := range dates {
		t.Run(date, func(t *testing.T) {
			want, got := both(t, binary, date)
			// Probes with timers come out otherwise now and then where the machine has much else to do: what counts is
			// what differs in fresh processes every time.
			for n := 0; n < 3 && len(compare(want, got, known, date)) > 0; n++ {
				t.Logf("once more for\n%s", strings.Join(compare(want, got, known, date), "\n"))
				wantAgain, gotAgain := both(t, binary, date)
				for probe := range wantAgain {
					_, there := want[probe]
					same := there && got[probe] == want[probe]
					if same == slices.Contains(known[probe].dates, date) {
						want[probe], got[probe] = wantAgain[probe], gotAgain[probe]
					}
				}
			}
			for _, fault := range compare(want, got, known, date) {
				t.Error(fault)
			}
			for probe, line := range want {
				if got[probe] != line {
					differ[probe] = append(differ[probe], date)
				}
			}
			compared++
			t.Logf("%d lines", len(want))
		})
	}
	if *rewrite && compared == len(dates) {
		if err := rewriteDiffer(differ, known); err != nil {
			t.Fatal(err)
		}
	}
}

// both runs the probes on workerd and on tandem.
func both(t *testing.T, binary, date string) (want, got map[string]string) {
	t.Helper()
	want = probe(t, startWorkerd(t, platform(), date))
	maps.Copy(want, runAreas(t, startWorkerd(t, nodeHalf(), date)))
	got = runAreas(t, startTandem(t, binary, platform(), date))
	maps.Copy(got, runAreas(t, startTandem(t, binary, nodeHalf(), date)))
	// What clients see is compared with production: tandem dev shows errors to who develops.
	maps.Copy(got, sendRequests(t, startBundle(t, binary, date)))
	return want, got
}

// probe returns what a runtime prints for each probe, and what clients of it see.
func probe(t *testing.T, origin string) map[string]string {
	t.Helper()
	out := runAreas(t, origin)
	maps.Copy(out, sendRequests(t, origin))
	return out
}

// runAreas returns what a runtime prints for each probe.
func runAreas(t *testing.T, origin string) map[string]string {
	t.Helper()
	var areas []string
	if err := json.Unmarshal([]byte(get(t, origin+"/areas")), &areas); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	run := fmt.Sprint(time.Now().UnixNano())
	for _, area := range areas {
		text := bufio.NewScanner(strings.NewReader(get(t, origin+"/run/"+area+"?run="+run)))
		text.Buffer(nil, 1<<20)
		for text.Scan() {
			name, value, _ := strings.Cut(text.Text(), " {")
			out[name] = "{" + value
		}
	}
	return out
}

// sendRequests returns what clients of a runtime see.
func sendRequests(t *testing.T, origin string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, r := range requests {
		name, line := r.line(t, origin)
		out["http/"+name] = line
	}
	return out
}

// requests are probes of what clients see: "METHOD HANDLER", and a body.
var requests = []request{
	{"GET echo", ""}, {"POST echo", "body"}, {"PUT echo", "body"}, {"DELETE echo", ""}, {"HEAD echo", ""}, {"PATCH echo", "x"},
	{"OPTIONS echo", ""}, {"GET json", ""}, {"HEAD json", ""}, {"GET stream", ""}, {"GET cookies", ""}, {"GET status", ""},
	{"GET headers", ""}, {"GET nothing", ""}, {"GET throw", ""}, {"GET undefined", ""}, {"GET text", ""}, {"GET hang", ""},
	{"GET reject", ""}, {"GET late", ""}, {"GET timer", ""}, {"GET listener", ""}, {"GET url/a%20b?c=d%20e&f#g", ""},
	{"GET redirect", ""}, {"GET teapot", ""}, {"GET length", ""}, {"GET used", ""}, {"GET cut", ""}, {"GET empty", ""},
	{"GET overflow", ""}, {"HEAD stream", ""}, {"HEAD length", ""}, {"HEAD throw", ""}, {"POST json", "x"}, {"GET missing", ""},
}

type request struct{ what, body string }

// line sends the request and says what came back: the status, the headers but for those of the connection, and the body.
func (r request) line(t *testing.T, origin string) (name, line string) {
	t.Helper()
	method, path, _ := strings.Cut(r.what, " ")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	in, err := http.NewRequestWithContext(ctx, method, origin+"/handle/"+path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	in.Header = http.Header{"X-B": {"1", "2"}, "X-A": {"\u00e9"}, "Accept-Encoding": {"identity"}}
	resp, err := http.DefaultTransport.RoundTrip(in)
	if err != nil {
		return r.what, "{no answer}"
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	for _, h := range []string{"Date", "Connection", "Server"} {
		resp.Header.Del(h)
	}
	text := strings.ReplaceAll(string(body), origin, "ORIGIN")
	return r.what, fmt.Sprintf("{%s %q %v %q cut=%t}", resp.Status, resp.Header, resp.TransferEncoding, text, err != nil)
}

func get(t *testing.T, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %q %v", url, resp.Status, text, err)
	}
	return string(text)
}

// The comparison fails both ways.
func TestCompare(t *testing.T) {
	t.Parallel()
	known, faults := parseDiffer("a/x | all | because\na/y | 2026-04-01 | because\n")
	if len(faults) > 0 {
		t.Errorf("got %q", faults)
	}
	want := map[string]string{"a/x": "1", "a/y": "1", "a/z": "1"}
	if faults := compare(want, map[string]string{"a/x": "2", "a/y": "2", "a/z": "1"}, known, "2026-04-01"); len(faults) > 0 {
		t.Errorf("got %q", faults)
	}
	for _, tt := range []struct {
		name string
		got  map[string]string
		want string
	}{
		{"appears", map[string]string{"a/x": "2", "a/y": "1", "a/z": "2"}, "a/z at 2024-04-05\n  workerd 1\n  here    2"},
		{"appears at another date", map[string]string{"a/x": "2", "a/y": "2", "a/z": "1"}, "a/y at 2024-04-05\n  workerd 1\n  here    2"},
		{"vanishes", map[string]string{"a/x": "1", "a/y": "1", "a/z": "1"}, "a/x is the same at 2024-04-05: take it out of differ.txt"},
		{"is new", map[string]string{"a/x": "2", "a/y": "1", "a/z": "1", "b": "1"}, "b is answered by one side only at 2024-04-05"},
	} {
		if faults := compare(want, tt.got, known, "2024-04-05"); !slices.Equal(faults, []string{tt.want}) {
			t.Errorf("%s: got %q, want %q", tt.name, faults, tt.want)
		}
	}
	_, faults = parseDiffer("b | all | x\na | 2020-01-01 | x\nc | all\n")
	if len(faults) != 3 {
		t.Errorf("got %q", faults)
	}
}
