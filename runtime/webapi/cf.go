package webapi

import (
	"net/http"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
)

// properties are the cf of a Request or a Response: plain data, which is made at the first look.
type properties struct {
	// text is the JSON that value is made of, unless it is there.
	text  string
	value goja.Value
	// frozen is set for those that came with a request.
	frozen bool
}

// CF says what request.cf of an incoming request is, as JSON; empty for undefined. It is called when the script first looks,
// on the isolate's goroutine, and at most once a request.
type CF = func(in *http.Request) string

// carriedCF is the CF of a request that another script has sent.
func carriedCF(in *http.Request) string {
	if v := in.Header[sidecar.HeaderCF]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// cfOf returns a request's properties, or nil.
func (q *Request) cfOf() *properties {
	if q.lookCF != nil {
		if text := q.lookCF(q.origin); text != "" {
			q.cf = &properties{text: text, frozen: true}
		}
		q.lookCF = nil
	}
	return q.cf
}

// view is the value of the attribute: the same one at each look.
func (p *properties) view(r *Realm) goja.Value {
	if p == nil {
		return goja.Undefined()
	}
	if p.value == nil {
		p.value = r.isolate.ParseJSON(p.text)
		if p.frozen {
			r.freeze(p.value)
		}
	}
	return p.value
}

// json is what the properties are by now.
func (p *properties) json(r *Realm) string {
	if p.value != nil && !p.frozen {
		return r.jsonOf(p.value)
	}
	return p.text
}

// copied returns properties of the same content for another object.
func (p *properties) copied(r *Realm) *properties {
	if p == nil {
		return nil
	}
	return &properties{text: p.json(r)}
}

// newProperties takes the member cf of a dictionary, which is copied as JSON.
func (r *Realm) newProperties(v goja.Value, dictionary string) *properties {
	if _, ok := v.(*goja.Object); !ok {
		r.throwType("Incorrect type for the 'cf' field on '%s': the provided value is not of type 'Object'.", dictionary)
	}
	return &properties{text: r.jsonOf(v)}
}

// jsonOf is JSON.stringify of an object. It throws where that gives no text.
func (r *Realm) jsonOf(v goja.Value) string {
	text, ok := r.call(r.intrinsic.jsonStringify, goja.Undefined(), v).(goja.String)
	if !ok {
		r.isolate.Throw("SyntaxError", "\"undefined\" is not valid JSON")
	}
	return text.String()
}

// copyCF takes the properties of another request.
func (q *Request) copyCF(r *Realm, from *Request) {
	q.cf, q.lookCF = from.cfOf().copied(r), nil
}

// packCF is how properties cross to another script: as JSON.
func (r *Realm) packCF(p *properties) v8value.Value {
	if p == nil {
		return v8value.Undefined{}
	}
	return p.json(r)
}

func (r *Realm) unpackCF(v v8value.Value) *properties {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	return &properties{text: text}
}

// freeze makes plain data, and what is in it, constant.
func (r *Realm) freeze(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok {
		return
	}
	for _, name := range o.Keys() {
		r.freeze(o.Get(name))
	}
	r.call(r.intrinsic.freeze, goja.Undefined(), o)
}
