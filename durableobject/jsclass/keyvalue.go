package jsclass

import (
	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/runtime/env"
)

// The methods get, put and delete of storage, of its transactions and of storage.kv are called for nearly each event:
// they are functions of the host's, without one of the script's around them.

// Texts of arguments that are wrong. Like workerd.
const (
	missingText = "Failed to execute '%s' on '%s': parameter %d is not of type '%s'."
	putText     = "put() may only be called with a single key-value pair and optional options as put(key, value, options) " +
		"or with multiple key-value pairs and optional options as put(entries, options)"
	undefinedText = "put() called with undefined value."
)

// operationMethods are the methods of storage and of its transactions, which return promises.
func (p *operations) operationMethods() map[string]func(goja.FunctionCall) goja.Value {
	methods := map[string]func(goja.FunctionCall) goja.Value{"get": p.get, "put": p.put, "delete": p.delete}
	for name, f := range methods {
		methods[name] = func(call goja.FunctionCall) goja.Value {
			return p.isolate.Async(func() goja.Value { return f(call) })
		}
	}
	return methods
}

// kvMethods are those of storage.kv, which return values.
func (p *operations) kvMethods() map[string]func(goja.FunctionCall) goja.Value {
	return map[string]func(goja.FunctionCall) goja.Value{"get": p.kvGet, "put": p.kvPut, "delete": p.kvDelete}
}

// className is the name of the class of a handle's object.
func className(h handle) string {
	if _, ok := h.(*transaction); ok {
		return "DurableObjectTransaction"
	}
	return "DurableObjectStorage"
}

func (p *operations) missing(method, owner string, n int, kind string) {
	p.isolate.Throw("TypeError", missingText, method, owner, n, kind)
}

// The bits of options.
const (
	flagUnconfirmed = 1 << iota
	flagNoCache
	flagConcurrency
)

// flags are the options of a read or a write as bits.
func flags(v goja.Value) (f int64) {
	o, ok := v.(*goja.Object)
	if !ok {
		return 0
	}
	for n, name := range [...]string{"allowUnconfirmed", "noCache", "allowConcurrency"} {
		if set := o.Get(name); set != nil && set.ToBoolean() {
			f |= 1 << n
		}
	}
	return f
}

func getOptions(f int64) storage.GetOptions {
	return storage.GetOptions{NoCache: f&flagNoCache != 0, AllowConcurrency: f&flagConcurrency != 0}
}

func putOptions(f int64) storage.PutOptions {
	return storage.PutOptions{
		AllowUnconfirmed: f&flagUnconfirmed != 0, NoCache: f&flagNoCache != 0, AllowConcurrency: f&flagConcurrency != 0,
	}
}

// text is what String makes of a value.
func text(v goja.Value) string {
	if s, ok := v.(*goja.Symbol); ok {
		return "Symbol(" + s.String() + ")"
	}
	return v.String()
}

// keys returns the elements of an array as keys, and reports whether it is one.
func (p *operations) keys(v goja.Value) ([]string, bool) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false
	}
	if is, err := p.engine.isArray(goja.Undefined(), o); err != nil || !is.ToBoolean() {
		return nil, false
	}
	keys := []string{}
	p.isolate.Runtime().ForOf(o, func(item goja.Value) bool {
		keys = append(keys, text(item))
		return true
	})
	return keys, true
}

func (p *operations) get(call goja.FunctionCall) goja.Value {
	h := p.behind(call.This)
	if len(call.Arguments) == 0 {
		p.missing("get", className(h), 1, "string or Array")
	}
	if keys, ok := p.keys(call.Arguments[0]); ok {
		return p.getMany(h, keys, flags(call.Argument(1)))
	}
	return p.getOne(h, text(call.Arguments[0]), flags(call.Argument(1)))
}

func (p *operations) getOne(h handle, key string, flags int64) goja.Value {
	p.usable("get", h)
	o, ctx := h.storage()
	b, ok, err := o.state.Storage().Get(ctx, key, getOptions(flags))
	p.check(err)
	if !ok {
		return goja.Undefined()
	}
	return p.value(b)
}

func (p *operations) getMany(h handle, keys []string, flags int64) goja.Value {
	p.usable("get", h)
	o, ctx := h.storage()
	entries, err := o.state.Storage().GetMany(ctx, keys, getOptions(flags))
	p.check(err)
	m, err := p.engine.toMap(goja.Undefined(), p.flat(entries))
	p.check(err)
	return m
}

func (p *operations) put(call goja.FunctionCall) goja.Value {
	h, first, second := p.behind(call.This), call.Argument(0), call.Argument(1)
	if goja.IsUndefined(first) || goja.IsNull(first) {
		p.missing("put", className(h), 1, "string or object")
	}
	o, ok := first.(*goja.Object)
	if !ok {
		if goja.IsUndefined(second) {
			p.isolate.Throw("TypeError", undefinedText)
		}
		return p.putOne(h, text(first), second, flags(call.Argument(2)))
	}
	if _, ok := second.(*goja.Object); !ok && !goja.IsUndefined(second) {
		p.isolate.Throw("TypeError", putText)
	}
	var values []goja.Value
	var entries []storage.Entry
	for _, key := range o.Keys() {
		if v := o.Get(key); v != nil && !goja.IsUndefined(v) {
			values, entries = append(values, v), append(entries, storage.Entry{Key: key})
		}
	}
	opts := putOptions(flags(second))
	p.usable("put", h)
	for n, v := range values {
		entries[n].Value = env.Encode(p.engine.realm, v, env.ForStorage)
	}
	return p.write(h, entries, opts)
}

func (p *operations) putOne(h handle, key string, v goja.Value, flags int64) goja.Value {
	p.usable("put", h)
	entry := [1]storage.Entry{{Key: key, Value: env.Encode(p.engine.realm, v, env.ForStorage)}}
	return p.write(h, entry[:], putOptions(flags))
}

func (p *operations) write(h handle, entries []storage.Entry, opts storage.PutOptions) goja.Value {
	o, ctx := h.storage()
	p.check(o.state.Storage().Put(ctx, entries, opts))
	return goja.Undefined()
}

func (p *operations) delete(call goja.FunctionCall) goja.Value {
	h := p.behind(call.This)
	if len(call.Arguments) == 0 {
		p.missing("delete", className(h), 1, "string or Array")
	}
	rt := p.isolate.Runtime()
	if keys, ok := p.keys(call.Arguments[0]); ok {
		return rt.ToValue(p.remove(h, keys, flags(call.Argument(1))))
	}
	return rt.ToValue(p.remove(h, []string{text(call.Arguments[0])}, flags(call.Argument(1))) > 0)
}

func (p *operations) remove(h handle, keys []string, flags int64) int {
	p.usable("delete", h)
	o, ctx := h.storage()
	count, err := o.state.Storage().Delete(ctx, keys, putOptions(flags))
	p.check(err)
	return count
}

// kvKey is the key of a method of storage.kv.
func (p *operations) kvKey(method string, call goja.FunctionCall) string {
	if len(call.Arguments) == 0 {
		p.missing(method, "SyncKvStorage", 1, "string")
	}
	return text(call.Arguments[0])
}

func (p *operations) kvGet(call goja.FunctionCall) goja.Value {
	h := p.behind(call.This)
	return p.getOne(h, p.kvKey("get", call), 0)
}

func (p *operations) kvPut(call goja.FunctionCall) goja.Value {
	h := p.behind(call.This)
	key := p.kvKey("put", call)
	if len(call.Arguments) < 2 {
		p.missing("put", "SyncKvStorage", 2, "Value")
	}
	return p.putOne(h, key, call.Argument(1), 0)
}

func (p *operations) kvDelete(call goja.FunctionCall) goja.Value {
	h := p.behind(call.This)
	return p.isolate.Runtime().ToValue(p.remove(h, []string{p.kvKey("delete", call)}, 0) > 0)
}
