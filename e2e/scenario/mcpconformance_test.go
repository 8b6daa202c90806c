package scenario

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// knownFile lists the checks of the MCP conformance suite that do not succeed, one a line: revision, scenario, check,
// and, after " # ", the reason. It is sorted.
const knownFile = "testdata/mcpconformance.txt"

// conformanceRun is one run of the MCP conformance suite: what chooses its scenarios, and scenarios of which at least one
// check must succeed.
type conformanceRun struct {
	name string
	args []string
	must []string
}

// mcpRevisions are the protocol revisions that the suite is run for.
var mcpRevisions = []conformanceRun{
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
	known := readKnown(t, knownFile, mcpRevisions)
	s := shared.stack
	endpoint := harness.BearerProxy(t, s.MustReady(t).MCPURL, s.NewIdentity(t).Token)
	for _, revision := range mcpRevisions {
		t.Run(revision.name, func(t *testing.T) {
			t.Parallel()
			judge(t, knownFile, known[revision.name], revision.must, func() []harness.Check {
				return harness.MCPConformance(t, endpoint, revision.args...)
			})
		})
	}
}

// judge runs the suite, and fails the test for its faults. The suite has short timeouts of its own that a machine with much
// to do does not always meet: what counts are the faults that are there in three runs.
func judge(t *testing.T, file string, known map[string]string, must []string, run func() []harness.Check) {
	t.Helper()
	once := func() []string {
		checks := run()
		for _, c := range checks {
			if (c.Status == "FAILURE" || c.Status == "WARNING") && known[c.Scenario+" "+c.ID] == "" {
				t.Logf("%s %s: %s", c.Scenario, c.ID, c.Message)
			}
		}
		return faultsOf(file, known, must, checks)
	}
	faults := once()
	for n := 0; n < 2 && len(faults) > 0; n++ {
		again := once()
		faults = slices.DeleteFunc(faults, func(f string) bool { return !slices.Contains(again, f) })
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// faultsOf names each check that does not succeed and is not known for it, each that is known and does, and each scenario
// that must have a success and has none.
func faultsOf(file string, known map[string]string, must []string, checks []harness.Check) (faults []string) {
	succeeded, failed := map[string]bool{}, map[string]bool{}
	for _, c := range checks {
		name := c.Scenario + " " + c.ID
		switch c.Status {
		case "SUCCESS":
			succeeded[c.Scenario] = true
		case "FAILURE", "WARNING":
			failed[name] = true
			if known[name] == "" {
				faults = append(faults, name+" "+strings.ToLower(c.Status))
			}
		}
	}
	for name, reason := range known {
		if !failed[name] {
			faults = append(faults, fmt.Sprintf("%s no longer fails, but %s says that it does: %s", name, file, reason))
		}
	}
	for _, scenario := range must {
		if !succeeded[scenario] {
			faults = append(faults, fmt.Sprintf("no check of %s succeeded", scenario))
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// readKnown reads a file of checks that are known not to succeed: reasons by scenario and check, by run.
func readKnown(t *testing.T, file string, runs []conformanceRun) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if !slices.IsSorted(lines) {
		t.Errorf("%s is not sorted", file)
	}
	known := map[string]map[string]string{}
	for _, run := range runs {
		known[run.name] = map[string]string{}
	}
	for _, line := range lines {
		entry, reason, _ := strings.Cut(line, " # ")
		revision, name, _ := strings.Cut(entry, " ")
		checks, ok := known[revision]
		if !ok || strings.Count(name, " ") != 1 || strings.TrimSpace(reason) == "" || checks[name] != "" {
			t.Errorf("%s: bad or repeated line %q", file, line)
			continue
		}
		checks[name] = reason
	}
	return known
}
