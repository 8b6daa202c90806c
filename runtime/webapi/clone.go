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
	q, isRequest := r.request.of(o)
	p, isResponse := r.response.of(o)
	switch {
	case isRequest && q.null:
		return &remade{r.cloneRequest(q)}, true
	case isResponse && p.null:
		return &remade{r.cloneResponse(p)}, true
	case isRequest, isResponse:
		r.throwDOM("DataCloneError", "ReadableStream can only be serialized for RPC.")
	}
	return nil, false
}

// clone is structuredClone. What options name to be transferred is taken from where it was.
func (r *Realm) clone(v, options goja.Value) goja.Value {
	var transfer []goja.ArrayBuffer
	if o, ok := options.(*goja.Object); ok && !isMissing(o.Get("transfer")) {
		if list, ok := o.Get("transfer").(*goja.Object); !ok || r.kindOf(list) != kindArray {
			r.throwType("Incorrect type for the 'transfer' field on 'StructuredCloneOptions': the provided value is not of type " +
				"'Array'.")
		}
		r.rt.ForOf(o.Get("transfer"), func(item goja.Value) bool {
			o, ok := item.(*goja.Object)
			if !ok || r.kindOf(o) != kindArrayBuffer {
				r.throwType("Object is not transferable")
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
