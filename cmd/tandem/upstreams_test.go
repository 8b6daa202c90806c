package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretsKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	key := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for path, text := range map[string]string{good: key, bad: "hunter2"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ name, file, variable, want string }{
		{"neither", "", "", ""},
		{"file", good, "", ""},
		{"variable", "", key, ""},
		{"both", good, key, "exclude each other"},
		{"bad file", bad, "", "32 bytes"},
		{"no file", filepath.Join(dir, "none"), "", "no such file"},
		{"bad variable", "", "hunter2", "TANDEM_SECRETS_KEY"},
	} {
		f := sourceFlags{keyFile: tc.file}
		open, err := f.sealer(dir, func(string) (string, bool) { return tc.variable, tc.variable != "" })
		if err == nil {
			_, err = open()
		}
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the key: %v", tc.name, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "secrets.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v", info, err)
	}
	r := command(t, []string{"TANDEM_SECRETS_KEY=hunter2"}, "durableobject", "--state-dir", dir, "--router", "x", "--sandbox", "x")
	if r.code != exitUsage || !strings.Contains(r.stderr, "TANDEM_SECRETS_KEY") || strings.Contains(r.stderr, "hunter2") {
		t.Errorf("code %d: %s", r.code, r.stderr)
	}
	r = command(t, []string{"TANDEM_DIRECTORY=postgresql://tandem:hunter2@db/tandem"}, "worker", "--router", "x", "--issuer", "x")
	if r.code != exitUsage || !strings.Contains(r.stderr, "TANDEM_DIRECTORY") || strings.Contains(r.stderr, "hunter2") {
		t.Errorf("code %d: %s", r.code, r.stderr)
	}
}
