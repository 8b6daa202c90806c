package seal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/seal"
)

func newSealer(t *testing.T, fill byte) *seal.Sealer {
	t.Helper()
	var key seal.Key
	for i := range key {
		key[i] = fill
	}
	s, err := seal.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	s := newSealer(t, 1)
	secret, owner := []byte("hunter2-hunter2"), []byte("org_1/src_1")
	sealed := s.Seal(secret, owner)
	if bytes.Contains(sealed, secret) || bytes.Equal(sealed, s.Seal(secret, owner)) {
		t.Error("the secret shows, or is sealed the same way twice")
	}
	if got, err := s.Open(sealed, owner); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("open = %q, %v", got, err)
	}
	if _, err := s.Open(sealed, []byte("org_2/src_1")); !errors.Is(err, seal.ErrDamaged) {
		t.Errorf("opened for another: %v", err)
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := s.Open(bad, owner); err == nil {
			t.Errorf("opened with byte %d changed", i)
		}
		if _, err := s.Open(sealed[:i], owner); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("opened %d bytes of it: %v", i, err)
		}
	}
	var other *seal.OtherKeyError
	if _, err := newSealer(t, 2).Open(sealed, owner); !errors.As(err, &other) || other.Sealed != s.KeyID() ||
		!strings.Contains(err.Error(), "sealed under key "+s.KeyID()) {
		t.Errorf("under another key: %v", err)
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	raw := bytes.Repeat([]byte{0xfb, 0xff, 7, 1}, 8)
	for _, tc := range []struct {
		name, text string
		ok         bool
	}{
		{"base64", base64.StdEncoding.EncodeToString(raw), true},
		{"base64 for URLs", base64.RawURLEncoding.EncodeToString(raw), true},
		{"hexadecimal", hex.EncodeToString(raw), true},
		{"spaces around", "\n " + hex.EncodeToString(raw) + "\n", true},
		{"too short", hex.EncodeToString(raw[:31]), false},
		{"too long", hex.EncodeToString(append(raw, 1)), false},
		{"empty", "", false},
		{"words", "correct horse battery staple", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			key, err := seal.ParseKey(tc.text)
			if (err == nil) != tc.ok || tc.ok && !bytes.Equal(key[:], raw) {
				t.Errorf("got %x, %v", key[:], err)
			}
			if err != nil && tc.text != "" && strings.Contains(err.Error(), tc.text) {
				t.Errorf("the error shows the text: %v", err)
			}
			if shown := fmt.Sprintf("%v %+v %#v %s", key, key, key, key); strings.Contains(shown, "251") {
				t.Errorf("the key shows: %s", shown)
			}
		})
	}
}

func TestReadOrCreateKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	if _, err := seal.ReadKey(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read of none: %v", err)
	}
	var all sync.WaitGroup
	keys := make([]seal.Key, 8)
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = seal.ReadOrCreateKey(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, k := range keys {
		if k != keys[0] || k == (seal.Key{}) {
			t.Fatal("not all got one key")
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := os.WriteFile(path, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.ReadOrCreateKey(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a bad file: %v", err)
	}
}
