package mcpsession

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCatalogSuggestions(t *testing.T) {
	t.Parallel()
	c := newCatalog()
	for _, tc := range []struct {
		name, path string
		suggests   string // empty: none is needed
	}{
		{"typo", "executor.coreTools.policies.lst", "executor.coreTools.policies.list"},
		{"case", "executor.coretools.policies.LIST", "executor.coreTools.policies.list"},
		{"last segment alone", "policies.remove", "executor.coreTools.policies.remove"},
		{"far off", "zzzzzz", ""},
		{"too long to compare", strings.Repeat("x", 100_000), ""},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			suggestions, first := c.suggest(tc.path), ""
			if len(suggestions) > 0 {
				first = suggestions[0]
			}
			if len(suggestions) > maxSuggestions || tc.suggests != "" && first != tc.suggests {
				t.Errorf("suggestions %v, want %q first", suggestions, tc.suggests)
			}
		})
	}
}

func TestCatalogArguments(t *testing.T) {
	t.Parallel()
	c := newCatalog()
	const p = "executor.coreTools.policies."
	for _, tc := range []struct {
		name, path, arguments string
		ok                    bool
	}{
		{"none where none is needed", p + "list", ``, true},
		{"null is none", p + "list", `null`, true},
		{"too many", p + "list", `{"a":1}`, false},
		{"not an object", p + "list", `[]`, false},
		{"not JSON", p + "list", `{`, false},
		{"complete", p + "create", `{"owner":"org","pattern":"*","action":"block"}`, true},
		{"incomplete", p + "create", `{"owner":"org","pattern":"*"}`, false},
		{"wrong action", p + "create", `{"owner":"org","pattern":"*","action":"allow"}`, false},
		{"wrong owner", p + "create", `{"owner":"me","pattern":"*","action":"block"}`, false},
		{"another's account", p + "create", `{"owner":"org","pattern":"*","action":"block","accountId":"x"}`, false},
		{"negative position", p + "update", `{"id":"pol_1","position":-1}`, false},
		{"broken position", p + "update", `{"id":"pol_1","position":1.5}`, false},
		{"search", "search", `{"query":"x","limit":5}`, true},
		{"search for nothing", "search", ``, true},
		{"search for too many", "search", `{"limit":1000}`, false},
		{"describe nothing", "describe.tool", `{}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := c.byPath[tc.path].check([]byte(tc.arguments))
			var e *toolError
			if tc.ok && err != nil || !tc.ok && (!errors.As(err, &e) || e.Code != "invalid_tool_arguments") {
				t.Errorf("check = %v, want ok %v", err, tc.ok)
			}
		})
	}
}

// What is said of wrong arguments does not grow with them.
func TestWrongArgumentsAreCut(t *testing.T) {
	t.Parallel()
	create := newCatalog().byPath["executor.coreTools.policies.create"]
	err := create.check([]byte(`{"owner":"` + strings.Repeat("é", 100_000) + `","pattern":"*","action":"block"}`))
	if err == nil || len(err.Error()) > 2*maxFaultChars+200 {
		t.Errorf("%d bytes are said", len(fmt.Sprint(err)))
	}
}

func TestCatalogSearch(t *testing.T) {
	t.Parallel()
	c := newCatalog()
	all := c.search("", defaultSearchLimit, 0)
	if all.Total != 4 || len(all.Items) != 4 {
		t.Errorf("search for all = %+v", all)
	}
	page := c.search("POLICIES", 3, 0)
	if page.Total != 4 || len(page.Items) != 3 {
		t.Fatalf("first page = %+v", page)
	}
	rest := c.search("policies", 3, 3)
	if d := cmp.Diff(all.Items, append(page.Items, rest.Items...)); d != "" {
		t.Errorf("pages differ from all (-want +got):\n%s", d)
	}
	if none := c.search("policies zebra", 3, 0); none.Total != 0 || none.Items == nil {
		t.Errorf("search for two words = %+v", none)
	}
}
