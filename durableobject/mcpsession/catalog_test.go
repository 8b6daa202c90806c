package mcpsession

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCatalogFind(t *testing.T) {
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
			_, err := c.find(tc.path)
			var e *toolError
			if !errors.As(err, &e) || e.Code != "tool_not_found" || len(e.Message) > 300 {
				t.Fatalf("find = %v", err)
			}
			first := ""
			if len(e.Suggestions) > 0 {
				first = e.Suggestions[0]
			}
			if len(e.Suggestions) > maxSuggestions || tc.suggests != "" && first != tc.suggests {
				t.Errorf("suggestions %v, want %q first", e.Suggestions, tc.suggests)
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
			tool, err := c.find(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			err = tool.check([]byte(tc.arguments))
			var e *toolError
			if tc.ok && err != nil || !tc.ok && (!errors.As(err, &e) || e.Code != "invalid_tool_arguments") {
				t.Errorf("check = %v, want ok %v", err, tc.ok)
			}
		})
	}
}

func TestCatalogSearch(t *testing.T) {
	t.Parallel()
	c := newCatalog()
	all := c.search("", defaultSearchLimit, 0)
	if all.Total != 4 || len(all.Items) != 4 || all.NextOffset != nil {
		t.Errorf("search for all = %+v", all)
	}
	page := c.search("POLICIES", 3, 0)
	if page.NextOffset == nil || *page.NextOffset != 3 || len(page.Items) != 3 {
		t.Fatalf("first page = %+v", page)
	}
	rest := c.search("policies", 3, *page.NextOffset)
	if d := cmp.Diff(all.Items, append(page.Items, rest.Items...)); d != "" || rest.NextOffset != nil {
		t.Errorf("pages differ from all (-want +got):\n%s", d)
	}
	if none := c.search("policies zebra", 3, 0); none.Total != 0 || none.Items == nil {
		t.Errorf("search for two words = %+v", none)
	}
	described, err := c.byPath["describe.tool"].run(context.Background(), nil, []byte(`{"path":"search"}`))
	if err != nil || described.(*tool).Path != "search" {
		t.Errorf("describe = %v, %v", described, err)
	}
}
