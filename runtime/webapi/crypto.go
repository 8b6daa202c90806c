package webapi

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/dop251/goja"
)

// maxRandomBytes is the most that crypto.getRandomValues gives at once, as on the web.
const maxRandomBytes = 65536

// cryptoObject is what is behind crypto.
type cryptoObject struct{ internal }

// installCrypto defines crypto.
func (r *Realm) installCrypto() error {
	c := newClass[*cryptoObject](r, "Crypto", nil)
	r.cryptoClass = c
	c.method("getRandomValues", func(_ *cryptoObject, call goja.FunctionCall) goja.Value { return r.getRandomValues(call) })
	c.method("randomUUID", func(_ *cryptoObject, call goja.FunctionCall) goja.Value { return r.randomUUID(call) })
	if err := r.installSubtle(); err != nil {
		return err
	}
	if err := c.install(); err != nil {
		return err
	}
	return r.isolate.DefineGlobal("crypto", c.wrap(&cryptoObject{}))
}

func (r *Realm) random(b []byte) {
	if _, err := io.ReadFull(r.isolate.Random(), b); err != nil {
		r.isolate.Throw("Error", "no random bytes")
	}
}

func (r *Realm) getRandomValues(call goja.FunctionCall) goja.Value {
	r.requireEvent()
	v := call.Argument(0)
	b, ok := r.bytesOf(v)
	o, _ := v.(*goja.Object)
	if !ok {
		r.throwType("Failed to execute 'getRandomValues' on 'Crypto': parameter 1 is not of type 'ArrayBufferView'.")
	}
	if !integerArrays[r.tagOf(o)] {
		r.throwDOM("TypeMismatchError", "ArrayBufferView argument to getRandomValues() must be an integer-typed view.")
	}
	if len(b) > maxRandomBytes {
		r.throwDOM("QuotaExceededError", fmt.Sprintf("getRandomValues() only accepts buffers of size <= 64K but provided %d "+
			"bytes.", len(b)))
	}
	r.random(b)
	return v
}

var integerArrays = map[string]bool{
	"Int8Array": true, "Uint8Array": true, "Uint8ClampedArray": true, "Int16Array": true, "Uint16Array": true,
	"Int32Array": true, "Uint32Array": true, "BigInt64Array": true, "BigUint64Array": true,
}

func (r *Realm) randomUUID(goja.FunctionCall) goja.Value {
	r.requireEvent()
	var b [16]byte
	r.random(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var out [36]byte
	hex.Encode(out[0:8], b[0:4])
	hex.Encode(out[9:13], b[4:6])
	hex.Encode(out[14:18], b[6:8])
	hex.Encode(out[19:23], b[8:10])
	hex.Encode(out[24:36], b[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return r.rt.ToValue(string(out[:]))
}
