package build

import (
	_ "embed"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/runtime/webapi"
)

//go:embed testdata/fields.js
var fieldsSource string

//go:embed testdata/fields.txt
var fieldsWant string

// Only fields with the names that the engine's parser stumbles over are changed, and no column moves.
func TestQuoteFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, code, want string }{
		{"none", "let a = 1;\n", "let a = 1;\n"},
		{"fields", "class A {\n  get = 1;\n  static set = 2;\n  async = 3;\n  get;\n}\n",
			"class A {\n  \"get\"=1;\n  static \"set\"=2;\n  \"async\"=3;\n  get;\n}\n"},
		{"variable", "let get;\nget = 1;\n", "let get;\nget = 1;\n"},
		{"variable beside a field", "let get;\nclass A {\n  get = 1;\n}\nget = 1;\n",
			"let get;\nclass A {\n  \"get\"=1;\n}\nget = 1;\n"},
		{"template", "class A {\n  get = 1;\n}\n`\n  set = 2`;\n", "class A {\n  \"get\"=1;\n}\n`\n  set = 2`;\n"},
		{"comment", "/*\n  get = 1\n*/\n", "/*\n  get = 1\n*/\n"},
		{"value on the next line", "class A {\n  get = \n    1;\n}\n", "class A {\n  \"get\"=\n    1;\n}\n"},
		{"another fault", "class A {\n  get = 1;\n}\n}\n", "class A {\n  get = 1;\n}\n}\n"},
	} {
		if got := quoteFields(c.code); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// Class fields and private names are the engine's own and not lowered, which made each object of a class with some cost
// microseconds a field. They do what they do on V8.
func TestClassFields(t *testing.T) {
	t.Parallel()
	o := project(t, "index.js", map[string]string{
		"index.js":  `import text from "./fields.js"; export default { fetch: () => new Response(text) };`,
		"fields.js": fieldsSource,
	})
	r, err := Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(r.Code), "__private") {
		t.Error("private names are lowered")
	}
	i := start(t, o)
	resp, err := webapi.Fetch(t.Context(), i, httptest.NewRequest(http.MethodGet, "http://example.com/", nil), webapi.Call{})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.TrimSpace(fieldsWant), string(text)); d != "" {
		t.Error(d)
	}
}
