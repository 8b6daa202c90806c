package scenario

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// A state directory that a newer tandem has written to, or of which a part is damaged, is refused by name, and what was
// refused stays as it is.
func TestStateIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	sound := t.TempDir()
	s := start(t, harness.Options{StateDir: sound})
	newRaw(t, s, s.NewIdentity(t).Token)
	s.Stop()
	for name, tt := range map[string]struct {
		file string // what is overwritten; a pattern
		with string
		kept string // what must stay as it is
	}{
		"newer":       {"format", "tandem state 99\n", "."},
		"no format":   {"format", "gibberish", "."},
		"objects":     {"objects/db/MANIFEST-*", "gibberish", "objects"},
		"router":      {"router/MANIFEST-*", "gibberish", "router"},
		"traces":      {"traces/MANIFEST-*", "gibberish", "traces"},
		"directory":   {"directory.db", "gibberish", "directory.db"},
		"auth":        {"auth/idp.db", "gibberish", "auth"},
		"signing key": {"auth/signing-key.pem", "gibberish", "auth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, tt.file))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %v, %v", tt.file, files, err)
			}
			for _, file := range files {
				if err := os.WriteFile(file, []byte(tt.with), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := sums(t, filepath.Join(dir, tt.kept))
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, shared.binary, "dev", "--state-dir", dir,
				"--port", "0", "--dashboard-port", "0", "--auth-port", "0")
			out, err := cmd.CombinedOutput()
			if err == nil || ctx.Err() != nil {
				t.Fatalf("it was not refused: %v\n%s", err, out)
			}
			if !strings.Contains(string(out), filepath.Join(dir, tt.kept)) {
				t.Errorf("it does not name %s:\n%s", filepath.Join(dir, tt.kept), out)
			}
			if after := sums(t, filepath.Join(dir, tt.kept)); !maps.Equal(before, after) {
				t.Errorf("what was refused has changed:\n%v\n%v", before, after)
			}
		})
	}
}

// sums returns a checksum of each file at and below a path.
func sums(t *testing.T, path string) map[string][sha256.Size]byte {
	t.Helper()
	all := map[string][sha256.Size]byte{}
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		all[p] = sha256.Sum256(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
