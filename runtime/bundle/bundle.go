package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// The most that the parts of a bundle may have, in bytes. A Worker on Cloudflare has 10 MB of compressed script at
// most.
const (
	MaxCodeBytes      = 64 << 20
	MaxSourceMapBytes = 256 << 20
	MaxManifestBytes  = 8 << 20
)

// Bundle is a Worker that is built. Do not change one: its Hash is of what it was made of.
type Bundle struct {
	manifest  Manifest
	encoded   []byte // the manifest as JSON: what is hashed and written
	code      []byte
	sourceMap []byte
	hash      string
}

// New makes a bundle. Code is a script in the shape that package isolate describes; sourceMap may be nil.
func New(m *Manifest, code, sourceMap []byte) (*Bundle, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	encoded, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return assemble(append(encoded, '\n'), code, sourceMap)
}

// assemble makes a bundle of its parts as they stand in a file.
func assemble(encoded, code, sourceMap []byte) (*Bundle, error) {
	for _, part := range []struct {
		name        string
		bytes, most int
	}{
		{"manifest", len(encoded), MaxManifestBytes},
		{"code", len(code), MaxCodeBytes},
		{"source map", len(sourceMap), MaxSourceMapBytes},
	} {
		if part.bytes > part.most {
			return nil, fmt.Errorf("%s has %d bytes, at most %d", part.name, part.bytes, part.most)
		}
	}
	b := &Bundle{encoded: encoded, code: code, sourceMap: sourceMap}
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.DisallowUnknownFields()
	if err := d.Decode(&b.manifest); err != nil {
		return nil, fmt.Errorf("decode manifest: %w", err)
	}
	if err := b.manifest.Validate(); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	b.hash = hash(encoded, code, sourceMap)
	return b, nil
}

// hash covers each part with its length, so that no byte can move from one to the next.
func hash(parts ...[]byte) string {
	h := sha256.New()
	var length [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		h.Write(length[:])
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Manifest is the Worker's configuration. Its slices must not be changed.
func (b *Bundle) Manifest() *Manifest { return &b.manifest }

// Code is the script, in the shape that package isolate describes. It must not be changed.
func (b *Bundle) Code() []byte { return b.code }

// SourceMap is the script's source map, or nil. It must not be changed.
func (b *Bundle) SourceMap() []byte { return b.sourceMap }

// Hash is the SHA-256 of code, source map and manifest in 64 hexadecimal digits: the bundle's identity.
func (b *Bundle) Hash() string { return b.hash }
