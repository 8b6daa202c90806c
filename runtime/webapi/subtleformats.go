package webapi

import (
	"crypto/aes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"

	"github.com/dop251/goja"
)

func dataError(format string, args ...any) error {
	return &domError{"DataError", fmt.Sprintf(format, args...)}
}

// materialOf reads a key of a pair. curve is that of the algorithm, or empty.
func materialOf(format string, data []byte, name, curve string) (any, error) {
	var material any
	var err error
	switch format {
	case "raw":
		return rawPublic(data, name, curve)
	case "spki":
		material, err = x509.ParsePKIXPublicKey(data)
	case "pkcs8":
		material, err = x509.ParsePKCS8PrivateKey(data)
	}
	if err != nil {
		return nil, dataError("Invalid %s input.", strings.ToUpper(format))
	}
	return fit(material, name, curve)
}

// fit turns a key into that of the type which an algorithm uses, and refuses one of another algorithm.
func fit(material any, name, curve string) (any, error) {
	wrong := dataError("The key is not one of %s.", name)
	switch m := material.(type) {
	case *ecdsa.PrivateKey:
		if m.Curve.Params().Name != curve {
			return nil, wrong
		}
		if name == "ECDH" {
			return m.ECDH()
		}
	case *ecdsa.PublicKey:
		if m.Curve.Params().Name != curve {
			return nil, wrong
		}
		if name == "ECDH" {
			return m.ECDH()
		}
	case *ecdh.PrivateKey:
		if name != "X25519" {
			return nil, wrong
		}
	case *ecdh.PublicKey:
		if name != "X25519" {
			return nil, wrong
		}
	case ed25519.PrivateKey, ed25519.PublicKey:
		if name != "Ed25519" && name != "NODE-ED25519" {
			return nil, wrong
		}
	case *rsa.PrivateKey, *rsa.PublicKey:
		if !strings.HasPrefix(name, "RSA") {
			return nil, wrong
		}
	default:
		return nil, wrong
	}
	return material, nil
}

func rawPublic(data []byte, name, curve string) (any, error) {
	var material any
	var err error
	switch name {
	case "ECDSA":
		c, _, _ := curveOf(curve)
		material, err = ecdsa.ParseUncompressedPublicKey(c, data)
	case "ECDH":
		_, c, _ := curveOf(curve)
		material, err = c.NewPublicKey(data)
	case "X25519":
		material, err = ecdh.X25519().NewPublicKey(data)
	case "Ed25519", "NODE-ED25519":
		if len(data) != ed25519.PublicKeySize {
			return nil, dataError("%s raw keys must be exactly 32-bytes (provided %d).", name, len(data))
		}
		return ed25519.PublicKey(data), nil
	default:
		return nil, &domError{"NotSupportedError", "Unrecognized key import format \"raw\"."}
	}
	if err != nil {
		return nil, dataError("Failed to import raw EC key data: Point is not on curve..")
	}
	return material, nil
}

// encodeKey writes a key in a format of bytes.
func encodeKey(format string, k *cryptoKey) ([]byte, error) {
	unsupported := &domError{"NotSupportedError", "Unimplemented key export format \"" + format + "\"."}
	switch format {
	case "raw":
		switch m := k.material.(type) {
		case []byte:
			return append([]byte{}, m...), nil
		case *ecdsa.PublicKey:
			return m.Bytes()
		case *ecdh.PublicKey:
			return m.Bytes(), nil
		case ed25519.PublicKey:
			return append([]byte{}, m...), nil
		}
		what := k.algorithm.name
		if k.algorithm.curve != "" {
			what = "elliptic curve"
		}
		return nil, &domError{"InvalidAccessError", "Raw export of " + what + " keys is only allowed for public keys."}
	case "spki":
		if k.kind == "secret" {
			return nil, unsupported
		}
		if k.kind != "public" {
			return nil, &domError{"InvalidAccessError", "Asymmetric spki export requires public key (not \"private\")."}
		}
		return x509.MarshalPKIXPublicKey(k.material)
	case "pkcs8":
		if k.kind == "secret" {
			return nil, unsupported
		}
		if k.kind != "private" {
			return nil, &domError{"InvalidAccessError", "Asymmetric pkcs8 export requires private key (not \"public\")."}
		}
		return x509.MarshalPKCS8PrivateKey(k.material)
	}
	return nil, unsupported
}

// jwkFields are those of a JSON Web Key, in workerd's order.
const jwkFields = "kty use key_ops alg ext crv x y d n e p q dp dq qi oth k pub priv"

func encode64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// jwkOf writes a key as JSON Web Key.
func (r *Realm) jwkOf(k *cryptoKey) *goja.Object {
	fields := map[string]any{"key_ops": k.usages, "ext": k.extractable}
	if alg := jwkAlgorithm(k.algorithm); alg != "" {
		fields["alg"] = alg
	}
	switch m := k.material.(type) {
	case []byte:
		fields["kty"], fields["k"] = "oct", encode64(m)
	case *rsa.PrivateKey:
		rsaFields(fields, &m.PublicKey)
		m.Precompute()
		fields["d"], fields["p"], fields["q"] = encode64(m.D.Bytes()), encode64(m.Primes[0].Bytes()), encode64(m.Primes[1].Bytes())
		fields["dp"], fields["dq"] = encode64(m.Precomputed.Dp.Bytes()), encode64(m.Precomputed.Dq.Bytes())
		fields["qi"] = encode64(m.Precomputed.Qinv.Bytes())
	case *rsa.PublicKey:
		rsaFields(fields, m)
	case ed25519.PrivateKey:
		fields["kty"], fields["crv"], fields["d"] = "OKP", "Ed25519", encode64(m.Seed())
		fields["x"] = encode64(m.Public().(ed25519.PublicKey))
	case ed25519.PublicKey:
		fields["kty"], fields["crv"], fields["x"] = "OKP", "Ed25519", encode64(m)
	default:
		curveFields(fields, k)
	}
	o := r.rt.NewObject()
	for name := range strings.FieldsSeq(jwkFields) {
		v := fields[name]
		if usages, ok := v.([]string); ok {
			list := make([]any, len(usages))
			for n, u := range usages {
				list[n] = u
			}
			v = r.rt.NewArray(list...)
		}
		if v == nil {
			if !r.dated.structs {
				continue
			}
			v = goja.Undefined()
		}
		_ = o.Set(name, v)
	}
	return o
}

func rsaFields(fields map[string]any, k *rsa.PublicKey) {
	fields["kty"], fields["n"], fields["e"] = "RSA", encode64(k.N.Bytes()), encode64(big.NewInt(int64(k.E)).Bytes())
}

// curveFields are those of a key on a curve.
func curveFields(fields map[string]any, k *cryptoKey) {
	var point, scalar []byte
	switch m := k.material.(type) {
	case *ecdsa.PrivateKey:
		point, _ = m.PublicKey.Bytes()
		scalar, _ = m.Bytes()
	case *ecdsa.PublicKey:
		point, _ = m.Bytes()
	case *ecdh.PrivateKey:
		point, scalar = m.PublicKey().Bytes(), m.Bytes()
	case *ecdh.PublicKey:
		point = m.Bytes()
	}
	if k.algorithm.name == "X25519" {
		fields["kty"], fields["crv"], fields["x"] = "OKP", "X25519", encode64(point)
	} else if len(point) > 1 {
		half := (len(point) - 1) / 2
		fields["kty"], fields["crv"] = "EC", k.algorithm.curve
		fields["x"], fields["y"] = encode64(point[1:1+half]), encode64(point[1+half:])
	}
	if scalar != nil {
		fields["d"] = encode64(scalar)
	}
}

func jwkAlgorithm(a keyAlgorithm) string {
	hash := strings.TrimPrefix(a.hash, "SHA-")
	switch a.name {
	case "HMAC":
		return "HS" + hash
	case "AES-GCM", "AES-CBC", "AES-CTR", "AES-KW":
		return fmt.Sprintf("A%d%s", a.length, strings.TrimPrefix(a.name, "AES-"))
	case "RSASSA-PKCS1-v1_5":
		return "RS" + hash
	case "RSA-PSS":
		return "PS" + hash
	case "RSA-OAEP":
		if hash == "1" {
			return "RSA-OAEP"
		}
		return "RSA-OAEP-" + hash
	case "Ed25519":
		return "EdDSA"
	}
	return ""
}

// jwkBytes decodes a field; it is nil when that is missing.
func (r *Realm) jwkBytes(jwk *goja.Object, field string) []byte {
	v := jwk.Get(field)
	if isNullish(v) {
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(r.text(v), "="))
	if err != nil {
		r.throwDOM("DataError", "Invalid base64url in the field \""+field+"\" of a JSON Web Key.")
	}
	return b
}

func (r *Realm) keyType(jwk *goja.Object, name, want string) {
	kty := "undefined"
	if v := jwk.Get("kty"); !isNullish(v) {
		kty = r.text(v)
	}
	if kty != want {
		r.throwDOM("DataError", fmt.Sprintf("%s \"jwk\" key import requires a JSON Web Key with Key Type parameter (\"kty\") equal to "+
			"\"%s\" (encountered \"%s\").", name, want, kty))
	}
}

func (r *Realm) secretOfJWK(jwk *goja.Object, p parameters) []byte {
	r.keyType(jwk, p.name, "oct")
	b := r.jwkBytes(jwk, "k")
	if b == nil {
		r.throwDOM("DataError", p.name+" \"jwk\" key import requires a base64Url encoding of the key")
	}
	if v := jwk.Get("alg"); p.name == "HMAC" && !isNullish(v) {
		_, hash := p.hash()
		if alg, want := r.text(v), jwkAlgorithm(keyAlgorithm{name: p.name, hash: hash}); alg != want {
			r.throwDOM("DataError", fmt.Sprintf("HMAC \"jwk\" key import specifies \"alg\" that is incompatible with the hash "+
				"name (encountered \"%s\", expected \"%s\").", alg, want))
		}
	}
	return b
}

func (r *Realm) materialOfJWK(jwk *goja.Object, p parameters) result {
	switch p.name {
	case "ECDSA", "ECDH":
		r.keyType(jwk, p.name, "EC")
		curve := p.curve()
		if v := jwk.Get("crv"); isNullish(v) || r.text(v) != curve {
			return result{err: dataError("The field \"crv\" of a JSON Web Key does not match the curve %s.", curve)}
		}
		return curveMaterial(p.name, curve, r.jwkBytes(jwk, "x"), r.jwkBytes(jwk, "y"), r.jwkBytes(jwk, "d"))
	case "Ed25519", "NODE-ED25519", "X25519":
		r.keyType(jwk, p.name, "OKP")
		return octetMaterial(p.name, r.jwkBytes(jwk, "x"), r.jwkBytes(jwk, "d"))
	}
	r.keyType(jwk, p.name, "RSA")
	n, e := r.jwkBytes(jwk, "n"), r.jwkBytes(jwk, "e")
	return rsaMaterial(n, e, r.jwkBytes(jwk, "d"), [2][]byte{r.jwkBytes(jwk, "p"), r.jwkBytes(jwk, "q")})
}

func curveMaterial(name, curve string, x, y, d []byte) result {
	c, _, _ := curveOf(curve)
	size := (c.Params().BitSize + 7) / 8
	point := make([]byte, 1+2*size)
	if len(x) > size || len(y) > size {
		return result{err: dataError("Invalid elliptic curve point in a JSON Web Key.")}
	}
	point[0] = 4
	copy(point[1+size-len(x):], x)
	copy(point[1+2*size-len(y):], y)
	public, err := ecdsa.ParseUncompressedPublicKey(c, point)
	if err != nil {
		return result{err: dataError("Invalid elliptic curve point in a JSON Web Key.")}
	}
	var material any = public
	if d != nil {
		private, err := ecdsa.ParseRawPrivateKey(c, d)
		if err != nil || !private.PublicKey.Equal(public) {
			return result{err: dataError("Invalid private key in a JSON Web Key.")}
		}
		material = private
	}
	material, err = fit(material, name, curve)
	return result{material, err}
}

func octetMaterial(name string, x, d []byte) result {
	if d == nil {
		m, err := rawPublic(x, name, "")
		return result{m, err}
	}
	if name == "X25519" {
		m, err := ecdh.X25519().NewPrivateKey(d)
		if err != nil {
			return result{err: dataError("Invalid private key in a JSON Web Key.")}
		}
		return result{material: m}
	}
	if len(d) != ed25519.SeedSize {
		return result{err: dataError("Invalid private key in a JSON Web Key.")}
	}
	return result{material: ed25519.NewKeyFromSeed(d)}
}

func rsaMaterial(n, e, d []byte, primes [2][]byte) result {
	exponent := new(big.Int).SetBytes(e)
	if n == nil || !exponent.IsInt64() || exponent.Int64() < 2 || exponent.Int64() > 1<<31-1 || 8*len(n) > 2*maxModulus {
		return result{err: dataError("Invalid RSA key in a JSON Web Key.")}
	}
	public := rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}
	if d == nil {
		return result{material: &public}
	}
	private := &rsa.PrivateKey{PublicKey: public, D: new(big.Int).SetBytes(d)}
	for _, p := range primes {
		if p == nil {
			return result{err: dataError("A private RSA key in a JSON Web Key needs its primes.")}
		}
		private.Primes = append(private.Primes, new(big.Int).SetBytes(p))
	}
	if err := private.Validate(); err != nil {
		return result{err: dataError("Invalid RSA key in a JSON Web Key.")}
	}
	private.Precompute()
	return result{material: private}
}

// keyWrapIV is that of RFC 3394.
const keyWrapIV = 0xa6a6a6a6a6a6a6a6

// wrapAES is the key wrap of RFC 3394.
func wrapAES(secret, data []byte) ([]byte, error) {
	if len(data) < 16 || len(data)%8 != 0 {
		return nil, operationError("AES-KW wraps keys of whole blocks of 8 bytes, at least two.")
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 8+len(data))
	copy(out[8:], data)
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], keyWrapIV)
	blocks := len(data) / 8
	for round := range 6 {
		for n := 1; n <= blocks; n++ {
			copy(b[8:], out[8*n:8*n+8])
			block.Encrypt(b[:], b[:])
			copy(out[8*n:], b[8:])
			binary.BigEndian.PutUint64(b[:8], binary.BigEndian.Uint64(b[:8])^uint64(blocks*round+n))
		}
	}
	copy(out, b[:8])
	return out, nil
}

func unwrapAES(secret, data []byte) ([]byte, error) {
	failed := operationError("AES-KW key unwrapping failed.")
	if len(data) < 24 || len(data)%8 != 0 {
		return nil, failed
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	out := append([]byte{}, data[8:]...)
	var b [16]byte
	copy(b[:8], data[:8])
	blocks := len(out) / 8
	for round := 5; round >= 0; round-- {
		for n := blocks; n >= 1; n-- {
			binary.BigEndian.PutUint64(b[:8], binary.BigEndian.Uint64(b[:8])^uint64(blocks*round+n))
			copy(b[8:], out[8*(n-1):8*n])
			block.Decrypt(b[:], b[:])
			copy(out[8*(n-1):], b[8:])
		}
	}
	var want [8]byte
	binary.BigEndian.PutUint64(want[:], keyWrapIV)
	if subtle.ConstantTimeCompare(b[:8], want[:]) != 1 {
		return nil, failed
	}
	return out, nil
}
