package webapi

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"errors"
	"math/big"
)

// This file is without the engine: what keys can do.

type signatureOptions struct {
	hash crypto.Hash
	salt int
}

func digestOf(h crypto.Hash, data []byte) []byte {
	d := h.New()
	d.Write(data)
	return d.Sum(nil)
}

func (k *cryptoKey) sign(o signatureOptions, data []byte) ([]byte, error) {
	switch m := k.material.(type) {
	case []byte:
		mac := hmac.New(o.hash.New, m)
		mac.Write(data)
		return mac.Sum(nil), nil
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, m, digestOf(o.hash, data))
		if err != nil {
			return nil, err
		}
		size := (m.Curve.Params().BitSize + 7) / 8
		out := make([]byte, 2*size)
		r.FillBytes(out[:size])
		s.FillBytes(out[size:])
		return out, nil
	case ed25519.PrivateKey:
		return ed25519.Sign(m, data), nil
	case *rsa.PrivateKey:
		if k.algorithm.name == "RSA-PSS" {
			return rsa.SignPSS(rand.Reader, m, o.hash, digestOf(o.hash, data), &rsa.PSSOptions{SaltLength: pssSalt(o.salt)})
		}
		return rsa.SignPKCS1v15(rand.Reader, m, o.hash, digestOf(o.hash, data))
	}
	return nil, operationError("This key cannot sign.")
}

// pssSalt is a salt's length as Go has it, where 0 means something else.
func pssSalt(length int) int {
	if length == 0 {
		return rsa.PSSSaltLengthAuto
	}
	return length
}

func (k *cryptoKey) verify(o signatureOptions, signature, data []byte) bool {
	switch m := k.material.(type) {
	case []byte:
		mac := hmac.New(o.hash.New, m)
		mac.Write(data)
		return hmac.Equal(mac.Sum(nil), signature)
	case *ecdsa.PublicKey:
		size := (m.Curve.Params().BitSize + 7) / 8
		if len(signature) != 2*size {
			return false
		}
		r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
		return ecdsa.Verify(m, digestOf(o.hash, data), r, s)
	case ed25519.PublicKey:
		return len(signature) == ed25519.SignatureSize && ed25519.Verify(m, data, signature)
	case *rsa.PublicKey:
		if k.algorithm.name == "RSA-PSS" {
			return rsa.VerifyPSS(m, o.hash, digestOf(o.hash, data), signature, &rsa.PSSOptions{SaltLength: pssSalt(o.salt)}) == nil
		}
		return rsa.VerifyPKCS1v15(m, o.hash, digestOf(o.hash, data), signature) == nil
	}
	return false
}

type cipherOptions struct {
	// iv is the counter block of AES-CTR.
	iv, additional, label []byte
	// tag and counter are in bits.
	tag, counter int
}

const decryptionFailed = "Decryption failed. This could be due to a ciphertext authentication failure, bad padding, incorrect " +
	"CryptoKey, or another algorithm-specific reason. Input length was %d, output length expected to be %d for %s"

func (k *cryptoKey) encrypt(o cipherOptions, data []byte) ([]byte, error) {
	if m, ok := k.material.(*rsa.PublicKey); ok {
		h, _, _ := hashOf(k.algorithm.hash)
		out, err := rsa.EncryptOAEP(h.New(), rand.Reader, m, data, o.label)
		if err != nil {
			return nil, operationError("RSA-OAEP failed encrypt/decrypt.")
		}
		return out, nil
	}
	block, err := k.block()
	if err != nil {
		return nil, err
	}
	switch k.algorithm.name {
	case "AES-GCM":
		aead, err := gcm(block, o)
		if err != nil {
			return nil, err
		}
		return aead.Seal(nil, o.iv, data, o.additional), nil
	case "AES-CBC":
		if len(o.iv) != aes.BlockSize {
			return nil, operationError("AES-CBC IV must be 16 bytes long (provided %d bytes).", len(o.iv))
		}
		pad := aes.BlockSize - len(data)%aes.BlockSize
		out := make([]byte, len(data)+pad)
		copy(out, data)
		for n := len(data); n < len(out); n++ {
			out[n] = byte(pad)
		}
		cipher.NewCBCEncrypter(block, o.iv).CryptBlocks(out, out)
		return out, nil
	case "AES-CTR":
		return ctr(block, o, data)
	}
	return nil, operationError("This key cannot encrypt.")
}

func (k *cryptoKey) decrypt(o cipherOptions, data []byte) ([]byte, error) {
	if m, ok := k.material.(*rsa.PrivateKey); ok {
		h, _, _ := hashOf(k.algorithm.hash)
		out, err := rsa.DecryptOAEP(h.New(), rand.Reader, m, data, o.label)
		if err != nil {
			return nil, operationError("RSA-OAEP failed encrypt/decrypt.")
		}
		return out, nil
	}
	block, err := k.block()
	if err != nil {
		return nil, err
	}
	switch k.algorithm.name {
	case "AES-GCM":
		aead, err := gcm(block, o)
		if err != nil {
			return nil, err
		}
		if len(data) < aead.Overhead() {
			return nil, operationError("Ciphertext length of %d bits must be greater than or equal to the size of the AES-GCM tag "+
				"length of %d bits.", 8*len(data), 8*aead.Overhead())
		}
		out, err := aead.Open(nil, o.iv, data, o.additional)
		if err != nil {
			length := max(0, len(data)-aead.Overhead())
			return nil, operationError(decryptionFailed, length, length, k.algorithm.name)
		}
		return out, nil
	case "AES-CBC":
		return k.decryptCBC(block, o, data)
	case "AES-CTR":
		return ctr(block, o, data)
	}
	return nil, operationError("This key cannot decrypt.")
}

func (k *cryptoKey) decryptCBC(block cipher.Block, o cipherOptions, data []byte) ([]byte, error) {
	if len(o.iv) != aes.BlockSize {
		return nil, operationError("AES-CBC IV must be 16 bytes long (provided %d bytes).", len(o.iv))
	}
	failed := operationError(decryptionFailed, len(data), 0, k.algorithm.name)
	if len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, failed
	}
	out := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, o.iv).CryptBlocks(out, data)
	pad := int(out[len(out)-1])
	if pad < 1 || pad > aes.BlockSize {
		return nil, failed
	}
	for _, b := range out[len(out)-pad:] {
		if int(b) != pad {
			return nil, failed
		}
	}
	return out[:len(out)-pad], nil
}

func (k *cryptoKey) block() (cipher.Block, error) {
	secret, ok := k.material.([]byte)
	if !ok {
		return nil, operationError("This key is no secret.")
	}
	return aes.NewCipher(secret)
}

// gcm makes the cipher. Go knows tags of 96 bits and more, and nonces of another length than 12 with whole tags only.
func gcm(block cipher.Block, o cipherOptions) (cipher.AEAD, error) {
	switch {
	case len(o.iv) == 0:
		return nil, operationError("AES-GCM IV must not be empty.")
	case o.tag != 32 && o.tag != 64 && (o.tag < 96 || o.tag > 128 || o.tag%8 != 0):
		return nil, operationError("Invalid AES-GCM tag length %d.", o.tag)
	case len(o.iv) == 12 && o.tag >= 96:
		return cipher.NewGCMWithTagSize(block, o.tag/8)
	}
	whole, err := cipher.NewGCMWithNonceSize(block, len(o.iv))
	if err != nil || o.tag == 128 {
		return whole, err
	}
	return shortTag{whole, o.tag / 8}, nil
}

// shortTag is a cipher of whose tags only the beginning is kept.
type shortTag struct {
	cipher.AEAD
	size int
}

// Overhead returns the tag's length.
func (s shortTag) Overhead() int { return s.size }

// Seal encrypts.
func (s shortTag) Seal(dst, nonce, plain, additional []byte) []byte {
	out := s.AEAD.Seal(dst, nonce, plain, additional)
	return out[:len(out)-s.AEAD.Overhead()+s.size]
}

// Open decrypts. The key stream is what zeros become; the tag is that of what comes out.
func (s shortTag) Open(dst, nonce, sealed, additional []byte) ([]byte, error) {
	if len(sealed) < s.size {
		return nil, errShortMessage
	}
	data, tag := sealed[:len(sealed)-s.size], sealed[len(sealed)-s.size:]
	plain := s.AEAD.Seal(nil, nonce, make([]byte, len(data)), nil)[:len(data)]
	subtle.XORBytes(plain, plain, data)
	again := s.AEAD.Seal(nil, nonce, plain, additional)[len(data):]
	if subtle.ConstantTimeCompare(again[:s.size], tag) != 1 {
		return nil, errShortMessage
	}
	return append(dst, plain...), nil
}

var errShortMessage = errors.New("the message is not authentic")

// ctr counts in the last bits of the block only.
func ctr(block cipher.Block, o cipherOptions, data []byte) ([]byte, error) {
	if len(o.iv) != aes.BlockSize {
		return nil, operationError("Counter must have length of 16 bytes (provided %d).", len(o.iv))
	}
	if o.counter < 1 || o.counter > 128 {
		return nil, operationError("Invalid counter of %d bits length provided.", o.counter)
	}
	blocks := big.NewInt(int64(len(data)+aes.BlockSize-1) / aes.BlockSize)
	period := new(big.Int).Lsh(big.NewInt(1), uint(o.counter))
	if blocks.Cmp(period) > 0 {
		return nil, operationError("Counter block values will repeat")
	}
	start := new(big.Int).SetBytes(o.iv)
	low := new(big.Int).Mod(start, period)
	first := len(data)
	if left := new(big.Int).Sub(period, low); left.Cmp(blocks) < 0 {
		first = int(left.Int64()) * aes.BlockSize // then the counter begins again at 0
	}
	out := make([]byte, len(data))
	cipher.NewCTR(block, o.iv).XORKeyStream(out[:first], data[:first])
	if first < len(data) {
		again := start.Sub(start, low).FillBytes(make([]byte, aes.BlockSize))
		cipher.NewCTR(block, again).XORKeyStream(out[first:], data[first:])
	}
	return out, nil
}

// maxDerivedBytes and maxIterations bound what a derivation computes.
const (
	maxDerivedBytes = 1 << 20
	maxIterations   = 10_000_000
)

type derivation struct {
	hash       crypto.Hash
	salt, info []byte
	iterations int
	// bits is how much is derived; negative means all that there is.
	bits   int
	public *cryptoKey
}

func (k *cryptoKey) derive(d derivation) ([]byte, error) {
	length := d.bits / 8
	switch k.algorithm.name {
	case "PBKDF2":
		if d.bits <= 0 {
			return nil, operationError("PBKDF2 requires a non-zero, non-null length.")
		}
		if d.iterations < 1 {
			return nil, operationError("PBKDF2 requires a positive iteration count (requested %d).", d.iterations)
		}
		if d.iterations > maxIterations {
			return nil, operationError("PBKDF2 does at most %d iterations here (requested %d).", maxIterations, d.iterations)
		}
		return pbkdf2.Key(d.hash.New, string(k.material.([]byte)), d.salt, d.iterations, length)
	case "HKDF":
		if d.bits < 0 {
			return nil, operationError("HKDF cannot derive a key with null length.")
		}
		return hkdf.Key(d.hash.New, k.material.([]byte), d.salt, string(d.info), length)
	}
	private, ok := k.material.(*ecdh.PrivateKey)
	public, ok2 := d.public.material.(*ecdh.PublicKey)
	if !ok || !ok2 || private.Curve() != public.Curve() {
		return nil, &domError{"InvalidAccessError", "The keys do not belong together."}
	}
	secret, err := private.ECDH(public)
	if err != nil {
		return nil, operationError("The shared secret could not be derived.")
	}
	if d.bits < 0 {
		return secret, nil
	}
	if length > len(secret) {
		return nil, operationError("Derived key length (%d bits) is too long (should be at most %d bits).", d.bits, 8*len(secret))
	}
	return secret[:length], nil
}
