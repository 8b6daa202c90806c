package nodeapi

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// maxModulus bounds the keys of RSA that are made and used, in bits.
const maxModulus = 8192

// key is what is behind a KeyObject of a pair.
type key struct {
	isolate.Opaque
	// private is nil for a public key.
	private crypto.PrivateKey
	public  crypto.PublicKey
}

// keyFunctions are those of keys and signatures.
func (n *node) keyFunctions() map[string]func(goja.FunctionCall) goja.Value {
	return map[string]func(goja.FunctionCall) goja.Value{
		"parseKey":  n.parseKey,
		"webKey":    n.webKey,
		"encodeKey": n.encodeKey,
		"publicOf": func(c goja.FunctionCall) goja.Value {
			return n.rt.NewDynamicObject(&key{public: n.keyOf(c.Argument(0)).public})
		},
		"keyDetails":   func(c goja.FunctionCall) goja.Value { return n.rt.ToValue(n.keyOf(c.Argument(0)).details()) },
		"generatePair": n.generatePair,
		"sign":         n.sign,
		"verify":       n.verify,
		"rsaCrypt":     n.rsaCrypt,
		"agree":        n.agree,
		"samePublic": func(c goja.FunctionCall) goja.Value {
			a, ok := n.keyOf(c.Argument(0)).public.(interface{ Equal(crypto.PublicKey) bool })
			return n.rt.ToValue(ok && a.Equal(n.keyOf(c.Argument(1)).public))
		},
	}
}

func (n *node) keyOf(v goja.Value) *key {
	if o, ok := v.(*goja.Object); ok {
		if k, ok := o.Export().(*key); ok {
			return k
		}
	}
	n.isolate.Throw("TypeError", "this is no key")
	return nil
}

// newKey makes a key of what a parser or generator gave.
func newKey(material any) (*key, error) {
	switch k := material.(type) {
	case *rsa.PrivateKey:
		if k.N.BitLen() > maxModulus {
			return nil, errors.New("the modulus is too long")
		}
		return &key{private: k, public: &k.PublicKey}, nil
	case *ecdsa.PrivateKey:
		return &key{private: k, public: &k.PublicKey}, nil
	case ed25519.PrivateKey:
		return &key{private: k, public: k.Public()}, nil
	case *ecdh.PrivateKey:
		return &key{private: k, public: k.PublicKey()}, nil
	case *rsa.PublicKey:
		if k.N.BitLen() > maxModulus {
			return nil, errors.New("the modulus is too long")
		}
		return &key{public: k}, nil
	case *ecdsa.PublicKey, ed25519.PublicKey, *ecdh.PublicKey:
		return &key{public: k}, nil
	}
	return nil, fmt.Errorf("keys of type %T are not supported", material)
}

// webKey returns what is in a CryptoKey: an ArrayBuffer of a secret, or a key with its kind. Keys that must not be
// extracted are refused: a KeyObject can be exported.
func (n *node) webKey(c goja.FunctionCall) goja.Value {
	material, extractable, ok := n.realm.KeyMaterial(c.Argument(0))
	if !ok || !extractable {
		n.throwCode("Error", "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE", "The key cannot be extracted")
	}
	if secret, ok := material.([]byte); ok {
		return n.buffer(append([]byte(nil), secret...))
	}
	k, err := newKey(material)
	if err != nil {
		n.isolate.Throw("Error", "%s", err)
	}
	kind := "public"
	if k.private != nil {
		kind = "private"
	}
	return n.rt.NewArray(kind, n.rt.NewDynamicObject(k))
}

// parseKey reads a key: (bytes, format, private, type). It returns undefined when there is none in them.
func (n *node) parseKey(c goja.FunctionCall) goja.Value {
	data := n.mustBytes(c.Argument(0))
	private := c.Argument(2).ToBoolean()
	kind := c.Argument(3).String()
	if c.Argument(1).String() == "pem" {
		block, _ := pem.Decode(data)
		if block == nil {
			return goja.Undefined()
		}
		data = block.Bytes
		kind = block.Type
	}
	material, err := parseDER(data, kind, private)
	if err != nil {
		return goja.Undefined()
	}
	k, err := newKey(material)
	if err != nil {
		return goja.Undefined()
	}
	return n.rt.NewDynamicObject(k)
}

// parseDER reads what is not wrapped, in whatever of the known forms it is.
func parseDER(data []byte, kind string, private bool) (any, error) {
	if strings.Contains(kind, "CERTIFICATE") {
		cert, err := x509.ParseCertificate(data)
		if err != nil {
			return nil, fmt.Errorf("read the certificate: %w", err)
		}
		return cert.PublicKey, nil
	}
	if k, err := x509.ParsePKCS8PrivateKey(data); err == nil {
		return k, nil
	}
	if k, err := x509.ParsePKCS1PrivateKey(data); err == nil {
		return k, nil
	}
	if k, err := x509.ParseECPrivateKey(data); err == nil {
		return k, nil
	}
	if private {
		return nil, errors.New("no private key")
	}
	if k, err := x509.ParsePKIXPublicKey(data); err == nil {
		return k, nil
	}
	k, err := x509.ParsePKCS1PublicKey(data)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	return k, nil
}

// encodeKey writes a key: (key, type, pem).
func (n *node) encodeKey(c goja.FunctionCall) goja.Value {
	data, label, err := n.keyOf(c.Argument(0)).encode(c.Argument(1).String())
	if err != nil {
		n.throwCode("Error", "ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS", "%s", err)
	}
	if c.Argument(2).ToBoolean() {
		return n.rt.ToValue(string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: data})))
	}
	return n.buffer(data)
}

func (k *key) encode(kind string) (data []byte, label string, err error) {
	switch kind {
	case "pkcs8":
		data, err = x509.MarshalPKCS8PrivateKey(k.private)
		return data, "PRIVATE KEY", err
	case "spki":
		data, err = x509.MarshalPKIXPublicKey(k.public)
		return data, "PUBLIC KEY", err
	case "sec1":
		if private, ok := k.private.(*ecdsa.PrivateKey); ok {
			data, err = x509.MarshalECPrivateKey(private)
			return data, "EC PRIVATE KEY", err
		}
	case "pkcs1":
		if private, ok := k.private.(*rsa.PrivateKey); ok {
			return x509.MarshalPKCS1PrivateKey(private), "RSA PRIVATE KEY", nil
		}
		if public, ok := k.public.(*rsa.PublicKey); ok {
			return x509.MarshalPKCS1PublicKey(public), "RSA PUBLIC KEY", nil
		}
	}
	return nil, "", fmt.Errorf("The selected key encoding %s can only be used for other keys.", kind)
}

// details tells what a key is.
func (k *key) details() map[string]any {
	switch p := k.public.(type) {
	case *rsa.PublicKey:
		return map[string]any{"type": "rsa", "modulusLength": p.N.BitLen(), "publicExponent": big.NewInt(int64(p.E))}
	case *ecdsa.PublicKey:
		return map[string]any{"type": "ec", "namedCurve": curveName(p.Curve)}
	case ed25519.PublicKey:
		return map[string]any{"type": "ed25519"}
	}
	return map[string]any{"type": "x25519"}
}

func curveName(c elliptic.Curve) string {
	switch c {
	case elliptic.P256():
		return "prime256v1"
	case elliptic.P384():
		return "secp384r1"
	case elliptic.P521():
		return "secp521r1"
	}
	return "secp224r1"
}

func curveOf(name string) elliptic.Curve {
	switch name {
	case "prime256v1", "P-256", "secp256r1":
		return elliptic.P256()
	case "secp384r1", "P-384":
		return elliptic.P384()
	case "secp521r1", "P-521":
		return elliptic.P521()
	case "secp224r1", "P-224":
		return elliptic.P224()
	}
	return nil
}

// generatePair makes a private key: (type, modulus length or curve).
func (n *node) generatePair(c goja.FunctionCall) goja.Value {
	n.isolate.RequireEvent()
	material, err := generate(c.Argument(0).String(), c.Argument(1))
	var k *key
	if err == nil {
		k, err = newKey(material)
	}
	if err != nil {
		n.throwCode("Error", "ERR_CRYPTO_OPERATION_FAILED", "%s", err)
	}
	return n.rt.NewDynamicObject(k)
}

func generate(kind string, size goja.Value) (any, error) {
	switch kind {
	case "rsa", "rsa-pss":
		bits := int(size.ToInteger())
		if bits < 1024 || bits > 4096 {
			return nil, errors.New("the modulus must have 1024 to 4096 bits")
		}
		return rsa.GenerateKey(rand.Reader, bits)
	case "ec":
		if curve := curveOf(size.String()); curve != nil {
			return ecdsa.GenerateKey(curve, rand.Reader)
		}
		return nil, errors.New("Invalid EC curve name")
	case "ed25519":
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	case "x25519":
		return ecdh.X25519().GenerateKey(rand.Reader)
	}
	return nil, fmt.Errorf("keys of type %s are not supported", kind)
}
