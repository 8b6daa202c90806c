package env

import (
	"fmt"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// Use is what a value is encoded for.
type Use int

const (
	// ForStorage keeps instances of classes as plain objects.
	ForStorage Use = iota
	// ForCall refuses instances of classes, and more than 32 MiB.
	ForCall
)

// maxCallBytes bounds the arguments or the result of a call. Like workerd.
const maxCallBytes = 32 << 20

// Encode serializes a value in V8's format. It throws a DataCloneError at what cannot be.
func Encode(r *webapi.Realm, v goja.Value, use Use) []byte {
	o := webapi.SerializeOptions{}
	if use == ForCall {
		o = webapi.SerializeOptions{PlainOnly: true}
	}
	return encode(r, r.Serialize(v, o), use)
}

func encode(r *webapi.Realm, tree v8value.Value, use Use) []byte {
	b, err := v8value.Encode(tree)
	if err != nil {
		r.Isolate().Throw("Error", "value cannot be serialized: %s", err)
	}
	if use == ForCall && len(b) > maxCallBytes {
		r.Isolate().Throw("Error", "Serialized RPC arguments or return values are limited to 32MiB, but the size of "+
			"this value was: %d bytes.", len(b))
	}
	return b
}

// Decode makes a value of what Encode wrote, here or in another script.
func Decode(r *webapi.Realm, b []byte) (v goja.Value, err error) {
	if len(b) == 0 {
		return goja.Undefined(), nil
	}
	tree, err := v8value.Decode(b)
	if err != nil {
		return nil, fmt.Errorf("value cannot be deserialized: %w", err)
	}
	return r.Deserialize(tree, webapi.DeserializeOptions{}), nil
}
