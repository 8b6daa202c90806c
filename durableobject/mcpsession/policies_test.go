package mcpsession

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
)

// onPolicies runs a method of the policies of organization o.
func onPolicies[R any](t *testing.T, w *world, method string, arg any) (R, string) {
	t.Helper()
	r, err := durableobject.Call[R](t.Context(), w.namespace(props.NamespacePolicies).GetByName("o"), method, arg)
	if err == nil {
		return r, ""
	}
	return r, err.(*durableobject.Error).Name
}

func TestPolicies(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		order := func() string {
			t.Helper()
			list, _ := onPolicies[[]props.Policy](t, w, props.MethodPoliciesList, props.PolicyQuery{AccountID: "a"})
			var b strings.Builder
			for _, p := range list {
				fmt.Fprintf(&b, "%s%d:%s ", p.Owner, p.Position, p.Pattern)
			}
			return strings.TrimSpace(b.String())
		}
		create := func(owner, pattern, action string) (props.Policy, string) {
			t.Helper()
			return onPolicies[props.Policy](t, w, props.MethodPoliciesCreate,
				props.PolicyCreate{AccountID: "a", Owner: owner, Pattern: pattern, Action: action})
		}
		ids := map[string]string{}
		for _, pattern := range []string{"a", "b", "c"} {
			p, _ := create("org", pattern, props.ActionBlock)
			ids[pattern] = p.ID
		}
		mine, _ := create("user", "m", props.ActionApprove)
		if got := order(); got != "org0:a org1:b org2:c user0:m" {
			t.Errorf("order %q", got)
		}
		zero, two, far := 0, 2, 3
		ask := props.ActionRequireApproval
		for _, tc := range []struct {
			name   string
			update props.PolicyUpdate
			fails  string
			want   string
		}{
			{"to the end", props.PolicyUpdate{ID: ids["a"], Position: &two}, "", "org0:b org1:c org2:a user0:m"},
			{
				"to the front", props.PolicyUpdate{ID: ids["c"], Owner: "org", Position: &zero}, "",
				"org0:c org1:b org2:a user0:m",
			},
			{"beyond the end", props.PolicyUpdate{ID: ids["c"], Position: &far}, props.ErrorNameInvalid, ""},
			{"action alone", props.PolicyUpdate{ID: mine.ID, Action: &ask}, "", "org0:c org1:b org2:a user0:m"},
			{"wrong owner", props.PolicyUpdate{ID: mine.ID, Owner: "org"}, props.ErrorNameNotFound, ""},
			{"unknown", props.PolicyUpdate{ID: "pol_x"}, props.ErrorNameNotFound, ""},
		} {
			tc.update.AccountID = "a"
			_, failure := onPolicies[props.Policy](t, w, props.MethodPoliciesUpdate, tc.update)
			if failure != tc.fails || tc.want != "" && order() != tc.want {
				t.Errorf("%s: %q, order %q", tc.name, failure, order())
			}
		}
		w.crash()
		if got := order(); got != "org0:c org1:b org2:a user0:m" {
			t.Errorf("order after a crash %q", got)
		}
		removed, failure := onPolicies[props.PolicyRemoved](t, w, props.MethodPoliciesRemove,
			props.PolicyRemove{AccountID: "a", ID: ids["b"], Owner: "org"})
		if !removed.Removed || failure != "" || order() != "org0:c org1:a user0:m" {
			t.Errorf("remove = %v, %q, order %q", removed, failure, order())
		}
		// Another account sees neither this one's policies nor can it change them.
		_, failure = onPolicies[props.PolicyRemoved](t, w, props.MethodPoliciesRemove,
			props.PolicyRemove{AccountID: "b", ID: mine.ID, Owner: "user"})
		if failure != props.ErrorNameNotFound {
			t.Errorf("another's remove = %q", failure)
		}
		for _, tc := range []struct{ owner, pattern, action, want string }{
			{"org", "a..b", "block", props.ErrorNameInvalid},
			{"org", "a", "allow", props.ErrorNameInvalid},
			{"me", "a", "block", props.ErrorNameInvalid},
		} {
			if _, failure := create(tc.owner, tc.pattern, tc.action); failure != tc.want {
				t.Errorf("create %v = %q", tc, failure)
			}
		}
	})
}

func TestPoliciesLimit(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		for range maxPolicies {
			u.policy(t, props.OwnerUser, "x", props.ActionBlock)
		}
		_, failure := onPolicies[props.Policy](t, w, props.MethodPoliciesCreate,
			props.PolicyCreate{AccountID: "a", Owner: "user", Pattern: "x", Action: "block"})
		if failure != props.ErrorNameLimit {
			t.Errorf("one too many = %q", failure)
		}
		u.policy(t, props.OwnerOrganization, "x", props.ActionBlock) // another owner has room
	})
}
