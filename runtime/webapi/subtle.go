package webapi

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// domError is an error that rejects with a DOMException of this name.
type domError struct{ name, message string }

func (e *domError) Error() string { return e.name + ": " + e.message }

// operationError is one that says no more than that it failed.
func operationError(format string, args ...any) error {
	return &domError{"OperationError", fmt.Sprintf(format, args...)}
}

// throwGo throws an error of Go's: a DOMException, if it is one.
func (r *Realm) throwGo(err error) {
	var known *domError
	if errors.As(err, &known) {
		r.throwDOM(known.name, known.message)
	}
	r.throwDOM("OperationError", "The operation failed for an operation-specific reason.")
}

// must returns a value, or throws the error that came with it.
func must[T any](r *Realm, v T, err error) T {
	if err != nil {
		r.throwGo(err)
	}
	return v
}

// offLoop runs f, which computes for long, on another goroutine, and returns a promise of what then makes of its value.
func offLoop[T any](r *Realm, f func() (T, error), then func(T) goja.Value) goja.Value {
	return r.isolate.Go(func(context.Context) func() (goja.Value, error) {
		v, err := f()
		return func() (goja.Value, error) {
			if err != nil {
				r.throwGo(err)
			}
			return then(v), nil
		}
	})
}

// subtleCrypto is what is behind crypto.subtle.
type subtleCrypto struct{ internal }

func (r *Realm) installSubtle() error {
	if err := r.installCryptoKey(); err != nil {
		return err
	}
	c := newClass[*subtleCrypto](r, "SubtleCrypto", nil)
	operations := []struct {
		name string
		f    func(goja.FunctionCall) goja.Value
	}{
		{"encrypt", func(call goja.FunctionCall) goja.Value { return r.cipher(call, "encrypt") }},
		{"decrypt", func(call goja.FunctionCall) goja.Value { return r.cipher(call, "decrypt") }},
		{"sign", r.sign}, {"verify", r.verify}, {"digest", r.digest}, {"generateKey", r.generateKey},
		{"deriveKey", r.deriveKey}, {"deriveBits", r.deriveBits}, {"importKey", r.importKey}, {"exportKey", r.exportKey},
		{"wrapKey", r.wrapKey}, {"unwrapKey", r.unwrapKey},
	}
	for _, o := range operations {
		c.promise(o.name, func(_ *subtleCrypto, call goja.FunctionCall) goja.Value { return o.f(call) })
	}
	c.method("timingSafeEqual", func(_ *subtleCrypto, call goja.FunctionCall) goja.Value {
		a, b := r.source(call, 0, "timingSafeEqual"), r.source(call, 1, "timingSafeEqual")
		if len(a) != len(b) {
			r.throwType("Input buffers must have the same byte length.")
		}
		return r.rt.ToValue(subtle.ConstantTimeCompare(a, b) == 1)
	})
	if err := c.install(); err != nil {
		return err
	}
	crypto, subtle := r.cryptoClass, c.wrap(&subtleCrypto{})
	crypto.attribute("subtle", func(*cryptoObject) goja.Value { return subtle }, nil)
	// The class DigestStream is made when it is first used.
	crypto.attribute("DigestStream", func(*cryptoObject) goja.Value { return r.group("streams").Get("DigestStream") }, nil)
	return nil
}

// runningDigest is the digest of a DigestStream.
type runningDigest struct {
	isolate.Opaque
	hash.Hash
}

func (r *Realm) newDigest(call goja.FunctionCall) goja.Value {
	h, _, ok := hashOf(r.parameters(call.Argument(0)).name)
	if !ok {
		r.throwDOM("NotSupportedError", "Unrecognized or unimplemented digest algorithm requested.")
	}
	return r.rt.NewDynamicObject(&runningDigest{Hash: h.New()})
}

func digestBehind(v goja.Value) *runningDigest { return v.(*goja.Object).Export().(*runningDigest) }

func (r *Realm) updateDigest(call goja.FunctionCall) goja.Value {
	if b, ok := r.bytesOf(call.Argument(1)); ok {
		_, _ = digestBehind(call.Argument(0)).Write(b)
	}
	return goja.Undefined()
}

func (r *Realm) finishDigest(call goja.FunctionCall) goja.Value {
	return r.buffer(digestBehind(call.Argument(0)).Sum(nil))
}

// source returns the bytes of a parameter, which are the script's own.
func (r *Realm) source(call goja.FunctionCall, n int, method string) []byte {
	b, ok := r.bytesOf(call.Argument(n))
	if !ok {
		r.throwType("Failed to execute '%s' on 'SubtleCrypto': parameter %d is not of type 'BufferSource'.", method, n+1)
	}
	return b
}

func (r *Realm) keyArgument(call goja.FunctionCall, n int, method string) *cryptoKey {
	k, ok := r.cryptoKey.of(call.Argument(n))
	if !ok {
		r.throwType("Failed to execute '%s' on 'SubtleCrypto': parameter %d is not of type 'CryptoKey'.", method, n+1)
	}
	return k
}

func (r *Realm) buffer(b []byte) goja.Value { return r.rt.ToValue(r.rt.NewArrayBuffer(b)) }

func (r *Realm) digest(call goja.FunctionCall) goja.Value {
	data := r.source(call, 1, "digest")
	h, _, ok := hashOf(r.parameters(call.Argument(0)).name)
	if !ok {
		r.throwDOM("NotSupportedError", "Unrecognized or unimplemented digest algorithm requested.")
	}
	d := h.New()
	d.Write(data)
	return r.buffer(d.Sum(nil))
}

func (r *Realm) sign(call goja.FunctionCall) goja.Value {
	p, k := r.parameters(call.Argument(0)), r.keyArgument(call, 1, "sign")
	data := r.source(call, 2, "sign")
	r.require(k, p, "sign")
	b, err := k.sign(r.signatureOptions(k, p), data)
	return r.buffer(must(r, b, err))
}

func (r *Realm) verify(call goja.FunctionCall) goja.Value {
	p, k := r.parameters(call.Argument(0)), r.keyArgument(call, 1, "verify")
	signature, data := r.source(call, 2, "verify"), r.source(call, 3, "verify")
	r.require(k, p, "verify")
	return r.rt.ToValue(k.verify(r.signatureOptions(k, p), signature, data))
}

// signatureOptions are what signing is told beside the key.
func (r *Realm) signatureOptions(k *cryptoKey, p parameters) signatureOptions {
	o := signatureOptions{}
	switch k.algorithm.name {
	case "ECDSA":
		if isMissing(p.get("hash")) {
			r.throwType("Missing \"hash\" in AlgorithmIdentifier. (ECDSA requires that the hash algorithm be specified at call " +
				"time rather than on the key. This differs from other WebCrypto algorithms for historical reasons.)")
		}
		o.hash, _ = p.hash()
	case "RSA-PSS":
		o.hash, _, _ = hashOf(k.algorithm.hash)
		if isMissing(p.get("saltLength")) {
			r.throwDOM("DataError", "Failed to provide salt for RSA-PSS key operation which requires a salt")
		}
		o.salt = p.number("saltLength", -1)
	case "HMAC", "RSASSA-PKCS1-v1_5":
		o.hash, _, _ = hashOf(k.algorithm.hash)
	}
	return o
}

func (r *Realm) cipher(call goja.FunctionCall, usage string) goja.Value {
	p, k := r.parameters(call.Argument(0)), r.keyArgument(call, 1, usage)
	data := r.source(call, 2, usage)
	r.require(k, p, usage)
	return r.buffer(r.runCipher(k, p, usage == "encrypt", data))
}

func (r *Realm) runCipher(k *cryptoKey, p parameters, encrypt bool, data []byte) []byte {
	o := cipherOptions{}
	switch k.algorithm.name {
	case "AES-GCM":
		o.iv, o.additional, o.tag = p.bytes("iv", false), p.bytes("additionalData", true), p.number("tagLength", 128)
	case "AES-CBC":
		o.iv = p.bytes("iv", false)
	case "AES-CTR":
		o.iv, o.counter = p.bytes("counter", false), p.number("length", -1)
	case "RSA-OAEP":
		o.label = p.bytes("label", true)
	}
	var out []byte
	var err error
	if encrypt {
		out, err = k.encrypt(o, data)
	} else {
		out, err = k.decrypt(o, data)
	}
	return must(r, out, err)
}

func (r *Realm) deriveBits(call goja.FunctionCall) goja.Value {
	p, k := r.parameters(call.Argument(0)), r.keyArgument(call, 1, "deriveBits")
	r.require(k, p, "deriveBits")
	bits := -1
	if v := call.Argument(2); !isNullish(v) {
		bits = int(v.ToInteger())
	}
	return r.derive(p, k, bits, func(b []byte) goja.Value { return r.buffer(b) })
}

func (r *Realm) derive(p parameters, k *cryptoKey, bits int, then func([]byte) goja.Value) goja.Value {
	if bits%8 != 0 && bits >= 0 {
		text := "Unable to derive a length that is not a multiple of 8 bits."
		if k.algorithm.name == "HKDF" {
			text = fmt.Sprintf("HKDF requires a derived key length that is a multiple of eight (requested %d).", bits)
		}
		r.throwDOM("OperationError", text)
	}
	if bits > 8*maxDerivedBytes {
		r.throwDOM("OperationError", "The derived length is too large.")
	}
	d := derivation{bits: bits}
	switch k.algorithm.name {
	case "PBKDF2":
		d.hash, _ = p.hash()
		d.salt, d.iterations = p.bytes("salt", false), p.number("iterations", -1)
	case "HKDF":
		d.hash, _ = p.hash()
		d.salt, d.info = p.bytes("salt", false), p.bytes("info", false)
	default:
		public, ok := r.cryptoKey.of(p.get("public"))
		if !ok {
			p.missing("public")
		}
		d.public = public
	}
	return offLoop(r, func() ([]byte, error) { return k.derive(d) }, then)
}

func (r *Realm) deriveKey(call goja.FunctionCall) goja.Value {
	p, k := r.parameters(call.Argument(0)), r.keyArgument(call, 1, "deriveKey")
	r.require(k, p, "deriveKey")
	target := r.parameters(call.Argument(2))
	bits := r.keyBits(target)
	extractable, usages := call.Argument(3), call.Argument(4)
	return r.derive(p, k, bits, func(b []byte) goja.Value {
		return r.keyObject(r.importSecret(target, b, extractable.ToBoolean(), usages))
	})
}

// keyBits is how long a derived key is; negative means as long as may be.
func (r *Realm) keyBits(p parameters) int {
	switch p.name {
	case "HMAC":
		if v := p.get("length"); !isMissing(v) {
			return int(v.ToInteger())
		}
		h, _ := p.hash()
		return h.New().BlockSize() * 8
	case "HKDF", "PBKDF2":
		return -1
	case "AES-GCM", "AES-CBC", "AES-CTR", "AES-KW":
		length := p.number("length", -1)
		if length != 128 && length != 192 && length != 256 {
			r.throwDOM("OperationError", fmt.Sprintf("Derived AES key length must be 128, 192, or 256 bits but provided %d.", length))
		}
		return length
	}
	r.throwDOM("NotSupportedError", "Unrecognized key import algorithm \""+p.name+"\" requested.")
	return 0
}
