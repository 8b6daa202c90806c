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
	"github.com/tandem-do/tandem/runtime/webapi"
)

// handle is what the script of ctx has of an object or a transaction.
type handle interface {
	// storage returns the object, and the context with which its storage is to be used at present. It throws where that
	// is not possible.
	storage() (*object, context.Context)
	// owner returns the object.
	owner() *object
}

func (o *object) owner() *object { return o }

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
func (p *operations) usable(operation string, h handle) {
	if t, ok := h.(*transaction); ok && t.ended != "" && (operation != "rollback" || t.ended != undoneText) {
		p.isolate.Throw("Error", t.ended, operation)
	}
}

func (t *transaction) owner() *object { return t.object }

func (t *transaction) storage() (*object, context.Context) {
	return t.object, &eventValues{Context: t.object.here().ctx, event: t.ctx}
}

// operations are the host's functions of storage for one isolate.
type operations struct {
	isolate *isolate.Isolate
	engine  *engine
}

// carried is a handle as the script of ctx passes it on.
type carried struct {
	goja.Value
	handle handle
}

func carry(h handle) goja.Value { return &carried{Value: goja.Undefined(), handle: h} }

// hostFunctions are what the script of ctx is built on. The first argument of each is an object with a handle.
func (p *operations) hostFunctions() map[string]func(goja.FunctionCall) goja.Value {
	functions := map[string]func(goja.FunctionCall) goja.Value{
		"list": p.list, "deleteAll": p.deleteAll,
		"getAlarm": p.getAlarm, "setAlarm": p.setAlarm, "deleteAlarm": p.deleteAlarm, "sync": p.sync,
		"transaction": p.transaction, "transactionSync": p.transactionSync, "rollback": p.rollback,
		"sqlite": p.sqlite, "waitUntil": p.waitUntil, "block": p.block, "abort": p.abort,
		"attach": p.attach, "handle": p.handle,
	}
	for _, operation := range []string{"list", "getAlarm", "setAlarm", "deleteAlarm", "rollback"} {
		f := functions[operation]
		functions[operation] = func(call goja.FunctionCall) goja.Value {
			p.usable(operation, p.handleOf(call))
			return f(call)
		}
	}
	return functions
}

// attach puts a handle behind an object.
func (p *operations) attach(call goja.FunctionCall) goja.Value {
	p.engine.realm.Attach(call.Argument(0).(*goja.Object), call.Argument(1).(*carried).handle)
	return goja.Undefined()
}

// handle gives the handle behind an object.
func (p *operations) handle(call goja.FunctionCall) goja.Value { return carry(p.handleOf(call)) }

// handleOf returns the handle behind the first argument.
func (p *operations) handleOf(call goja.FunctionCall) handle { return p.behind(call.Argument(0)) }

// behind returns the handle behind an object. It throws at anything else.
func (p *operations) behind(v goja.Value) handle {
	h, ok := p.engine.realm.Attached(v).(handle)
	if !ok {
		p.isolate.Throw("TypeError", webapi.IllegalInvocation)
	}
	return h
}

// objectOf returns the object of a handle, whatever turn it is in.
func (p *operations) objectOf(call goja.FunctionCall) *object { return p.handleOf(call).owner() }

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
	o, ctx := p.handleOf(call).storage()
	entries, err := o.state.Storage().List(ctx, opts)
	p.check(err)
	return p.flat(entries)
}

func (p *operations) deleteAll(call goja.FunctionCall) goja.Value {
	o, ctx := p.handleOf(call).storage()
	if p.isolate.Compatibility().Since("2026-02-24", "delete_all_deletes_alarm", "delete_all_preserves_alarm") {
		p.check(o.state.Storage().DeleteAll(ctx))
	} else {
		p.check(o.state.Storage().DeleteAllExceptAlarm(ctx))
	}
	return goja.Undefined()
}

func (p *operations) getAlarm(call goja.FunctionCall) goja.Value {
	o, ctx := p.handleOf(call).storage()
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
	o, ctx := p.handleOf(call).storage()
	p.check(o.state.Storage().SetAlarm(ctx, time.UnixMilli(int64(millis)), putOptions(call.Argument(2).ToInteger())))
	return goja.Undefined()
}

func (p *operations) deleteAlarm(call goja.FunctionCall) goja.Value {
	o, ctx := p.handleOf(call).storage()
	p.check(o.state.Storage().DeleteAlarm(ctx, putOptions(call.Argument(1).ToInteger())))
	return goja.Undefined()
}

func (p *operations) sqlite(call goja.FunctionCall) goja.Value {
	return p.isolate.Runtime().ToValue(p.objectOf(call).class.SQLite)
}
