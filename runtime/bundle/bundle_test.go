package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// manifest has one of everything.
func manifest() *Manifest {
	return &Manifest{
		Name: "shop-eu", Environment: "eu", CompatibilityDate: "2026-04-01", CompatibilityFlags: []string{"nodejs_compat"},
		Format: FormatModules, Main: "src/index.ts", Exports: []string{"Room", "default"},
		Vars:           []Var{{Name: "A", Value: json.RawMessage(`{"x":[1,null]}`)}},
		Secrets:        []string{"TOKEN"},
		Classes:        []Class{{Name: "Room", SQLite: true, Previous: []string{"Old"}}},
		DurableObjects: []DurableObject{{Binding: "ROOM", Class: "Room", Script: "shop-eu"}},
		Services:       []Service{{Binding: "AUTH", Worker: "auth", Entrypoint: "Api", Props: json.RawMessage(`{"a":1}`)}},
		KV:             []KV{{Binding: "CACHE", ID: "x"}},
		Unavailable:    []Unavailable{{Binding: "DB", Key: "d1_databases", Reason: "not there"}},
		Crons:          []string{"* * * * *"},
	}
}

func newBundle(t testing.TB) *Bundle {
	t.Helper()
	b, err := New(manifest(), []byte("(async function () { return {} })"), []byte(`{"version":3}`))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFile(t *testing.T) {
	t.Parallel()
	b, path := newBundle(t), filepath.Join(t.TempDir(), "a.bundle")
	for range 2 { // the second replaces the first
		if err := b.WriteFile(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash() != b.Hash() || !bytes.Equal(got.Code(), b.Code()) || !bytes.Equal(got.SourceMap(), b.SourceMap()) {
		t.Errorf("bundle %s with code %q, want %s with %q", got.Hash(), got.Code(), b.Hash(), b.Code())
	}
	if diff := cmp.Diff(manifest(), got.Manifest()); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, want the bundle alone", entries)
	}
}

func TestWithoutSourceMap(t *testing.T) {
	t.Parallel()
	b, err := New(manifest(), []byte("code"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range []func(io.Writer) error{b.Write, b.WriteStored} {
		var file bytes.Buffer
		if err := write(&file); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(&file); err != nil || got.SourceMap() != nil || got.Hash() != b.Hash() {
			t.Errorf("read %v with the error %v", got, err)
		}
	}
}

// TestHash holds that everything counts, and that no byte can move between parts.
func TestHash(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	other := manifest()
	other.Vars[0].Value = json.RawMessage(`2`)
	for name, parts := range map[string]struct {
		m        *Manifest
		code, sm string
	}{
		"one": {manifest(), "ab", "c"}, "moved": {manifest(), "a", "bc"}, "code": {manifest(), "abd", "c"}, "map": {manifest(), "ab", ""}, "manifest": {other, "ab", "c"},
	} {
		b, err := New(parts.m, []byte(parts.code), []byte(parts.sm))
		if err != nil {
			t.Fatal(err)
		}
		if by := seen[b.Hash()]; by != "" {
			t.Errorf("%s and %s have one hash", name, by)
		}
		seen[b.Hash()] = name
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Manifest){
		"name has 0 bytes, want 1 to 1024":      func(m *Manifest) { m.Name = "" },
		`format is "script"`:                    func(m *Manifest) { m.Format = "script" },
		`binding "CACHE" is there twice`:        func(m *Manifest) { m.Services[0].Binding = "CACHE" },
		`var "A" is no JSON`:                    func(m *Manifest) { m.Vars[0].Value = json.RawMessage("{") },
		`props of service "AUTH" are no JSON`:   func(m *Manifest) { m.Services[0].Props = json.RawMessage("{") },
		"binding 0: name has 0 bytes":           func(m *Manifest) { m.Vars[0].Name = "" },
		"a list has 5000 entries, at most 4096": func(m *Manifest) { m.Crons = make([]string, 5000) },
	} {
		m := manifest()
		change(m)
		if _, err := New(m, []byte("x"), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// archive makes a file of members, with the hash of the good bundle.
func archive(t testing.TB, hash string, members ...string) []byte {
	t.Helper()
	var file bytes.Buffer
	file.WriteString(magic + hash + "\n")
	zip := gzip.NewWriter(&file)
	w := tar.NewWriter(zip)
	for i := 0; i < len(members); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, members[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	var file bytes.Buffer
	if err := b.Write(&file); err != nil {
		t.Fatal(err)
	}
	whole, m := file.Bytes(), string(b.encoded)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for name, tc := range map[string]struct {
		file []byte
		want error
	}{
		"nothing":          {nil, ErrFormat},
		"another file":     {[]byte(strings.Repeat("x", 500)), ErrFormat},
		"another version":  {bytes.Replace(whole, []byte("bundle 1"), []byte("bundle 2"), 1), ErrFormat},
		"cut in the head":  {whole[:20], ErrFormat},
		"cut":              {whole[:len(whole)-20], ErrCorrupt},
		"a bit":            {flipped, ErrCorrupt},
		"another hash":     {archive(t, strings.Repeat("0", 64), memberManifest, m, memberCode, "x"), ErrCorrupt},
		"no code":          {archive(t, b.hash, memberManifest, m), ErrCorrupt},
		"no manifest":      {archive(t, b.hash, memberCode, "x"), ErrCorrupt},
		"a member twice":   {archive(t, b.hash, memberManifest, m, memberCode, "x", memberCode, "x"), ErrCorrupt},
		"a member more":    {archive(t, b.hash, memberManifest, m, memberCode, "x", "../../x", "x"), ErrCorrupt},
		"a bad manifest":   {archive(t, b.hash, memberManifest, "{", memberCode, "x"), ErrCorrupt},
		"an unknown field": {archive(t, b.hash, memberManifest, strings.Replace(m, "{", `{"new": 1,`, 1), memberCode, "x"), ErrCorrupt},
		"a bomb":           {archive(t, b.hash, memberManifest, strings.Repeat(" ", MaxManifestBytes+1), memberCode, "x"), ErrCorrupt},
	} {
		if got, err := Read(bytes.NewReader(tc.file)); !errors.Is(err, tc.want) || got != nil {
			t.Errorf("%s: error %v, want %v", name, err, tc.want)
		}
	}
	newer := bytes.Replace(whole, []byte("bundle 1"), []byte("bundle 2"), 1)
	if _, err := Read(bytes.NewReader(newer)); err == nil || !strings.Contains(err.Error(),
		"its format is 2, and this version of tandem reads 1; build it with this version") {
		t.Errorf("another version: error %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that there is no file", err)
	}
}

// FuzzRead holds that no file makes the reader fail otherwise than it says, or return what is not what was written.
func FuzzRead(f *testing.F) {
	b := newBundle(f)
	var file bytes.Buffer
	if err := b.Write(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add(archive(f, b.hash, memberManifest, string(b.encoded), memberCode, "x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Read(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v", err)
			}
			return
		}
		if hash(got.encoded, got.code, got.sourceMap) != got.Hash() {
			t.Error("the hash is of something else")
		}
	})
}
