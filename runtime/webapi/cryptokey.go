package webapi

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	_ "crypto/md5"
	"crypto/rsa"
	_ "crypto/sha1"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// cryptoKey is what is behind a CryptoKey.
type cryptoKey struct {
	internal
	// kind is secret, public or private.
	kind        string
	extractable bool
	usages      []string
	algorithm   keyAlgorithm
	// material is []byte for a secret, and otherwise a key of Go's crypto packages.
	material any
}

// keyAlgorithm is what a key is for. Fields that its name does not have are zero.
type keyAlgorithm struct {
	name, hash, curve string
	// length is in bits.
	length   int
	modulus  int
	exponent []byte
}

// algorithmUsages are the algorithms for keys, with the usages of a secret or private key and those of a public one.
func algorithmUsages() map[string][2][]string {
	sign, verify := []string{"sign"}, []string{"verify"}
	ciphers := [2][]string{{"encrypt", "decrypt", "wrapKey", "unwrapKey"}}
	derive := [2][]string{{"deriveKey", "deriveBits"}, {}}
	return map[string][2][]string{
		"HMAC": {{"sign", "verify"}}, "AES-GCM": ciphers, "AES-CBC": ciphers, "AES-CTR": ciphers,
		"AES-KW": {{"wrapKey", "unwrapKey"}}, "PBKDF2": derive, "HKDF": derive, "ECDH": derive, "X25519": derive,
		"ECDSA": {sign, verify}, "Ed25519": {sign, verify}, "NODE-ED25519": {sign, verify},
		"RSASSA-PKCS1-v1_5": {sign, verify}, "RSA-PSS": {sign, verify},
		"RSA-OAEP": {{"decrypt", "unwrapKey"}, {"encrypt", "wrapKey"}},
	}
}

// canonical finds an algorithm's name as it is written.
func canonical(name string) (string, bool) {
	for known := range algorithmUsages() {
		if strings.EqualFold(known, name) {
			return known, true
		}
	}
	return "", false
}

// hashOf finds a digest by its name.
func hashOf(name string) (crypto.Hash, string, bool) {
	switch upper := strings.ToUpper(name); upper {
	case "SHA-1":
		return crypto.SHA1, upper, true
	case "SHA-256":
		return crypto.SHA256, upper, true
	case "SHA-384":
		return crypto.SHA384, upper, true
	case "SHA-512":
		return crypto.SHA512, upper, true
	case "MD5":
		return crypto.MD5, upper, true
	}
	return 0, "", false
}

func curveOf(name string) (elliptic.Curve, ecdh.Curve, bool) {
	switch name {
	case "P-256":
		return elliptic.P256(), ecdh.P256(), true
	case "P-384":
		return elliptic.P384(), ecdh.P384(), true
	case "P-521":
		return elliptic.P521(), ecdh.P521(), true
	}
	return nil, nil, false
}

// parameters are an AlgorithmIdentifier: a name, and what an object adds to it.
type parameters struct {
	realm  *Realm
	name   string
	object *goja.Object
}

func (r *Realm) parameters(v goja.Value) parameters {
	p := parameters{realm: r}
	if o, ok := v.(*goja.Object); ok && o.ClassName() != "String" {
		p.object = o
		if name := o.Get("name"); !isMissing(name) {
			p.name = r.text(name)
		}
	} else if !isMissing(v) {
		p.name = r.text(v)
	}
	if known, ok := canonical(p.name); ok {
		p.name = known
	}
	return p
}

func (p parameters) get(field string) goja.Value {
	if p.object == nil {
		return goja.Undefined()
	}
	v := p.object.Get(field)
	if v == nil {
		return goja.Undefined()
	}
	return v
}

func (p parameters) missing(field string) {
	p.realm.throwType("Missing field \"%s\" in \"algorithm\".", field)
}

// hash is the digest that the field names.
func (p parameters) hash() (crypto.Hash, string) {
	v := p.get("hash")
	if isMissing(v) {
		p.missing("hash")
	}
	name := ""
	if o, ok := v.(*goja.Object); ok {
		name = p.realm.text(o.Get("name"))
	} else {
		name = p.realm.text(v)
	}
	h, known, ok := hashOf(name)
	if !ok {
		p.realm.throwDOM("NotSupportedError", "Unrecognized or unimplemented digest algorithm requested.")
	}
	return h, known
}

// bytes are those of a field, or nil when it is optional and missing.
func (p parameters) bytes(field string, optional bool) []byte {
	v := p.get(field)
	if isMissing(v) {
		if !optional {
			p.missing(field)
		}
		return nil
	}
	b, ok := p.realm.bytesOf(v)
	if !ok {
		p.realm.throwType("Incorrect type for the '%s' field on 'algorithm': the provided value is not of type 'BufferSource'.",
			field)
	}
	return append([]byte{}, b...)
}

// number is that of a field, or missing.
func (p parameters) number(field string, missing int) int {
	v := p.get(field)
	if isMissing(v) {
		if missing < 0 {
			p.missing(field)
		}
		return missing
	}
	return int(v.ToInteger())
}

func (p parameters) curve() string {
	v := p.get("namedCurve")
	if isMissing(v) {
		p.missing("namedCurve")
	}
	name := p.realm.text(v)
	if _, _, ok := curveOf(name); !ok {
		p.realm.throwDOM("NotSupportedError", "Unrecognized or unimplemented EC curve \""+name+"\" requested.")
	}
	return name
}

// require checks that a key is for an operation.
func (r *Realm) require(k *cryptoKey, p parameters, usage string) {
	if !strings.EqualFold(p.name, k.algorithm.name) {
		r.throwDOM("InvalidAccessError", "Requested algorithm \""+p.name+"\" does not match this CryptoKey's algorithm \""+
			k.algorithm.name+"\".")
	}
	if !slices.Contains(k.usages, usage) {
		r.throwDOM("InvalidAccessError", "Requested key usage \""+usage+"\" does not match any usage listed in this CryptoKey.")
	}
}

// usagesOf reads a list of usages, all of which the algorithm has to allow.
func (r *Realm) usagesOf(v goja.Value, name, kind, verb string) []string {
	allowed := algorithmUsages()[name][0]
	if kind == "public" {
		allowed = algorithmUsages()[name][1]
	}
	if kind == "pair" {
		allowed = slices.Concat(algorithmUsages()[name][0], algorithmUsages()[name][1])
	}
	var given []string
	r.rt.ForOf(v, func(item goja.Value) bool {
		given = append(given, r.text(item))
		return true
	})
	var out []string
	for _, usage := range given {
		if !slices.Contains(allowed, usage) {
			what := kind + " "
			if kind == "pair" {
				what = ""
			}
			r.throwDOM("SyntaxError", "Attempt to "+verb+" "+what+name+" key with invalid usage \""+usage+"\".")
		}
	}
	for _, usage := range allowed {
		if slices.Contains(given, usage) {
			out = append(out, usage)
		}
	}
	if kind != "public" && len(out) == 0 {
		r.throwDOM("SyntaxError", "Secret/private CryptoKeys must have at least one usage.")
	}
	return out
}

func (r *Realm) installCryptoKey() error {
	c := newClass[*cryptoKey](r, "CryptoKey", nil)
	r.cryptoKey = c
	return c.install()
}

// keyObject makes the CryptoKey of a key. Like workerd's, it has its attributes itself.
func (r *Realm) keyObject(k *cryptoKey) *goja.Object {
	o := r.cryptoKey.wrap(k)
	usages := make([]any, len(k.usages))
	for n, u := range k.usages {
		usages[n] = u
	}
	for _, field := range []struct {
		name  string
		value goja.Value
	}{
		{"usages", r.rt.NewArray(usages...)}, {"algorithm", r.algorithmView(k.algorithm)},
		{"extractable", r.rt.ToValue(k.extractable)}, {"type", r.rt.ToValue(k.kind)},
	} {
		_ = o.DefineDataProperty(field.name, field.value, goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	return o
}

func (r *Realm) algorithmView(a keyAlgorithm) *goja.Object {
	o := r.rt.NewObject()
	_ = o.Set("name", a.name)
	if a.modulus > 0 {
		_ = o.Set("modulusLength", a.modulus)
		_ = o.Set("publicExponent", r.newBytes(slices.Clone(a.exponent)))
	}
	if a.hash != "" {
		h := r.rt.NewObject()
		_ = h.Set("name", a.hash)
		_ = o.Set("hash", h)
	}
	if a.length > 0 {
		_ = o.Set("length", a.length)
	}
	if a.curve != "" {
		_ = o.Set("namedCurve", a.curve)
	}
	return o
}

// publicOf is the public half of a private key.
func publicOf(material any) any {
	switch k := material.(type) {
	case *ecdsa.PrivateKey:
		return &k.PublicKey
	case *ecdh.PrivateKey:
		return k.PublicKey()
	case ed25519.PrivateKey:
		return k.Public().(ed25519.PublicKey)
	case *rsa.PrivateKey:
		return &k.PublicKey
	}
	return material
}
