package mcpsession

import (
	"strings"
	"testing"

	"github.com/tandem-do/tandem/proto/props"
)

func TestCheckPattern(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, pattern, want string // want is part of the error, empty for none
	}{
		{"all", "*", ""},
		{"exact", "executor.coreTools.policies.list", ""},
		{"one segment", "search", ""},
		{"trailing", "executor.*", ""},
		{"middle", "executor.*.policies.list", ""},
		{"two in the middle and one at the end", "a.*.b.*.c.*", ""},
		{"dash and underscore", "a-b.c_d", ""},
		{"longest", strings.Repeat("a", maxPatternBytes), ""},
		{"empty", "", "must not be empty"},
		{"too long", strings.Repeat("a", maxPatternBytes+1), "at most 200"},
		{"leading star", "*.list", "not at the start"},
		{"empty segment", "a..b", "empty segment"},
		{"trailing dot", "a.", "empty segment"},
		{"leading dot", ".a", "empty segment"},
		{"star in a word", "a.b*", "must be"},
		{"double star", "a.**", "must be"},
		{"space", "a b", "must be"},
		{"not ascii", "a.é", "must be"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := checkPattern(tc.pattern)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("checkPattern(%q) = %v, want %q", tc.pattern, err, tc.want)
			}
		})
	}
}

func TestMatchPattern(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, tool string
		want          bool
	}{
		{"*", "a", true},
		{"*", "a.b.c", true},
		{"a.b", "a.b", true},
		{"a.b", "a.b.c", false},
		{"a.b", "a", false},
		{"a.b", "a.bc", false},
		{"a.*", "a.b", true},
		{"a.*", "a.b.c", true},
		{"a.*", "a", false},
		{"a.*", "ab.c", false},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.c", false},
		{"a.*.c", "a.b.b.c", false},
		{"a.*.c", "a.b.c.d", false},
		{"a.*.c.*", "a.b.c.d.e", true},
		{"a.*.c.*", "a.b.c", false},
		{"A.b", "a.b", false},
	} {
		if got := matchPattern(tc.pattern, tc.tool); got != tc.want {
			t.Errorf("matchPattern(%q, %q) = %v, want %v", tc.pattern, tc.tool, got, tc.want)
		}
	}
}

func TestDecidePolicy(t *testing.T) {
	t.Parallel()
	rule := func(id, pattern, action string) props.Policy {
		return props.Policy{ID: id, Pattern: pattern, Action: action}
	}
	const approve, ask, block = props.ActionApprove, props.ActionRequireApproval, props.ActionBlock
	type list = []props.Policy
	for _, tc := range []struct {
		name      string
		org, user list
		want, by  string
	}{
		{"none", nil, nil, "", ""},
		{"no match", list{rule("1", "x", block)}, nil, "", ""},
		{"first match wins", list{rule("1", "a.b", approve), rule("2", "a.*", block)}, nil, approve, "1"},
		{"position, not precision", list{rule("1", "*", ask), rule("2", "a.b", approve)}, nil, ask, "1"},
		{"user restricts", list{rule("1", "*", approve)}, list{rule("2", "a.b", block)}, block, "2"},
		{"user can't loosen", list{rule("1", "*", ask)}, list{rule("2", "a.b", approve)}, ask, "1"},
		{"user blocks what asks", list{rule("1", "*", ask)}, list{rule("2", "*", block)}, block, "2"},
		{"organization blocks what asks", list{rule("1", "*", block)}, list{rule("2", "*", ask)}, block, "1"},
		{"user asks for what runs", list{rule("1", "*", approve)}, list{rule("2", "*", ask)}, ask, "2"},
		{"equal: organization's", list{rule("1", "*", ask)}, list{rule("2", "a.b", ask)}, ask, "1"},
		{"user alone", nil, list{rule("2", "a.b", approve)}, approve, "2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := decidePolicy("a.b", tc.org, tc.user)
			by := ""
			if got.Policy != nil {
				by = got.Policy.ID
			}
			if got.Action != tc.want || by != tc.by {
				t.Errorf("got %q by %q, want %q by %q", got.Action, by, tc.want, tc.by)
			}
		})
	}
}
