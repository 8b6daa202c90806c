package nodeapi

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"

	"github.com/dop251/goja"
)

// signing is how a signature is made.
type signing struct {
	hash  crypto.Hash
	pss   bool
	salt  int
	plain bool // of an EC key: the two numbers rather than DER
}

// signingOf reads (…, hash, padding, salt length, DSA encoding), from the parameter at.
func (n *node) signingOf(c goja.FunctionCall, at int, k *key) signing {
	s := signing{pss: c.Argument(at+1).String() == "pss", salt: int(c.Argument(at + 2).ToInteger()),
		plain: c.Argument(at+3).String() == "ieee-p1363"}
	name := c.Argument(at)
	if _, ok := k.public.(ed25519.PublicKey); ok {
		return s
	}
	if goja.IsUndefined(name) || goja.IsNull(name) {
		s.hash = crypto.SHA256
	} else if s.hash = hashID(name.String()); s.hash == 0 {
		n.throwCode("Error", "ERR_CRYPTO_INVALID_DIGEST", "Invalid digest: %s", name)
	}
	return s
}

// pssSalt is the length of the salt, where OpenSSL has names for two.
func (s signing) pssSalt() *rsa.PSSOptions {
	o := &rsa.PSSOptions{Hash: s.hash, SaltLength: s.salt}
	switch s.salt {
	case -1:
		o.SaltLength = rsa.PSSSaltLengthEqualsHash
	case -2, -3:
		o.SaltLength = rsa.PSSSaltLengthAuto
	}
	return o
}

// sign makes a signature: (key, data, hash, padding, salt length, DSA encoding).
func (n *node) sign(c goja.FunctionCall) goja.Value {
	k := n.keyOf(c.Argument(0))
	signature, err := k.sign(n.signingOf(c, 2, k), n.mustBytes(c.Argument(1)))
	if err != nil {
		n.throwCode("Error", "ERR_CRYPTO_OPERATION_FAILED", "%s", err)
	}
	return n.buffer(signature)
}

func (s signing) digest(data []byte) []byte {
	h := s.hash.New()
	h.Write(data)
	return h.Sum(nil)
}

func (k *key) sign(s signing, data []byte) ([]byte, error) {
	switch p := k.private.(type) {
	case *rsa.PrivateKey:
		if s.pss {
			return rsa.SignPSS(rand.Reader, p, s.hash, s.digest(data), s.pssSalt())
		}
		return rsa.SignPKCS1v15(nil, p, s.hash, s.digest(data))
	case *ecdsa.PrivateKey:
		if !s.plain {
			return ecdsa.SignASN1(rand.Reader, p, s.digest(data))
		}
		a, b, err := ecdsa.Sign(rand.Reader, p, s.digest(data))
		if err != nil {
			return nil, fmt.Errorf("sign: %w", err)
		}
		size := (p.Params().BitSize + 7) / 8
		out := make([]byte, 2*size)
		a.FillBytes(out[:size])
		b.FillBytes(out[size:])
		return out, nil
	case ed25519.PrivateKey:
		return ed25519.Sign(p, data), nil
	}
	return nil, errors.New("the key cannot sign")
}

// verify checks a signature: (key, data, signature, hash, padding, salt length, DSA encoding).
func (n *node) verify(c goja.FunctionCall) goja.Value {
	k := n.keyOf(c.Argument(0))
	return n.rt.ToValue(k.verify(n.signingOf(c, 3, k), n.mustBytes(c.Argument(1)), n.mustBytes(c.Argument(2))))
}

func (k *key) verify(s signing, data, signature []byte) bool {
	switch p := k.public.(type) {
	case *rsa.PublicKey:
		if s.pss {
			return rsa.VerifyPSS(p, s.hash, s.digest(data), signature, s.pssSalt()) == nil
		}
		return rsa.VerifyPKCS1v15(p, s.hash, s.digest(data), signature) == nil
	case *ecdsa.PublicKey:
		if !s.plain {
			return ecdsa.VerifyASN1(p, s.digest(data), signature)
		}
		size := (p.Params().BitSize + 7) / 8
		if len(signature) != 2*size {
			return false
		}
		der, err := asn1.Marshal(struct{ R, S *big.Int }{
			new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:]),
		})
		return err == nil && ecdsa.VerifyASN1(p, s.digest(data), der)
	case ed25519.PublicKey:
		return ed25519.Verify(p, data, signature)
	}
	return false
}

// rsaCrypt encrypts with a public key or decrypts with a private one: (key, data, padding, hash, label, encrypt).
func (n *node) rsaCrypt(c goja.FunctionCall) goja.Value {
	k, data := n.keyOf(c.Argument(0)), n.mustBytes(c.Argument(1))
	label, _ := n.bytes(c.Argument(4))
	hash := newHash(c.Argument(3).String())
	if hash == nil {
		hash = sha256.New
	}
	oaep := c.Argument(2).String() == "oaep"
	public, isRSA := k.public.(*rsa.PublicKey)
	private, _ := k.private.(*rsa.PrivateKey)
	var out []byte
	err := errors.New("the key is not one of RSA")
	switch encrypt := c.Argument(5).ToBoolean(); {
	case !isRSA || !encrypt && private == nil:
	case encrypt && oaep:
		out, err = rsa.EncryptOAEP(hash(), rand.Reader, public, data, label)
	case encrypt:
		out, err = rsa.EncryptPKCS1v15(rand.Reader, public, data) //nolint:staticcheck // programs ask for it
	case oaep:
		out, err = rsa.DecryptOAEP(hash(), nil, private, data, label)
	default:
		out, err = rsa.DecryptPKCS1v15(nil, private, data) //nolint:staticcheck // programs ask for it
	}
	if err != nil {
		n.throwCode("Error", "ERR_CRYPTO_OPERATION_FAILED", "%s", err)
	}
	return n.buffer(out)
}

// agree computes a shared secret of a private and a public key.
func (n *node) agree(c goja.FunctionCall) goja.Value {
	private, err := exchange(n.keyOf(c.Argument(0)).private)
	var secret []byte
	if err == nil {
		var public *ecdh.PublicKey
		switch p := n.keyOf(c.Argument(1)).public.(type) {
		case *ecdh.PublicKey:
			public = p
		case *ecdsa.PublicKey:
			public, err = p.ECDH()
		default:
			err = errors.New("the public key is of another kind")
		}
		if err == nil {
			secret, err = private.ECDH(public)
		}
	}
	if err != nil {
		n.throwCode("Error", "ERR_CRYPTO_INCOMPATIBLE_KEY", "%s", err)
	}
	return n.buffer(secret)
}

func exchange(k crypto.PrivateKey) (*ecdh.PrivateKey, error) {
	switch p := k.(type) {
	case *ecdh.PrivateKey:
		return p, nil
	case *ecdsa.PrivateKey:
		private, err := p.ECDH()
		if err != nil {
			return nil, fmt.Errorf("take the key: %w", err)
		}
		return private, nil
	}
	return nil, errors.New("the private key cannot be used for an agreement")
}
