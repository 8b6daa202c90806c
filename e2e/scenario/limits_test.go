package scenario

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// TestLimits holds that an organization which has begun as many executions as it may in an hour is refused more, in words
// that say so, and that what it used can be read.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := start(t, harness.Options{Env: []string{"MCP_MAX_EXECUTIONS_PER_HOUR=2"}})
	ready, id := s.MustReady(t), s.NewIdentity(t)
	node := harness.StartNode(t)
	c := node.Connect(t, harness.ConnectOptions{URL: ready.MCPURL, Token: id.Token})
	for range 2 {
		if r := c.Execute(t, "return 6 * 7"); r.Text != "42" {
			t.Errorf("within the limit: %s", r.Text)
		}
	}
	want := "Error: your organization has reached its limit of 2 executions an hour; run the execute tool again after "
	if r := c.Execute(t, "return 6 * 7"); !r.IsError || !strings.HasPrefix(r.Text, want) {
		t.Errorf("beyond the limit: %s", r.Text)
	}
	resp := harness.Do(t, http.MethodGet, ready.APIURL+"/api/usage?hours=2",
		map[string]string{"Authorization": "Bearer " + id.Token}, nil)
	for _, want := range []string{`"perHour":2`, `"executions":2`, `"refused":1`, `"completed":2`} {
		if !strings.Contains(resp.Body, want) {
			t.Errorf("the usage lacks %s: %d %s", want, resp.Status, resp.Body)
		}
	}
}
