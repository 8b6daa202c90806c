package scenario

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// knownFile lists the checks of the MCP conformance suite that do not succeed, one a line: revision, scenario, check,
// and, after " # ", the reason. It is sorted.
const knownFile = "testdata/mcpconformance.txt"

// mcpRevisions are the protocol revisions that the suite is run for, with what chooses their scenarios, and scenarios
// of which at least one check must succeed.
var mcpRevisions = []struct {
	name string
	args []string
	must []string
}{
	{"2025-03-26", []string{"--suite", "all", "--spec-version", "2025-03-26"}, []string{"server-session-lifecycle"}},
	{"2025-06-18", []string{"--suite", "all", "--spec-version", "2025-06-18"}, []string{
		"logging-set-level", "ping", "server-initialize", "server-session-lifecycle", "tools-list",
	}},
	{"2025-11-25", []string{"--requirements", "2025-11-25"}, []string{
		"dns-rebinding-protection", "ping", "server-initialize", "server-session-lifecycle",
		"server-sse-multiple-streams", "server-sse-polling", "tools-list",
	}},
	{"2026-07-28", []string{"--requirements", "2026-07-28"}, []string{
		"caching", "dns-rebinding-protection", "http-header-validation", "input-required-result-unsupported-methods",
		"input-required-result-validate-input", "server-sse-multiple-streams", "server-stateless", "tools-list",
	}},
}

// Every check of the MCP conformance suite succeeds, but for those that are known not to; and those do not.
func TestMCPConformance(t *testing.T) {
	t.Parallel()
	known := readKnown(t)
	s := shared.stack
	endpoint := harness.BearerProxy(t, s.MustReady(t).MCPURL, s.NewIdentity(t).Token)
	for _, revision := range mcpRevisions {
		t.Run(revision.name, func(t *testing.T) {
			t.Parallel()
			unseen := known[revision.name]
			succeeded := map[string]int{}
			for _, c := range harness.MCPConformance(t, endpoint, revision.args...) {
				name := c.Scenario + " " + c.ID
				switch c.Status {
				case "SUCCESS":
					succeeded[c.Scenario]++
				case "FAILURE", "WARNING":
					if unseen[name] == "" {
						t.Errorf("%s %s: %s", name, strings.ToLower(c.Status), c.Message)
					}
					delete(unseen, name)
				}
			}
			for name, reason := range unseen {
				t.Errorf("%s no longer fails, but %s says that it does: %s", name, knownFile, reason)
			}
			for _, scenario := range revision.must {
				if succeeded[scenario] == 0 {
					t.Errorf("no check of %s succeeded", scenario)
				}
			}
		})
	}
}

// readKnown reads knownFile: reasons by scenario and check, by revision.
func readKnown(t *testing.T) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile(knownFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if !slices.IsSorted(lines) {
		t.Errorf("%s is not sorted", knownFile)
	}
	known := map[string]map[string]string{}
	for _, revision := range mcpRevisions {
		known[revision.name] = map[string]string{}
	}
	for _, line := range lines {
		entry, reason, _ := strings.Cut(line, " # ")
		revision, name, _ := strings.Cut(entry, " ")
		checks, ok := known[revision]
		if !ok || strings.Count(name, " ") != 1 || strings.TrimSpace(reason) == "" || checks[name] != "" {
			t.Errorf("%s: bad or repeated line %q", knownFile, line)
			continue
		}
		checks[name] = reason
	}
	return known
}
