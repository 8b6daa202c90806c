package webapi

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"math/big"
	"slices"

	"github.com/dop251/goja"
)

// The sizes of RSA keys that are made.
const (
	minModulus = 256
	maxModulus = 4096
)

func (r *Realm) generateKey(call goja.FunctionCall) goja.Value {
	r.requireEvent()
	p, extractable, usages := r.parameters(call.Argument(0)), call.Argument(1).ToBoolean(), call.Argument(2)
	switch p.name {
	case "HMAC", "AES-GCM", "AES-CBC", "AES-CTR", "AES-KW":
		return r.generateSecret(p, extractable, usages)
	case "ECDSA", "ECDH", "Ed25519", "X25519", "RSASSA-PKCS1-v1_5", "RSA-PSS", "RSA-OAEP":
		return r.generatePair(p, extractable, usages)
	}
	r.throwDOM("NotSupportedError", "Unrecognized key generation algorithm \""+p.name+"\" requested.")
	return nil
}

func (r *Realm) generateSecret(p parameters, extractable bool, usages goja.Value) goja.Value {
	k := &cryptoKey{kind: "secret", extractable: extractable, algorithm: keyAlgorithm{name: p.name}}
	if p.name == "HMAC" {
		h, name := p.hash()
		k.algorithm.hash, k.algorithm.length = name, p.number("length", h.New().BlockSize()*8)
	} else if k.algorithm.length = p.number("length", -1); k.algorithm.length != 128 && k.algorithm.length != 192 &&
		k.algorithm.length != 256 {
		r.throwDOM("OperationError", fmt.Sprintf("Generated AES key length must be 128, 192, or 256 bits but requested %d.",
			k.algorithm.length))
	}
	k.usages = r.usagesOf(usages, p.name, "pair", "generate")
	if k.algorithm.length < 1 || k.algorithm.length > 8*maxDerivedBytes {
		r.throwDOM("OperationError", fmt.Sprintf("HMAC key length must be a non-zero unsigned long integer (requested %d).",
			k.algorithm.length))
	}
	secret := make([]byte, (k.algorithm.length+7)/8)
	r.random(secret)
	k.material = secret
	return r.keyObject(k)
}

func (r *Realm) generatePair(p parameters, extractable bool, usages goja.Value) goja.Value {
	a := keyAlgorithm{name: p.name}
	switch p.name {
	case "ECDSA", "ECDH":
		a.curve = p.curve()
	case "RSASSA-PKCS1-v1_5", "RSA-PSS", "RSA-OAEP":
		_, a.hash = p.hash()
		a.modulus, a.exponent = p.number("modulusLength", -1), p.bytes("publicExponent", false)
		if a.modulus < minModulus || a.modulus > maxModulus || a.modulus%8 != 0 {
			r.throwDOM("OperationError", fmt.Sprintf("The modulus length must be a multiple of 8 and between 256 and 16k, but %d was "+
				"requested.", a.modulus))
		}
		switch e := new(big.Int).SetBytes(a.exponent); {
		case !e.IsInt64() || e.Int64() != 3 && e.Int64() != 65537:
			r.throwDOM("OperationError", fmt.Sprintf("The \"publicExponent\" must be either 3 or 65537, but got %d.", e))
		case e.Int64() == 3:
			r.throwDOM("NotSupportedError", "Keys whose \"publicExponent\" is 3 cannot be made here, only imported.")
		}
	}
	given := r.usagesOf(usages, p.name, "pair", "generate")
	pick := func(half int) []string {
		var out []string
		for _, u := range algorithmUsages()[p.name][half] {
			if slices.Contains(given, u) {
				out = append(out, u)
			}
		}
		return out
	}
	return offLoop(r, func() (any, error) { return newPrivate(a) }, func(material any) goja.Value {
		o := r.rt.NewObject()
		_ = o.Set("publicKey", r.keyObject(&cryptoKey{
			kind: "public", extractable: true, usages: pick(1), algorithm: a, material: publicOf(material),
		}))
		_ = o.Set("privateKey", r.keyObject(&cryptoKey{
			kind: "private", extractable: extractable, usages: pick(0), algorithm: a, material: material,
		}))
		return o
	})
}

// newPrivate makes a private key. Its randomness is always the operating system's.
func newPrivate(a keyAlgorithm) (any, error) {
	switch a.name {
	case "ECDSA":
		curve, _, _ := curveOf(a.curve)
		return ecdsa.GenerateKey(curve, rand.Reader)
	case "ECDH":
		_, curve, _ := curveOf(a.curve)
		return curve.GenerateKey(rand.Reader)
	case "X25519":
		return ecdh.X25519().GenerateKey(rand.Reader)
	case "Ed25519":
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	}
	return rsa.GenerateKey(rand.Reader, a.modulus)
}

func (r *Realm) importKey(call goja.FunctionCall) goja.Value {
	format := r.text(call.Argument(0))
	return r.keyObject(r.importFormat(format, call.Argument(1), r.parameters(call.Argument(2)),
		importOptions{call.Argument(3).ToBoolean(), call.Argument(4)}))
}

type importOptions struct {
	extractable bool
	usages      goja.Value
}

func (r *Realm) importFormat(format string, data goja.Value, p parameters, o importOptions) *cryptoKey {
	known, isKnown := algorithmUsages()[p.name]
	if !isKnown {
		r.throwDOM("NotSupportedError", "Unrecognized key import algorithm \""+p.name+"\" requested.")
	}
	secret := known[1] == nil || p.name == "PBKDF2" || p.name == "HKDF"
	bytes, isBytes := r.bytesOf(data)
	if _, ok := data.(*goja.Object); !ok {
		r.throwType("Failed to execute 'importKey' on 'SubtleCrypto': parameter 2 is not of type 'BufferSource or JsonWebKey'.")
	}
	switch format {
	case "raw", "pkcs8", "spki":
		if !isBytes {
			r.throwType("Import data provided for buffer-based import formats must be a buffer source.")
		}
	case "jwk":
		jwk, ok := data.(*goja.Object)
		if !ok || isBytes {
			r.throwType("Import data provided for \"jwk\" import format must be a JsonWebKey.")
		}
		if v := jwk.Get("ext"); !isNullish(v) && !v.ToBoolean() && o.extractable {
			r.throwDOM("DataError", "JWK ext field for \""+p.name+"\" is set to false but extractable is true")
		}
		if secret {
			return r.importSecret(p, r.secretOfJWK(jwk, p), o.extractable, o.usages)
		}
		return r.importPair(p, must2(r, r.materialOfJWK(jwk, p)), o)
	default:
		r.throwDOM("NotSupportedError", "Unrecognized key import format \""+format+"\".")
	}
	if secret {
		if format != "raw" {
			r.throwDOM("NotSupportedError", "Unrecognized key import format \""+format+"\".")
		}
		return r.importSecret(p, slices.Clone(bytes), o.extractable, o.usages)
	}
	material, err := materialOf(format, bytes, p.name, r.curveFor(p))
	return r.importPair(p, must(r, material, err), o)
}

type result struct {
	material any
	err      error
}

func must2(r *Realm, v result) any { return must(r, v.material, v.err) }

// curveFor is the curve that an import names, if its algorithm has one.
func (r *Realm) curveFor(p parameters) string {
	if p.name == "ECDSA" || p.name == "ECDH" {
		return p.curve()
	}
	return ""
}

func (r *Realm) importSecret(p parameters, secret []byte, extractable bool, usages goja.Value) *cryptoKey {
	k := &cryptoKey{kind: "secret", extractable: extractable, algorithm: keyAlgorithm{name: p.name}, material: secret}
	bits := 8 * len(secret)
	switch p.name {
	case "HMAC":
		_, k.algorithm.hash = p.hash()
		k.usages = r.usagesOf(usages, p.name, "secret", "import")
		length := p.number("length", bits)
		if length == 0 || length > bits || length <= bits-8 {
			r.throwDOM("DataError", fmt.Sprintf("Imported HMAC key length (%d) must be a non-zero value up to 7 bits less than, and "+
				"no greater than, the bit length of the raw key data (%d).", length, bits))
		}
		k.algorithm.length = length
	case "PBKDF2", "HKDF":
		if extractable {
			r.throwDOM("SyntaxError", p.name+" key cannot be extractable.")
		}
		k.usages = r.usagesOf(usages, p.name, "secret", "import")
	default:
		k.usages = r.usagesOf(usages, p.name, "secret", "import")
		if bits != 128 && bits != 192 && bits != 256 {
			r.throwDOM("DataError", fmt.Sprintf("Imported AES key length must be 128, 192, or 256 bits but provided %d.", bits))
		}
		k.algorithm.length = bits
	}
	return k
}

func (r *Realm) importPair(p parameters, material any, o importOptions) *cryptoKey {
	k := &cryptoKey{kind: "private", extractable: o.extractable, algorithm: keyAlgorithm{name: p.name}, material: material}
	switch m := material.(type) {
	case *ecdsa.PublicKey, *ecdh.PublicKey, ed25519.PublicKey, *rsa.PublicKey:
		k.kind = "public"
	case *rsa.PrivateKey:
		_ = m
	}
	if public, ok := publicOf(material).(*rsa.PublicKey); ok {
		_, k.algorithm.hash = p.hash()
		k.algorithm.modulus, k.algorithm.exponent = public.N.BitLen(), big.NewInt(int64(public.E)).Bytes()
	}
	k.algorithm.curve = r.curveFor(p)
	k.usages = r.usagesOf(o.usages, p.name, k.kind, "import")
	return k
}

func (r *Realm) exportKey(call goja.FunctionCall) goja.Value {
	return r.exportFormat(r.text(call.Argument(0)), r.keyArgument(call, 1, "exportKey"))
}

func (r *Realm) exportFormat(format string, k *cryptoKey) goja.Value {
	if !k.extractable {
		r.throwDOM("InvalidAccessError", "Attempt to export non-extractable "+k.algorithm.name+" key.")
	}
	if format == "jwk" {
		return r.jwkOf(k)
	}
	b, err := encodeKey(format, k)
	return r.buffer(must(r, b, err))
}

func (r *Realm) wrapKey(call goja.FunctionCall) goja.Value {
	format := r.text(call.Argument(0))
	k, with, p := r.keyArgument(call, 1, "wrapKey"), r.keyArgument(call, 2, "wrapKey"), r.parameters(call.Argument(3))
	r.require(with, p, "wrapKey")
	exported := r.exportFormat(format, k)
	var data []byte
	if format == "jwk" {
		data = []byte(r.call(r.intrinsic.jsonStringify, goja.Undefined(), exported).String())
	} else {
		data, _ = r.bytesOf(exported)
	}
	if with.algorithm.name == "AES-KW" {
		b, err := wrapAES(with.material.([]byte), data)
		return r.buffer(must(r, b, err))
	}
	return r.buffer(r.runCipher(with, p, true, data))
}

func (r *Realm) unwrapKey(call goja.FunctionCall) goja.Value {
	format, data := r.text(call.Argument(0)), r.source(call, 1, "unwrapKey")
	with, p := r.keyArgument(call, 2, "unwrapKey"), r.parameters(call.Argument(3))
	r.require(with, p, "unwrapKey")
	var plain []byte
	if with.algorithm.name == "AES-KW" {
		b, err := unwrapAES(with.material.([]byte), data)
		plain = must(r, b, err)
	} else {
		plain = r.runCipher(with, p, false, data)
	}
	content := r.buffer(plain)
	if format == "jwk" {
		content = r.isolate.ParseJSON(string(plain))
	}
	return r.keyObject(r.importFormat(format, content, r.parameters(call.Argument(4)),
		importOptions{call.Argument(5).ToBoolean(), call.Argument(6)}))
}
