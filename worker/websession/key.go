package websession

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	keyBytes = 32
	// maxKeyFileBytes bounds what is read of a key file.
	maxKeyFileBytes = 1024
)

// ErrKey is returned by OpenKey for a file that holds no key.
var ErrKey = errors.New("not a session key: it must be 64 hexadecimal digits")

// OpenKey reads the key that seals sessions from a file: 64 hexadecimal digits. If there is no file, it makes one with a
// random key, for its owner only. Workers that share the file share their sessions. Errors: ErrKey, and those of the file
// system.
func OpenKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(path); err != nil {
			return nil, fmt.Errorf("make session key: %w", err)
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read session key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text[:min(len(text), maxKeyFileBytes)])))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("%s: %w", path, ErrKey)
	}
	return key, nil
}

// makeKey makes a key file, whole or not at all. If another worker is faster, its key stays.
func makeKey(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*") // for its owner only
	if err != nil {
		return err
	}
	_, err = f.WriteString(hex.EncodeToString(randomKey()) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// randomKey returns a new key.
func randomKey() []byte {
	key := make([]byte, keyBytes)
	rand.Read(key) // never fails
	return key
}
