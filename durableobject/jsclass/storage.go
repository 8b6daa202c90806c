package jsclass

import (
	"context"
	"errors"
	"time"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// handle is what the script of ctx has of an object or a transaction.
type handle interface {
	// storage returns the object, and the context with which its storage is to be used at present. It throws where that
	// is not possible.
	storage() (*object, context.Context)
}

func (o *object) storage() (*object, context.Context) { return o, o.here().ctx }

// transaction is the txn of storage.transaction.
type transaction struct {
	object *object
	// ctx is that of the transaction's function, which says which transaction it is.
	ctx context.Context
	// ended says how it ended; empty while it is open. It is the isolate's goroutine's.
	ended string
}

// Ends of transactions, as the texts that an operation then fails with.
const (
	committedText = "Cannot call %s() on transaction that has already committed: did you move `txn` outside of the closure?"
	undoneText    = "Cannot %s() on rolled back transaction"
)

// usable throws when an operation is one of a transaction that has ended.
func (p *operations) usable(operation string, call goja.FunctionCall) {
	if t, ok := handleOf(call).(*transaction); ok && t.ended != "" && (operation != "rollback" || t.ended != undoneText) {
		p.isolate.Throw("Error", t.ended, operation)
	}
}

func (t *transaction) storage() (*object, context.Context) {
	return t.object, &eventValues{Context: t.object.here().ctx, event: t.ctx}
}

// operations are the host's functions of storage for one isolate.
type operations struct {
	isolate *isolate.Isolate
	engine  *engine
}

// hostFunctions are what the script of ctx is built on. The first argument of each is a handle.
func hostFunctions(i *isolate.Isolate, g *engine) map[string]func(goja.FunctionCall) goja.Value {
	p := &operations{isolate: i, engine: g}
	functions := map[string]func(goja.FunctionCall) goja.Value{
		"get": p.get, "getMany": p.getMany, "put": p.put, "delete": p.delete, "list": p.list, "deleteAll": p.deleteAll,
		"getAlarm": p.getAlarm, "setAlarm": p.setAlarm, "deleteAlarm": p.deleteAlarm, "sync": p.sync,
		"transaction": p.transaction, "transactionSync": p.transactionSync, "rollback": p.rollback,
		"sqlite": p.sqlite, "waitUntil": p.waitUntil, "block": p.block, "abort": p.abort,
	}
	for name, operation := range map[string]string{
		"get": "get", "getMany": "get", "put": "put", "delete": "delete", "list": "list", "getAlarm": "getAlarm",
		"setAlarm": "setAlarm", "deleteAlarm": "deleteAlarm", "rollback": "rollback",
	} {
		f := functions[name]
		functions[name] = func(call goja.FunctionCall) goja.Value {
			p.usable(operation, call)
			return f(call)
		}
	}
	return functions
}

func handleOf(call goja.FunctionCall) handle { return call.Argument(0).Export().(handle) }

// objectOf returns the object of a handle, whatever turn it is in.
func objectOf(call goja.FunctionCall) *object {
	switch h := handleOf(call).(type) {
	case *object:
		return h
	case *transaction:
		return h.object
	}
	return nil
}

// check throws an error of storage.
func (p *operations) check(err error) {
	if err == nil {
		return
	}
	if fault, ok := errors.AsType[*storage.Error](err); ok {
		p.isolate.Throw(fault.Class, "%s", fault.Message)
	}
	if known, ok := errors.AsType[*sidecar.Error](err); ok {
		panic(env.ErrorValue(p.engine.realm, known))
	}
	if errors.Is(err, storage.ErrClosed) {
		err = storage.ErrClosed
	}
	p.isolate.Throw("Error", "%s", err)
}

// The bits of options.
const (
	flagUnconfirmed = 1 << iota
	flagNoCache
	flagConcurrency
)

func putOptions(v goja.Value) storage.PutOptions {
	f := v.ToInteger()
	return storage.PutOptions{
		AllowUnconfirmed: f&flagUnconfirmed != 0, NoCache: f&flagNoCache != 0, AllowConcurrency: f&flagConcurrency != 0,
	}
}

func getOptions(v goja.Value) storage.GetOptions {
	f := v.ToInteger()
	return storage.GetOptions{NoCache: f&flagNoCache != 0, AllowConcurrency: f&flagConcurrency != 0}
}

// items returns the elements of an array that the script of ctx made.
func (p *operations) items(v goja.Value) []goja.Value {
	var out []goja.Value
	p.isolate.Runtime().ForOf(v, func(item goja.Value) bool {
		out = append(out, item)
		return true
	})
	return out
}

func (p *operations) keys(v goja.Value) []string {
	items := p.items(v)
	keys := make([]string, len(items))
	for n, item := range items {
		keys[n] = item.String()
	}
	return keys
}

func (p *operations) value(b []byte) goja.Value {
	v, err := env.Decode(p.engine.realm, b)
	p.check(err)
	return v
}

// flat makes an array of keys and values in turns.
func (p *operations) flat(entries []storage.Entry) goja.Value {
	out := make([]any, 0, 2*len(entries))
	for _, e := range entries {
		out = append(out, e.Key, p.value(e.Value))
	}
	return p.isolate.Runtime().NewArray(out...)
}

func (p *operations) get(call goja.FunctionCall) goja.Value {
	o, ctx := handleOf(call).storage()
	b, ok, err := o.state.Storage().Get(ctx, call.Argument(1).String(), getOptions(call.Argument(2)))
	p.check(err)
	if !ok {
		return goja.Undefined()
	}
	return p.value(b)
}

func (p *operations) getMany(call goja.FunctionCall) goja.Value {
	keys := p.keys(call.Argument(1))
	o, ctx := handleOf(call).storage()
	entries, err := o.state.Storage().GetMany(ctx, keys, getOptions(call.Argument(2)))
	p.check(err)
	return p.flat(entries)
}

func (p *operations) put(call goja.FunctionCall) goja.Value {
	flat := p.items(call.Argument(1))
	entries := make([]storage.Entry, 0, len(flat)/2)
	for n := 0; n+1 < len(flat); n += 2 {
		entries = append(entries, storage.Entry{
			Key: flat[n].String(), Value: env.Encode(p.engine.realm, flat[n+1], env.ForStorage),
		})
	}
	o, ctx := handleOf(call).storage()
	p.check(o.state.Storage().Put(ctx, entries, putOptions(call.Argument(2))))
	return goja.Undefined()
}

func (p *operations) delete(call goja.FunctionCall) goja.Value {
	keys := p.keys(call.Argument(1))
	o, ctx := handleOf(call).storage()
	count, err := o.state.Storage().Delete(ctx, keys, putOptions(call.Argument(2)))
	p.check(err)
	return p.isolate.Runtime().ToValue(count)
}

func (p *operations) list(call goja.FunctionCall) goja.Value {
	in := call.Argument(1).(*goja.Object)
	text := func(name string) *string {
		v := in.Get(name)
		if v == nil || goja.IsUndefined(v) {
			return nil
		}
		s := v.String()
		return &s
	}
	opts := storage.ListOptions{Start: text("start"), StartAfter: text("startAfter"), End: text("end")}
	if prefix := text("prefix"); prefix != nil {
		opts.Prefix = *prefix
	}
	if v := in.Get("reverse"); v != nil {
		opts.Reverse = v.ToBoolean()
	}
	if v := in.Get("limit"); v != nil {
		opts.Limit = int(v.ToInteger())
	}
	o, ctx := handleOf(call).storage()
	entries, err := o.state.Storage().List(ctx, opts)
	p.check(err)
	return p.flat(entries)
}

func (p *operations) deleteAll(call goja.FunctionCall) goja.Value {
	o, ctx := handleOf(call).storage()
	if p.isolate.Compatibility().Since("2026-02-24", "delete_all_deletes_alarm", "delete_all_preserves_alarm") {
		p.check(o.state.Storage().DeleteAll(ctx))
	} else {
		p.check(o.state.Storage().DeleteAllExceptAlarm(ctx))
	}
	return goja.Undefined()
}

func (p *operations) getAlarm(call goja.FunctionCall) goja.Value {
	o, ctx := handleOf(call).storage()
	at, ok, err := o.state.Storage().Alarm(ctx)
	p.check(err)
	if !ok {
		return goja.Null()
	}
	return p.isolate.Runtime().ToValue(at.UnixMilli())
}

// maxDateMillis is the last millisecond that a Date can hold.
const maxDateMillis = 8.64e15

func (p *operations) setAlarm(call goja.FunctionCall) goja.Value {
	millis := call.Argument(1).ToFloat()
	if !(millis <= maxDateMillis && millis >= -maxDateMillis) {
		p.isolate.Throw("TypeError", "The value cannot be converted because it is not a valid Date.")
	}
	o, ctx := handleOf(call).storage()
	p.check(o.state.Storage().SetAlarm(ctx, time.UnixMilli(int64(millis)), putOptions(call.Argument(2))))
	return goja.Undefined()
}

func (p *operations) deleteAlarm(call goja.FunctionCall) goja.Value {
	o, ctx := handleOf(call).storage()
	p.check(o.state.Storage().DeleteAlarm(ctx, putOptions(call.Argument(1))))
	return goja.Undefined()
}

func (p *operations) sqlite(call goja.FunctionCall) goja.Value {
	return p.isolate.Runtime().ToValue(objectOf(call).class.SQLite)
}
