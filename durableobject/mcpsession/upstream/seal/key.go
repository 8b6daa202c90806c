package seal

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeyBytes is the size of a key.
const KeyBytes = 32

// maxFileBytes bounds a key file.
const maxFileBytes = 4 << 10

// Key is an AES-256 key.
type Key [KeyBytes]byte

// String hides the key.
func (Key) String() string { return "seal.Key" }

// GoString hides the key.
func (Key) GoString() string { return "seal.Key" }

// ParseKey reads 32 bytes written as base64 or as hexadecimal digits. Its error does not show the text.
func ParseKey(text string) (Key, error) {
	var key Key
	text = strings.TrimSpace(text)
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString,
		base64.URLEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if b, err := decode(text); err == nil && len(b) == KeyBytes {
			copy(key[:], b)
			return key, nil
		}
	}
	return Key{}, errors.New("a secrets key is 32 bytes, as base64 or as 64 hexadecimal digits")
}

// ReadKey reads a key from a file.
func ReadKey(path string) (Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return Key{}, fmt.Errorf("secrets key: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	if err != nil {
		return Key{}, fmt.Errorf("secrets key: %w", err)
	}
	key, err := ParseKey(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("secrets key file %s: %w", path, err)
	}
	return key, nil
}

// ReadOrCreateKey reads a key from a file, and makes the file, for its owner alone, if there is none. Of several
// processes that make it at once, all get the same key.
func ReadOrCreateKey(path string) (Key, error) {
	key, err := ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	rand.Read(key[:]) // it never fails
	if err := createFile(path, base64.StdEncoding.EncodeToString(key[:])+"\n"); err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, fmt.Errorf("make secrets key: %w", err)
	}
	return ReadKey(path)
}

// createFile makes a file whole and synced, or fails with fs.ErrExist if there is one.
func createFile(path, text string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // made for its owner alone
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	if _, err := f.WriteString(text); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a directory's new entry durable: secrets sealed under a lost key are lost.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
