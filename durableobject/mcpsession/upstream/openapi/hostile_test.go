package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile returns documents that are far more work than they look.
func hostile() map[string]string {
	head := "openapi: 3.1.0\n"
	bomb := func(item string) string {
		var b strings.Builder
		b.WriteString(head + "x0: &x0 " + item + "\n")
		for i := 1; i < 30; i++ {
			fmt.Fprintf(&b, "x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", "))
		}
		return b.String()
	}
	return map[string]string{
		"laughs":       bomb("lol"),
		"laughs of {}": bomb("{a: b}") + "paths: {/a: {get: {parameters: *x29}}}\n",
		"merge laughs": head + mergeBomb(),
		"deep flow":    head + "x: " + strings.Repeat("[", 2_000_000),
		"deep block":   head + deepBlock(20_000),
		"deep json":    `{"x":` + strings.Repeat(`[`, 4_000_000),
		"deep objects": `{"x":` + strings.Repeat(`{"a":`, 700_000),
		"wide yaml":    head + "x: [" + strings.Repeat("a,", 2_000_000) + "]",
		"wide pairs":   head + "x: {" + strings.Repeat("?,", 1_300_000) + "}",
		"wide json":    `{"x":[` + strings.Repeat("[],", 1_390_000) + `[]]}`,
		"many anchors": head + "x: [" + strings.Repeat("&a b,", 700_000) + "]",
		"long scalar":  head + "x: '" + strings.Repeat("a", 4_000_000) + "'",
		"long number":  `{"openapi":"3.1.0","x":` + strings.Repeat("9", 4_000_000) + "}",
		"comments":     head + strings.Repeat("#\n", 2_000_000),
		"documents":    strings.Repeat("---\na: b\n", 400_000),
		"tags":         head + strings.Repeat("%TAG ! tag:x,1:\n", 200_000),
		"indentation":  head + "x:\n" + strings.Repeat(" ", 3_900_000) + "- a",
		"many paths":   many(30_000, func(i int) string { return fmt.Sprintf("/p%d: {get: {}}", i) }, ""),
		"same names": many(1_900, func(i int) string {
			return fmt.Sprintf("/p%d: {get: {operationId: same}}", i)
		}, ""),
		"large everywhere": many(1_900, func(i int) string {
			return fmt.Sprintf("/p%d: {post: {requestBody: *body, responses: *answers}}", i)
		}, largeBody()),
		"large by reference": many(1_900, func(i int) string {
			return fmt.Sprintf("/p%d: {post: {requestBody: {$ref: '#/x-body'}, responses: {'200': {$ref: '#/x-answers/200'}}}}", i)
		}, largeBody()),
		"patterns": many(1_900, func(i int) string {
			return fmt.Sprintf("/p%d: {post: {requestBody: {$ref: '#/x-body'}}}", i)
		}, patterns()),
		"long references": many(1_900, func(i int) string {
			return fmt.Sprintf("/p%d: {get: {parameters: *many}}", i)
		}, longReferences()),
		"long texts": many(1_900, func(i int) string {
			return fmt.Sprintf("/p%d: {get: {operationId: *long, summary: *long, description: *long, servers: [{url: *long}]}}", i)
		}, "x-long: &long '"+strings.Repeat("aé ", 500_000)+"'\n"),
		"references to references": chains(),
		"twenty times all":         twenty(),
	}
}

func many(n int, path func(int) string, before string) string {
	var b strings.Builder
	b.WriteString("openapi: 3.1.0\n" + before + "paths:\n")
	for i := range n {
		b.WriteString("  " + path(i) + "\n")
	}
	return b.String()
}

func mergeBomb() string {
	var b strings.Builder
	b.WriteString("x0: &x0 {")
	for i := range 20_000 {
		fmt.Fprintf(&b, "k%d: v,", i)
	}
	b.WriteString("}\n")
	for i := 1; i < 20_000; i++ {
		fmt.Fprintf(&b, "x%d: {<<: *x0}\n", i)
	}
	return b.String()
}

func deepBlock(n int) string {
	var b strings.Builder
	for i := 0; i < n && b.Len() < 3_900_000; i++ {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// largeBody is a schema with 50,000 properties, in a body and in answers.
func largeBody() string {
	var b strings.Builder
	b.WriteString("x-body: &body {content: {application/json: {schema: &schema {properties: {")
	for i := range 50_000 {
		fmt.Fprintf(&b, "p%d: {type: string, description: d},", i)
	}
	b.WriteString("}}}}}\nx-answers: &answers {'200': {content: {application/json: {schema: *schema}}}}\n")
	return b.String()
}

// patterns are expensive to compile: nested and long repetitions.
func patterns() string {
	var b strings.Builder
	b.WriteString("x-body: &body {content: {application/json: {schema: {anyOf: [")
	for i := range 2_000 {
		fmt.Fprintf(&b, "{pattern: '(((x{30}){30}){%d})*'},", i%30+1)
		fmt.Fprintf(&b, `{pattern: '%s%d'},`, strings.Repeat(`\pL{50}`, 60), i)
	}
	b.WriteString("]}}}}\n")
	return b.String()
}

func longReferences() string {
	var b strings.Builder
	b.WriteString("x-many: &many [")
	for i := range 150 {
		fmt.Fprintf(&b, "{$ref: '#/%s%d'},", strings.Repeat("x/", 10_000), i)
	}
	b.WriteString("]\n")
	return b.String()
}

// chains are schemas each of which refers to all after it.
func chains() string {
	var b strings.Builder
	b.WriteString("openapi: 3.1.0\npaths:\n")
	for i := range 300 {
		fmt.Fprintf(&b, "  /p%d: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/s/c%d'}}}}}}\n", i, i%7)
	}
	b.WriteString("s:\n")
	for i := range 300 {
		fmt.Fprintf(&b, "  c%d: {anyOf: [", i)
		for j := i + 1; j < 300; j++ {
			fmt.Fprintf(&b, "{$ref: '#/s/c%d'},", j)
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

// twenty is a schema that aliases make 2^20 times as large as it looks, within the limit of values.
func twenty() string {
	var b strings.Builder
	b.WriteString("openapi: 3.1.0\nx0: &x0 {type: string}\n")
	for i := 1; i < 16; i++ {
		fmt.Fprintf(&b, "x%d: &x%d {properties: {a: *x%d, b: *x%d}}\n", i, i, i-1, i-1)
	}
	b.WriteString("paths: {/a: {post: {requestBody: {content: {application/json: {schema: *x15}}}}}}\n")
	return b.String()
}

// No document takes long or much, whatever is in it.
func TestHostileDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, document := range hostile() {
		t.Run(name, func(t *testing.T) { readHostile(t, document) })
	}
}

// maxHostile is how long a document may take on a machine that does much else.
const maxHostile = 30 * time.Second

func readHostile(t *testing.T, document string) {
	t.Helper()
	began := time.Now()
	source, err := New([]byte(document), Options{HTTP: http.DefaultClient, BaseURL: "https://x.example"})
	if took := time.Since(began); took > maxHostile {
		t.Errorf("took %v", took)
	}
	if err != nil {
		if len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		return
	}
	checkTools(t, source)
}

// FuzzNew reads any document. What it accepts keeps the promises of New.
func FuzzNew(f *testing.F) {
	for _, file := range []string{"petstore.yaml", "forge.json"} {
		document, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(document)
	}
	f.Add([]byte(one))
	f.Add([]byte("openapi: 3.0.0\npaths: {/a/{b}: {post: {requestBody: {content: {application/json: {schema: &a {not: {<<: *a}}}}}}}}"))
	f.Fuzz(func(t *testing.T, document []byte) {
		began := time.Now()
		source, err := New(document, Options{HTTP: http.DefaultClient, BaseURL: "https://x.example/base"})
		if took := time.Since(began); took > maxHostile {
			t.Errorf("took %v", took)
		}
		if err != nil {
			return
		}
		checkTools(t, source)
		for name, op := range source.operations {
			_, _ = source.request(t.Context(), op, json.RawMessage(`{"body":null}`))
			if op.tool != name {
				t.Errorf("%s is called %s", op.tool, name)
			}
		}
	})
}

// FuzzPath puts any text into a path. The request stays at the server and below the described path.
func FuzzPath(f *testing.F) {
	source, err := New([]byte(`{"openapi":"3.1.0","paths":{"/pre/{a}{b}/{c}/post":{"get":{"operationId":"one"}}}}`),
		Options{HTTP: http.DefaultClient, BaseURL: "https://x.example/base"})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"a", "..", ".", "../..", "%2e%2e", "/", "//y.example", "?q", "#f", "\\..", "@y", "é\x00", "..;"} {
		f.Add(s, ".", s)
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		arguments, err := json.Marshal(map[string]string{"a": a, "b": b, "c": c})
		if err != nil {
			t.Skip()
		}
		req, err := source.request(t.Context(), source.operations["one"], arguments)
		if err != nil {
			return
		}
		segments := strings.Split(req.URL.EscapedPath(), "/")
		if req.URL.Host != "x.example" || req.URL.RawQuery != "" || req.URL.Fragment != "" || len(segments) != 6 ||
			segments[1] != "base" || segments[2] != "pre" || segments[5] != "post" {
			t.Errorf("%q, %q, %q: %s", a, b, c, req.URL)
		}
		for _, segment := range segments[1:] {
			if dots(segment) || segment == "" {
				t.Errorf("%q, %q, %q: %s", a, b, c, req.URL)
			}
		}
	})
}
