package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/v8value"
)

// objectsState makes a state directory at rest with three objects of the MCP application's policies class.
func objectsState(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := storage.Open(storage.Options{Dir: filepath.Join(dir, "objects")})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"alice", "bob\x1b[31m", "carol"} {
		o := s.Object("mcp-Policies", objectid.NewNamespace("mcp-Policies").FromName(name), storage.Hooks{})
		o.SetName(name)
		value, err := v8value.Marshal(map[string]any{"owner": name, "n": 42})
		if err == nil {
			entries := []storage.Entry{{Key: "a", Value: value}, {Key: "b", Value: []byte("?")}}
			err = o.Put(t.Context(), entries, storage.PutOptions{})
		}
		if err == nil {
			err = o.SetAlarm(t.Context(), time.Now().Add(47*time.Hour), storage.PutOptions{})
		}
		if err == nil {
			err = o.Flush().Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "format"), []byte("tandem state 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents returns every file of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// objectsRun runs `tandem objects` and checks its exit code, and that it says what is wanted.
func objectsRun(t *testing.T, code int, args []string, want ...string) result {
	t.Helper()
	r := command(t, nil, append([]string{"objects"}, args...)...)
	if r.code != code {
		t.Errorf("%q: exit code %d, want %d\n%s%s", args, r.code, code, r.stdout, r.stderr)
	}
	for _, w := range want {
		if !strings.Contains(r.stdout+r.stderr, w) {
			t.Errorf("%q lacks %q:\n%s%s", args, w, r.stdout, r.stderr)
		}
	}
	return r
}

func TestObjects(t *testing.T) {
	t.Parallel()
	dir := objectsState(t)
	at := func(args ...string) []string { return append(args, "--state-dir", dir) }
	alice := []string{"mcp-Policies", "--name", "alice"}
	on := func(command string, args ...string) []string {
		return at(append(append([]string{command}, alice...), args...)...)
	}
	id := objectid.NewNamespace("mcp-Policies").FromName("alice").String()
	rest, live := filepath.Join(t.TempDir(), "rest"), filepath.Join(t.TempDir(), "live")

	// At rest: everything can be seen, and nothing changes.
	before := contents(t, dir)
	objectsRun(t, exitOK, at("namespaces"), "mcp-Policies", "3", "at rest")
	objectsRun(t, exitOK, at("list", "mcp-Policies"), id, "alice", `"bob\x1b[31m"`, "in 1d", "not live")
	objectsRun(t, exitOK, at("list", "mcp-Policies", "--limit", "2"), "more: --cursor ")
	objectsRun(t, exitOK, on("show"), "alice", "in 1d", "at rest", `{n: 42, owner: "alice"}`, "bytes", "3f")
	objectsRun(t, exitOK, on("show", "--key", "a"), `{n: 42, owner: "alice"}`)
	objectsRun(t, exitFailure, on("show", "--key", "x"), "no key x")
	objectsRun(t, exitOK, on("show", "--limit", "1"), "more: --after a")
	objectsRun(t, exitOK, []string{"show", "mcp-Policies", id, "--state-dir", filepath.Join(dir, "objects")}, "alice")
	objectsRun(t, exitOK, on("export", "--output", rest), "2 keys")
	for _, action := range []string{"evict", "abort", "delete", "alarm"} {
		objectsRun(t, exitFailure, on(action), "no stack runs on "+dir, "tandem dev --state-dir")
	}
	objectsRun(t, exitFailure, at("import", rest), "no stack runs on "+dir)
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("looking has changed files: %s", diff)
	}

	// With a stack.
	s := startStack(t, "--state-dir", dir)
	objectsRun(t, exitOK, at("namespaces"), "mcp-Session", "served")
	objectsRun(t, exitOK, on("show"), "epoch 1", `{n: 42, owner: "alice"}`)
	objectsRun(t, exitBusy, []string{"namespaces", "--state-dir", filepath.Join(dir, "objects")}, "--address")
	objectsRun(t, exitOK, on("export", "-o", live), "2 keys")
	objectsRun(t, exitFailure, on("export", "-o", live), live+" exists already")
	objectsRun(t, exitFailure, on("evict"), "not live")
	objectsRun(t, exitFailure, on("abort"), "not live")
	objectsRun(t, exitFailure, on("alarm"), "has not come", "--early")
	objectsRun(t, exitFailure, at("import", live), "exists", "--overwrite")
	objectsRun(t, exitFailure, on("delete"), "--yes")
	objectsRun(t, exitOK, on("delete", "--yes"), "deleted mcp-Policies "+id)
	objectsRun(t, exitFailure, on("show"), "no object "+id)
	objectsRun(t, exitOK, at("import", live), "imported mcp-Policies "+id+": 2 keys")
	objectsRun(t, exitOK, at("import", live, "--overwrite"), "2 keys")
	objectsRun(t, exitOK, on("show"), `{n: 42, owner: "alice"}`, "in 1d")
	objectsRun(t, exitOK, on("alarm", "--early"), "dropped: its class handles none", "next alarm: none")
	objectsJSON(t, dir)
	damaged := []byte(contents(t, filepath.Dir(live))[live])
	damaged[len(damaged)/2] ^= 1
	if err := os.WriteFile(live, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	objectsRun(t, exitFailure, at("import", live, "--overwrite"), live, "not a whole archive")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "stack.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a stack that has ended says where it is: %v", err)
	}
	objectsRun(t, exitOK, on("show"), "at rest")
}

// objectsJSON checks that each line of the machines' output is a document.
func objectsJSON(t *testing.T, dir string) {
	t.Helper()
	r := objectsRun(t, exitOK, []string{"list", "mcp-Policies", "--json", "--limit", "2", "--state-dir", dir})
	var lines []map[string]any
	for line := range strings.Lines(r.stdout) {
		var doc map[string]any
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lines = append(lines, doc)
	}
	if len(lines) != 3 || lines[0]["object_id"] == nil || lines[2]["next_cursor"] == nil {
		t.Fatalf("got %v", lines)
	}
	cursor, _ := lines[2]["next_cursor"].(string)
	r = objectsRun(t, exitOK, []string{"list", "mcp-Policies", "--json", "--cursor", cursor, "--state-dir", dir})
	if strings.Count(r.stdout, "\n") != 1 {
		t.Errorf("the last page is %q", r.stdout)
	}
}

// What a killed stack has said of itself is not believed.
func TestObjectsAfterAKill(t *testing.T) {
	t.Parallel()
	dir := objectsState(t)
	stale := `{"pid": 1, "objects_address": "unix:` + filepath.Join(dir, "run-1", "durableobject.sock") + `"}`
	if err := os.WriteFile(filepath.Join(dir, "stack.json"), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	objectsRun(t, exitOK, []string{"namespaces", "--state-dir", dir}, "at rest")
	s, err := storage.Open(storage.Options{Dir: filepath.Join(dir, "objects")})
	if err != nil {
		t.Fatal(err)
	}
	objectsRun(t, exitBusy, []string{"namespaces", "--state-dir", dir}, "pid 1", "try again")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stack.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	objectsRun(t, exitState, []string{"namespaces", "--state-dir", dir}, "stack.json")
}

func TestObjectsWrongUse(t *testing.T) {
	t.Parallel()
	dir := objectsState(t)
	for _, test := range []struct {
		code int
		args []string
		want []string
	}{
		{exitUsage, []string{"lst"}, []string{`unknown command "lst"`, "did you mean list?"}},
		{exitUsage, []string{"list"}, []string{"takes one namespace"}},
		{exitUsage, []string{"show", "mcp-Policies"}, []string{"which object?", "--name"}},
		{exitUsage, []string{"show", "mcp-Policies", "alice"}, []string{`"alice" is no object ID`, "--name"}},
		{exitUsage, []string{"show", "mcp-Policies", strings.Repeat("0", 64)}, []string{"is no ID of namespace"}},
		{exitUsage, []string{"show", "mcp-Policies", "x", "--name", "y"}, []string{"not both"}},
		{exitUsage, []string{"evict", "mcp-Policies", "--name", "y", "--wait", "2m"}, []string{"--wait", "0s to 1m"}},
		{exitUsage, []string{"list", "mcp-Policies", "--limit", "-1"}, []string{"--limit"}},
		{exitUsage, []string{"export", "mcp-Policies", "--name", "alice"}, []string{"--output is needed"}},
		{exitFailure, []string{"list", "mcp-Policy"}, []string{"did you mean mcp-Policies?"}},
		{exitFailure, []string{"list", "mcp-Policies", "--cursor", "x"}, []string{"--cursor is not one"}},
		{exitFailure, []string{"show", "mcp-Policies", "--name", "nobody"}, []string{"no object"}},
		{exitState, []string{"namespaces", "--state-dir", filepath.Join(dir, "none")},
			[]string{"does not exist", "--state-dir"}},
		{exitState, []string{"namespaces", "--state-dir", t.TempDir()}, []string{"holds no objects yet"}},
		{exitFailure, []string{"namespaces", "--address", "127.0.0.1:1"}, []string{"127.0.0.1:1", "can't be reached"}},
	} {
		args := test.args
		if !strings.Contains(strings.Join(args, " "), "--state-dir") {
			args = append(args, "--state-dir", dir)
		}
		objectsRun(t, test.code, args, test.want...)
	}
}
