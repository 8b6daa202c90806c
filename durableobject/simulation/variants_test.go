package simulation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// variant is a host with one fault, which the model must notice.
type variant struct {
	name string
	// want matches what the model should say.
	want string
}

func variants() []variant {
	return []variant{
		{"replies do not wait", `knows of commit|want the state of a commit`},
		{"calls do not wait", `knows of commit|want the state of a commit`},
		{"turns are committed in halves", `want the state of a commit`},
		{"last in the queue comes first", `got its turn after one that arrived later`},
		{"turns overlap", `got a turn while|gives`},
		{"sections admit all", `within a critical section|got a turn while`},
		{"alarms end before they run", `alarm|want the state of a commit`},
		{"alarms run early", `runs at`},
		{"broken instances commit", `want the state of a commit`},
		{"gates forget later commits", `knows of commit|want the state of a commit`},
		{"what is rolled back is kept", `gives|want the state of a commit`},
		{"instances forget commits", `knows of commit|want the state of a commit`},
	}
}

// change is one change of a file that makes variants. The new text asks broken which variant is wanted.
type change struct{ file, old, new string }

func changes() []change {
	return []change{
		{"actor/event.go", `a.out.Wait(t); gated`, `waitUnless("replies do not wait", t, a.out.Wait); gated`},
		{"actor/exit.go", `a.out.Wait(ctx)`, `waitUnless("calls do not wait", ctx, a.out.Wait)`},
		{"storage/flush.go", `func (o *Object) Flush() *Commit {`, `func (o *Object) flushAll() *Commit {`},
		{
			"gate/input.go", "w := q.first\n\tfor g.broken",
			"w := q.first\n\tif broken(\"last in the queue comes first\") {\n\t\tw = q.last\n\t}\n\tfor g.broken",
		},
		{"gate/input.go", `if g.held || q != g.turnQueue()`, `if g.held && !broken("turns overlap") || q != g.turnQueue()`},
		{"gate/input.go", `if !g.held {
		panic(`, `if !g.held && !broken("turns overlap") {
		panic(`},
		{"gate/input.go", `if g.section != nil {`, `if g.section != nil && !broken("sections admit all") {`},
		{"gate/input.go", "if s == nil {\n\t\treturn &g.root", "if s == nil || broken(\"sections admit all\") {\n\t\treturn &g.root"},
		{"gate/section.go", `if s != g.section || !g.held {`,
			`if (s != g.section || !g.held) && !broken("sections admit all") && !broken("turns overlap") {`},
		{"actor/alarm.go", "ok, err := a.storage.BeginAlarm(due)\n", `ok, err := a.storage.BeginAlarm(due)
		if ok && broken("alarms end before they run") {
			a.shared.Store.DropAlarm(due)
		}
`},
		{"gate/output.go", `if g.last == c {`, `if g.last == c || broken("gates forget later commits") {`},
		{"storage/transaction.go", `if keep && !l.rolledBack {`,
			`if keep && !l.rolledBack || broken("what is rolled back is kept") {`},
		{"storage/due.go", `if due > now.UnixMilli() {`,
			`if due > now.UnixMilli() && !(broken("alarms run early") && due-2 <= now.UnixMilli()) {`},
		{"actor/actor.go", "\ta.storage.Close()\n", "\tif !broken(\"broken instances commit\") {\n\t\ta.storage.Close()\n\t}\n"},
		{"actor/actor.go", `if c := a.previous.Load(); c != nil {`,
			`if c := a.previous.Load(); c != nil && !broken("instances forget commits") {`},
	}
}

// additions are files that the variants have besides.
func additions() map[string]string {
	const broken = `

import "os"

func broken(variant string) bool { return os.Getenv("TANDEM_BROKEN") == variant }
`
	return map[string]string{
		"gate/broken_variant.go":    "package gate" + broken,
		"storage/broken_variant.go": "package storage" + broken,
		"actor/broken_variant.go":   "package actor" + broken,
		"actor/broken_wait.go": `package actor

import "context"

func waitUnless(variant string, ctx context.Context, wait func(context.Context) error) error {
	if broken(variant) {
		return nil
	}
	return wait(ctx)
}
`,
		"storage/broken_flush.go": `package storage

func (o *Object) Flush() *Commit {
	if broken("turns are committed in halves") {
		if c := o.flushOne(); c != nil {
			<-c.Done()
		}
	}
	return o.flushAll()
}

func (o *Object) flushOne() *Commit {
	o.mu.Lock()
	defer o.mu.Unlock()
	if base := o.top.base(); base != nil && len(base.writes) > 1 && !base.cleared {
		for key, w := range base.writes {
			return o.commitLocked(&layer{writes: map[string]write{key: w}, confirmed: true})
		}
	}
	return nil
}
`,
	}
}

// variantHistories is within how many histories the model must notice a fault.
const variantHistories = 2000

// TestVariants runs histories on hosts that have a fault each: the model must notice. Their code is the host's own, with a
// few lines changed while it is compiled, so that the host itself has no switches for tests. Where a line is not
// found any more, say here how the fault is made now.
func TestVariants(t *testing.T) {
	t.Parallel()
	if raceEnabled || testing.Short() {
		t.Skip("the variants are run without -race and -short")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "simulation.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay(t, dir), "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	run := func(t *testing.T, name string, count int) (string, error) {
		cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^TestHistories$", "-test.v",
			"-histories", fmt.Sprint(count), "-shortest=false")
		cmd.Env = append(os.Environ(), "TANDEM_BROKEN="+name)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if out, err := run(t, "", 200); err != nil {
			t.Errorf("without a fault: %v\n%s", err, out)
		}
	})
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, v.name, variantHistories)
			fault := regexp.MustCompile(`simulation_test.go:\d+: (.*)\n`).FindStringSubmatch(out)
			switch {
			case err == nil:
				t.Errorf("not noticed in %d histories\n%s", variantHistories, out)
			case fault == nil || !regexp.MustCompile(v.want).MatchString(fault[1]):
				t.Errorf("noticed for another reason, want %q\n%s", v.want, out)
			default:
				t.Logf("%s; %s", fault[1], regexp.MustCompile(`\d+ histories, `).FindString(out))
			}
		})
	}
}

// overlay writes the changed files, and what has the compiler take them.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	files := additions()
	for _, c := range changes() {
		text, ok := files[c.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, c.file))
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		if !strings.Contains(text, c.old) {
			t.Fatalf("%s does not have %q: say in changes how its fault is made now", c.file, c.old)
		}
		files[c.file] = strings.ReplaceAll(text, c.old, c.new)
	}
	replace := map[string]string{}
	for name, text := range files {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, name)] = path
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
