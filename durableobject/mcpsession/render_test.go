package mcpsession

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shown returns a result as a client sees it.
func shown(t *testing.T, r *mcp.CallToolResult) (text string, structured map[string]any) {
	t.Helper()
	b, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &structured); err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, c.(*mcp.TextContent).Text)
	}
	return strings.Join(parts, "\n--\n"), structured
}

func TestRenderOutcome(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		outcome    outcome
		text       string
		structured string
	}{
		{"number", outcome{Result: []byte("42")}, "42", `{"status":"completed","result":42,"logs":[]}`},
		{
			"string as it is", outcome{Result: []byte(`"a\n<b>"`), IsString: true}, "a\n<b>",
			`{"status":"completed","result":"a\n<b>","logs":[]}`,
		},
		{
			"object, in its order", outcome{Result: []byte(`{"b":1,"a":[1,{}],"c":[]}`)},
			"{\n  \"b\": 1,\n  \"a\": [\n    1,\n    {}\n  ],\n  \"c\": []\n}",
			`{"status":"completed","result":{"b":1,"a":[1,{}],"c":[]},"logs":[]}`,
		},
		{"undefined", outcome{}, "(no result)", `{"status":"completed","result":null,"logs":[]}`},
		{"null", outcome{Result: []byte("null")}, "(no result)", `{"status":"completed","result":null,"logs":[]}`},
		{"empty string", outcome{Result: []byte(`""`), IsString: true}, "", `{"status":"completed","result":"","logs":[]}`},
		{
			"the string null", outcome{Result: []byte(`"null"`), IsString: true}, "null",
			`{"status":"completed","result":"null","logs":[]}`,
		},
		{
			"logs", outcome{Result: []byte("1"), Logs: []string{"a", "b"}}, "1\n\nLogs:\na\nb",
			`{"status":"completed","result":1,"logs":["a","b"]}`,
		},
		{
			"error", outcome{Error: "boom", Logs: []string{"a"}}, "Error: boom\n\nLogs:\na",
			`{"status":"error","error":"boom","logs":["a"]}`,
		},
		{
			"emitted", outcome{Emitted: [][]byte{[]byte(`"hi"`), []byte(`{"a":1}`)}},
			"(no result)\n--\nhi\n--\n{\n  \"a\": 1\n}",
			`{"status":"completed","result":null,"logs":[]}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := render("", tc.outcome.reply(), time.Time{})
			text, structured := shown(t, r)
			var want map[string]any
			if err := json.Unmarshal([]byte(tc.structured), &want); err != nil {
				t.Fatal(err)
			}
			if text != tc.text || r.IsError != (tc.outcome.Error != "") {
				t.Errorf("text %q, isError %v, want %q", text, r.IsError, tc.text)
			}
			if d := cmp.Diff(want, structured); d != "" {
				t.Errorf("structured (-want +got):\n%s", d)
			}
		})
	}
}

func TestPreviewIsCut(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("é", maxPreview)
	if preview(full) != full {
		t.Error("a text of the greatest length was cut")
	}
	cut := preview(full + "é")
	if !strings.HasPrefix(cut, full+"\n…") || !strings.Contains(cut, "30000 of 30001") {
		t.Errorf("cut to %d bytes, ends %q", len(cut), cut[len(cut)-60:])
	}
	long := outcome{Result: []byte(`"` + strings.Repeat("x", maxPreview+1) + `"`), IsString: true}
	text, structured := shown(t, renderOutcome(&long))
	if len(structured["result"].(string)) != maxPreview+1 || !strings.Contains(text, "cut after") {
		t.Error("structuredContent must have all, the text must be cut")
	}
}

func TestRenderPause(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	id := newExecutionID().At(1).String()
	p := &pause{
		ID: id, Tool: "a.b", Arguments: []byte(`{"x":1}`), PolicyID: "pol_1", Pattern: "a.*",
		Deadline: now.Add(4 * time.Minute),
	}
	r := render("", reply{Status: statusWaiting, Pause: p}, now)
	text, structured := shown(t, r)
	if !strings.HasPrefix(text, "Execution paused: ") || !strings.Contains(text, "\nexecutionId: "+id+"\n") {
		t.Errorf("text %q", text)
	}
	if !strings.Contains(text, "within 4m0s") || r.IsError {
		t.Errorf("isError %v, text %q", r.IsError, text)
	}
	if structured["status"] != "waiting_for_interaction" || structured["executionId"] != id {
		t.Errorf("structured %v", structured)
	}
}

func TestRenderRefusal(t *testing.T) {
	t.Parallel()
	for _, status := range []string{statusNotFound, statusExpired, statusForbidden, statusAlreadySettled} {
		r := render("exec_x", reply{Status: status}, time.Time{})
		text, structured := shown(t, r)
		again := strings.Contains(text, "run the execute tool again")
		if !r.IsError || structured["status"] != status || again == (status == statusForbidden) {
			t.Errorf("%s: isError %v, structured %v, text %q", status, r.IsError, structured, text)
		}
	}
}

func TestParseContent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"", ""}, {"{}", ""}, {" {} ", ""}, {"[]", ""}, {`[{"a":1}]`, ""}, {"{bad", ""}, {"null", ""}, {`"x"`, ""},
		{`{"a":1}`, `{"a":1}`},
	} {
		if got := string(parseContent(tc.in)); got != tc.want {
			t.Errorf("parseContent(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}
