package scenario

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// clientRuns are the runs of the client suite: all its scenarios at the revision that each is written for, and those of
// the revisions that speak otherwise.
var clientRuns = []conformanceRun{
	{"2025-03-26", []string{"--suite", "all", "--spec-version", "2025-03-26"}, []string{
		"auth/2025-03-26-oauth-endpoint-fallback", "auth/2025-03-26-oauth-metadata-backcompat",
	}},
	{"2025-06-18", []string{"--suite", "all", "--spec-version", "2025-06-18"}, []string{
		"auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-none", "initialize", "tools_call",
	}},
	{"2026-07-28", []string{"--requirements", "2026-07-28"}, []string{
		"auth/authorization-server-migration", "auth/iss-wrong-issuer", "auth/pre-registration", "auth/scope-step-up",
		"http-custom-headers", "json-schema-ref-no-deref", "request-metadata", "tools_call",
	}},
	{"all", []string{"--suite", "all"}, []string{
		"auth/basic-cimd", "auth/metadata-var3", "auth/scope-retry-limit", "auth/scope-step-up", "initialize", "sse-retry",
		"tools_call",
	}},
}

// Upstream tools: every scenario of the MCP conformance suite for clients succeeds with the client that sources are used
// by, sign-in included, but for those that are known not to; and those do not.
func TestMCPConformanceOfClient(t *testing.T) {
	t.Parallel()
	const file = "testdata/mcpclient.txt"
	known := readKnown(t, file, clientRuns)
	client := filepath.Join(t.TempDir(), "mcpconformance")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", client, "github.com/tandem-do/tandem/tools/mcpconformance")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the client: %v\n%s", err, out)
	}
	for _, run := range clientRuns {
		t.Run(run.name, func(t *testing.T) {
			t.Parallel()
			judge(t, file, known[run.name], run.must, func() []harness.Check {
				return withoutSuccess(harness.MCPConformanceOfClient(t, client, run.args...))
			})
		})
	}
}

// withoutSuccess counts checks that were skipped as failures where nothing else of their scenario succeeded.
func withoutSuccess(checks []harness.Check) []harness.Check {
	succeeded := map[string]bool{}
	for _, c := range checks {
		succeeded[c.Scenario] = succeeded[c.Scenario] || c.Status == "SUCCESS"
	}
	for i, c := range checks {
		if c.Status == "SKIPPED" && !succeeded[c.Scenario] {
			checks[i].Status, checks[i].Message = "FAILURE", "the scenario has only skipped checks"
		}
	}
	return checks
}
