package webapi

import (
	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/v8value"
)

// remade is a copy of an object of the platform that structuredClone has made already.
type remade struct{ object *goja.Object }

// cloneHost copies what structuredClone can copy of the platform.
func (r *Realm) cloneHost(o *goja.Object) (v8value.Value, bool) {
	if h, ok := r.headers.of(o); ok {
		return &remade{r.headers.wrap(h.clone())}, true
	}
	if b, ok := r.blob.of(o); ok {
		copied := *b
		if b.file {
			return &remade{r.file.wrap(&copied)}, true
		}
		return &remade{r.blob.wrap(&copied)}, true
	}
	_, isRequest := r.request.of(o)
	if _, isResponse := r.response.of(o); isRequest || isResponse {
		r.throwDOM("DataCloneError", "ReadableStream can only be serialized for RPC.")
	}
	return nil, false
}

// clone is structuredClone. What options name to be transferred is taken from where it was.
func (r *Realm) clone(v, options goja.Value) goja.Value {
	var transfer []goja.ArrayBuffer
	if o, ok := options.(*goja.Object); ok && !isNullish(o.Get("transfer")) {
		r.rt.ForOf(o.Get("transfer"), func(item goja.Value) bool {
			o, ok := item.(*goja.Object)
			if !ok || r.kindOf(o) != kindArrayBuffer {
				r.throwDOM("DataCloneError", "Object is not transferable.")
			}
			transfer = append(transfer, o.Export().(goja.ArrayBuffer))
			return true
		})
	}
	tree := r.Serialize(v, SerializeOptions{Host: r.cloneHost})
	for _, b := range transfer {
		b.Detach()
	}
	return r.Deserialize(tree, DeserializeOptions{Host: func(v v8value.Value) (goja.Value, bool) {
		made, ok := v.(*remade)
		if !ok {
			return nil, false
		}
		return made.object, true
	}})
}

func (r *Realm) structuredClone(call goja.FunctionCall) goja.Value {
	if len(call.Arguments) == 0 {
		r.throwType("Failed to execute 'structuredClone' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'Value'.")
	}
	return r.clone(call.Argument(0), call.Argument(1))
}
