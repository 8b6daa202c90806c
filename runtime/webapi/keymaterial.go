package webapi

import "github.com/dop251/goja"

// KeyMaterial returns what is in a CryptoKey, extractable or not: []byte for a secret, which must not be changed, and
// otherwise a key of Go's crypto packages. It reports false for what is no CryptoKey.
func (r *Realm) KeyMaterial(v goja.Value) (material any, extractable, ok bool) {
	k, ok := r.cryptoKey.of(v)
	if !ok {
		return nil, false, false
	}
	return k.material, k.extractable, true
}
