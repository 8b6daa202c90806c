package webapi

import (
	"maps"
	"testing"
)

func TestQuotedParams(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		` name="a"; filename="b;c"`: {"name": "a", "filename": "b;c"},
		` NAME="a\"b\\"`:            {"name": `a"b\`},
		` name=a; filename="f"`:     {"filename": "f"},
		` name="a"; name="b"`:       {"name": "a"},
		` name="a`:                  {},
		``:                          {},
	} {
		if got := quotedParams(text); !maps.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
