package kvapi

import (
	"context"

	"github.com/dop251/goja"

	protokv "github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/runtime/binding/kv"
)

// content is what was read of a stream that a script puts.
type content struct {
	data []byte
	// length goes on being counted when there is too much, and data is dropped.
	length int64
}

// add takes a chunk, and reports whether the next one is wanted.
func (c *content) add(chunk []byte) bool {
	c.length += int64(len(chunk))
	if c.length > protokv.MaxValueBytes {
		c.data = nil
		return false
	}
	c.data = append(c.data, chunk...)
	return true
}

// content(handle) makes what append fills.
func (c *class) content(goja.FunctionCall) goja.Value {
	return c.realm.Isolate().Runtime().ToValue(&content{})
}

// append(content, chunk) takes a string or a Uint8Array, and reports whether more is wanted.
func (c *class) append(call goja.FunctionCall) goja.Value {
	to := call.Argument(0).Export().(*content)
	return c.realm.Isolate().Runtime().ToValue(to.add(bytesOf(call.Argument(1))))
}

// bytesOf returns the bytes of a string or of a Uint8Array, which belong to the script.
func bytesOf(v goja.Value) []byte {
	if b, ok := v.Export().([]byte); ok {
		return b
	}
	return []byte(v.String())
}

// put(handle, key, value, expiration, expirationTtl, metadata): the value is a string, a Uint8Array or a content.
func (c *class) put(call goja.FunctionCall) goja.Value {
	i := c.realm.Isolate()
	i.RequireEvent()
	n, key := handleOf(call), keyOf(call.Argument(1))
	value, ok := call.Argument(2).Export().(*content)
	if !ok {
		value = &content{}
		value.add(bytesOf(call.Argument(2)))
	}
	o := kv.WriteOptions{
		Expiration: integer(call.Argument(3)), TTL: integer(call.Argument(4)), Metadata: optional(call.Argument(5)),
	}
	c.demand(n.CheckLength(value.length))
	place := n.take(key)
	return i.Go(func(ctx context.Context) func() (goja.Value, error) {
		defer place.End()
		err := n.Put(place.Begin(ctx), key, value.data, o)
		return func() (goja.Value, error) {
			if err != nil {
				return nil, c.rejection(err)
			}
			return goja.Undefined(), nil
		}
	})
}

// delete(handle, key).
func (c *class) delete(call goja.FunctionCall) goja.Value {
	i := c.realm.Isolate()
	i.RequireEvent()
	n, key := handleOf(call), keyOf(call.Argument(1))
	place := n.take(key)
	return i.Go(func(ctx context.Context) func() (goja.Value, error) {
		defer place.End()
		err := n.Delete(place.Begin(ctx), key)
		return func() (goja.Value, error) {
			if err != nil {
				return nil, c.rejection(err)
			}
			return goja.Undefined(), nil
		}
	})
}
