package scenario

import (
	"os"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
	"github.com/tandem-do/tandem/e2e/soak"
)

// TestSoak holds that sessions of several organizations which execute without pause through few processes are all served,
// and that nothing is left of them: no goroutine, no descriptor, no process. The benchmark command does it for longer.
func TestSoak(t *testing.T) {
	t.Parallel()
	profiles, err := os.MkdirTemp("", "soak") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(profiles) })
	s := start(t, harness.Options{Env: []string{
		"TANDEM_PROFILE_DIR=" + profiles, "TANDEM_SANDBOX_PROCESSES=8", "TANDEM_SANDBOX_LINGER_MS=2000",
	}})
	ready := s.MustReady(t)
	pids := map[string]int{}
	for _, name := range []string{"worker", "durableobject", "router", "sandbox"} {
		pids[name] = ready.PIDs[name]
	}
	count := func() (soak.Counts, error) { return soak.Count(t.Context(), pids, profiles) }
	o := soak.Options{
		URL: ready.MCPURL, Sessions: 50, Duration: 2 * time.Second,
		Code: "await new Promise(r => setTimeout(r, 50)); return 6 * 7", Want: "42",
	}
	for range 3 {
		o.Tokens = append(o.Tokens, s.NewIdentity(t).Token)
	}
	run := func() (executions int64) {
		organizations, err := soak.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for i, organization := range organizations {
			for _, err := range organization.Errors {
				t.Errorf("organization %d: %v", i+1, err)
			}
			executions += organization.Executions
		}
		return executions
	}
	run() // what is kept for the next time is there then
	before, err := count()
	if err != nil {
		t.Fatal(err)
	}
	before.Programs = 2 // those that stay warm without any load
	o.Duration = 8 * time.Second
	executions := int64(0)
	for rounds := 0; executions < int64(o.Sessions) && rounds < 10; rounds++ {
		executions += run()
	}
	if executions < int64(o.Sessions) {
		t.Errorf("only %d executions ended", executions)
	}
	after, err := soak.Settle(t.Context(), before, 3*time.Minute, count)
	if err != nil {
		t.Fatal(err)
	}
	for _, leak := range after.Leaked(before) {
		t.Error(leak)
	}
}
