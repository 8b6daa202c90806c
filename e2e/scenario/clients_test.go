package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tandem-do/tandem/e2e/harness"
)

// Scenario 10: the SDK's own OAuth provider signs in from the challenge alone.
func Test10OAuthFromChallenge(t *testing.T) {
	t.Parallel()
	s := shared.stack
	c, challenged, err := harness.StartNode(t).OAuth(s.MustReady(t).MCPURL, "oauth-"+uuid.NewString()+"@example.com")
	if err != nil {
		t.Fatalf("sign in: %v", err)
	}
	if !challenged {
		t.Error("the first connect was not challenged")
	}
	if r := c.Execute(t, "return 6 * 7"); r.Text != "42" {
		t.Errorf("execute gave %+v", r)
	}
}

// The MCP Inspector's command line works with a bearer.
func TestInspector(t *testing.T) {
	t.Parallel()
	s := shared.stack
	ready := s.MustReady(t)
	auth := "Authorization: Bearer " + s.NewIdentity(t).Token
	args := []string{ready.MCPURL, "--transport", "http", "--header", auth}
	var listed struct{ Tools []struct{ Name string } }
	out := harness.Inspector(t, append(args, "--method", "tools/list")...)
	if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Tools) != 2 {
		t.Errorf("tools/list printed %s (%v)", out, err)
	}
	out = harness.Inspector(t, append(args, "--method", "tools/call", "--tool-name", "execute", "--tool-arg", "code=return 6 * 7")...)
	if !strings.Contains(out, "42") {
		t.Errorf("tools/call printed %s", out)
	}
}
