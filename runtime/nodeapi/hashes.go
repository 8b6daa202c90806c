package nodeapi

import (
	"context"
	"crypto"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"crypto/subtle"
	"hash"
	"io"
	"strings"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
	"golang.org/x/crypto/scrypt"
)

// Bounds of what one call computes.
const (
	// maxIterations is more than what Cloudflare allows, 100,000: workerd itself has no bound.
	maxIterations = 10_000_000
	// maxDerived bounds the bytes of a derived key.
	maxDerived = 1 << 20
	// maxScryptBytes bounds the memory of scrypt, whatever the caller allows.
	maxScryptBytes = 128 << 20
	// maxScryptWork bounds its cost times its parallelism.
	maxScryptWork = 1 << 22
	// maxRandom bounds the random bytes of one call.
	maxRandom = 64 << 20
)

// hashName is the common name of a hash that is spelled in one of OpenSSL's ways.
func hashName(name string) string {
	name = strings.ToLower(name)
	name = strings.TrimPrefix(name, "rsa-")
	switch name {
	case "sha-1", "sha-256", "sha-384", "sha-512", "sha-224":
		return strings.Replace(name, "-", "", 1)
	case "sha512/256":
		return "sha512-256"
	case "sha512/224":
		return "sha512-224"
	}
	return name
}

// newHash returns a hash's constructor, or nil.
func newHash(name string) func() hash.Hash {
	switch hashName(name) {
	case "md5":
		return md5.New
	case "sha1":
		return sha1.New
	case "sha224":
		return sha256.New224
	case "sha256":
		return sha256.New
	case "sha384":
		return sha512.New384
	case "sha512":
		return sha512.New
	case "sha512-224":
		return sha512.New512_224
	case "sha512-256":
		return sha512.New512_256
	case "sha3-224":
		return func() hash.Hash { return sha3.New224() }
	case "sha3-256":
		return func() hash.Hash { return sha3.New256() }
	case "sha3-384":
		return func() hash.Hash { return sha3.New384() }
	case "sha3-512":
		return func() hash.Hash { return sha3.New512() }
	}
	return nil
}

// hashID is the same as the standard library's number of it, for signatures; 0 when there is none.
func hashID(name string) crypto.Hash {
	switch hashName(name) {
	case "md5":
		return crypto.MD5
	case "sha1":
		return crypto.SHA1
	case "sha224":
		return crypto.SHA224
	case "sha256":
		return crypto.SHA256
	case "sha384":
		return crypto.SHA384
	case "sha512":
		return crypto.SHA512
	}
	return 0
}

// running is a hash that is being computed.
type running struct {
	isolate.Opaque
	hash.Hash
}

func (n *node) hashOf(v goja.Value) *running {
	o, ok := v.(*goja.Object)
	if ok {
		if h, ok := o.Export().(*running); ok {
			return h
		}
	}
	n.isolate.Throw("TypeError", "this is no hash")
	return nil
}

// cryptoFunctions are what the module crypto is built on, but for ciphers and keys.
func (n *node) cryptoFunctions() map[string]func(goja.FunctionCall) goja.Value {
	return map[string]func(goja.FunctionCall) goja.Value{
		"newHash": func(c goja.FunctionCall) goja.Value {
			f := newHash(c.Argument(0).String())
			if f == nil {
				return goja.Undefined()
			}
			if key, ok := n.bytes(c.Argument(1)); ok {
				return n.rt.NewDynamicObject(&running{Hash: hmac.New(f, key)})
			}
			return n.rt.NewDynamicObject(&running{Hash: f()})
		},
		"hashUpdate": func(c goja.FunctionCall) goja.Value {
			_, _ = n.hashOf(c.Argument(0)).Write(n.mustBytes(c.Argument(1)))
			return goja.Undefined()
		},
		"hashDigest": func(c goja.FunctionCall) goja.Value { return n.buffer(n.hashOf(c.Argument(0)).Sum(nil)) },
		"hashCopy": func(c goja.FunctionCall) goja.Value {
			from, ok := n.hashOf(c.Argument(0)).Hash.(hash.Cloner)
			if ok {
				if clone, err := from.Clone(); err == nil {
					return n.rt.NewDynamicObject(&running{Hash: clone})
				}
			}
			n.isolate.Throw("Error", "this hash cannot be copied")
			return nil
		},
		"randomFill": func(c goja.FunctionCall) goja.Value {
			n.isolate.RequireEvent()
			b := n.mustBytes(c.Argument(0))
			if len(b) > maxRandom {
				n.throwCode("RangeError", "ERR_OUT_OF_RANGE", "at most %d random bytes at once", maxRandom)
			}
			if _, err := io.ReadFull(n.isolate.Random(), b); err != nil {
				n.isolate.Throw("Error", "no random bytes")
			}
			return c.Argument(0)
		},
		"timingSafeEqual": func(c goja.FunctionCall) goja.Value {
			return n.rt.ToValue(subtle.ConstantTimeCompare(n.mustBytes(c.Argument(0)), n.mustBytes(c.Argument(1))) == 1)
		},
		"derive":      func(c goja.FunctionCall) goja.Value { return n.buffer(n.derivation(c)()) },
		"deriveLater": n.deriveLater,
	}
}

// deriveLater is derive on another goroutine; it returns a promise.
func (n *node) deriveLater(c goja.FunctionCall) goja.Value {
	f := n.derivation(c)
	return n.isolate.Go(func(context.Context) func() (goja.Value, error) {
		b := f()
		return func() (goja.Value, error) { return n.buffer(b), nil }
	})
}

// derivation checks what is asked for and returns what computes it: (kind, secret, salt, length, …). Of pbkdf2 the rest
// is (iterations, hash), of hkdf (info, hash), of scrypt (cost, block size, parallelism, most memory).
func (n *node) derivation(c goja.FunctionCall) func() []byte {
	secret := append([]byte(nil), n.mustBytes(c.Argument(1))...)
	salt := append([]byte(nil), n.mustBytes(c.Argument(2))...)
	length := int(c.Argument(3).ToInteger())
	switch c.Argument(0).String() {
	case "pbkdf2":
		iterations := int(c.Argument(4).ToInteger())
		f := newHash(c.Argument(5).String())
		if iterations > maxIterations {
			// The text is workerd's.
			n.isolate.Throw("Error", "Pbkdf2 failed: iteration counts above %d are not supported (requested %d).",
				maxIterations, iterations)
		}
		if f := f(); length > maxDerived || length/f.Size()+1 > maxIterations/iterations {
			n.throwCode("RangeError", "ERR_OUT_OF_RANGE", "the key is too long for this many iterations")
		}
		return func() []byte {
			b, _ := pbkdf2.Key(f, string(secret), salt, iterations, length)
			return b
		}
	case "hkdf":
		info := string(n.mustBytes(c.Argument(4)))
		f := newHash(c.Argument(5).String())
		if length > 255*f().Size() {
			n.throwCode("RangeError", "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length")
		}
		return func() []byte {
			b, _ := hkdf.Key(f, secret, salt, info, length)
			return b
		}
	}
	return n.scryptDerivation(secret, salt, length, c)
}

func (n *node) scryptDerivation(secret, salt []byte, length int, c goja.FunctionCall) func() []byte {
	cost, block, parallel := c.Argument(4).ToInteger(), c.Argument(5).ToInteger(), c.Argument(6).ToInteger()
	most := min(c.Argument(7).ToInteger(), maxScryptBytes)
	invalid := func(reason string) {
		n.throwCode("RangeError", "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params: %s", reason)
	}
	switch {
	case cost < 2 || cost&(cost-1) != 0 || block < 1 || parallel < 1:
		n.throwCode("RangeError", "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params")
	case block > most || parallel > most || cost > most || 128*cost*block > most || 128*block*parallel > most:
		invalid("memory limit exceeded")
	case cost*block*parallel > maxScryptWork || length > maxDerived:
		invalid("too much to compute")
	}
	return func() []byte {
		b, _ := scrypt.Key(secret, salt, int(cost), int(block), int(parallel), length)
		return b
	}
}
