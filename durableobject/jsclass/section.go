package jsclass

import (
	"context"
	"errors"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// sync resolves when everything that was written before is on disk.
func (p *operations) sync(call goja.FunctionCall) goja.Value {
	o, _ := p.handleOf(call).storage()
	d := p.isolate.NewDeferred()
	o.state.WaitUntil(func(ctx context.Context) error {
		var err error
		if c := o.state.Storage().Last(); c != nil {
			err = c.Wait(ctx)
		}
		d.Settle(func() (goja.Value, error) { return goja.Undefined(), err })
		return nil
	})
	return d.Promise()
}

func (p *operations) waitUntil(call goja.FunctionCall) goja.Value {
	p.objectOf(call).context.WaitUntil(call.Argument(1))
	return goja.Undefined()
}

// abort resets the object, and stops its code at once.
func (p *operations) abort(call goja.FunctionCall) goja.Value {
	o := p.objectOf(call)
	var reason error
	if v := call.Argument(1); !goja.IsUndefined(v) {
		x := p.isolate.NewException(v)
		reason = &sidecar.Error{
			Reason: sidecar.ReasonBroken, Name: "Error", Message: x.Message, Retryable: x.Retryable, Overloaded: x.Overloaded,
		}
	}
	o.abort(reason, call.Argument(2).ToBoolean())
	p.isolate.Interrupt("the Durable Object was aborted")
	return goja.Undefined()
}

// block is ctx.blockConcurrencyWhile.
func (p *operations) block(call goja.FunctionCall) goja.Value {
	o := p.objectOf(call)
	callback, _ := goja.AssertFunction(call.Argument(1))
	t, d := o.here(), p.isolate.NewDeferred()
	t.requests = append(t.requests, func(ctx context.Context) {
		var value goja.Value
		err := o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
			return o.outward(o.section(ctx, func() (goja.Value, error) { return callback(goja.Undefined()) }, &value))
		})
		if err != nil {
			o.context.Close() // the object is broken, and the promise never settles
			return
		}
		o.turn(ctx, func() { d.SettleNow(func() (goja.Value, error) { return value, nil }) })
	})
	return d.Promise()
}

// transaction is storage.transaction.
func (p *operations) transaction(call goja.FunctionCall) goja.Value {
	o := p.objectOf(call)
	callback, _ := goja.AssertFunction(call.Argument(1))
	t, d := o.here(), p.isolate.NewDeferred()
	t.requests = append(t.requests, func(ctx context.Context) {
		var value goja.Value
		txn := &transaction{object: o}
		err := o.state.Storage().Transaction(ctx, func(ctx context.Context) error {
			txn.ctx = ctx
			return o.section(ctx, func() (goja.Value, error) {
				argument := p.isolate.Runtime().CreateObject(p.engine.transaction)
				p.engine.realm.Attach(argument, txn)
				return callback(goja.Undefined(), argument)
			}, &value)
		})
		o.turn(ctx, func() {
			d.SettleNow(func() (goja.Value, error) {
				txn.end(err)
				return value, p.rejection(err)
			})
		})
	})
	return d.Promise()
}

// rejection is what a promise is rejected with for an error of a transaction. It runs on the isolate's goroutine.
func (p *operations) rejection(err error) error {
	x, thrown := errors.AsType[*isolate.Exception](err)
	switch {
	case err == nil:
		return nil
	case thrown && x.Value != nil:
		return x
	}
	return env.Thrown(p.engine.realm, p.known(err))
}

// known gives an error of storage the class that it has for scripts.
func (p *operations) known(err error) error {
	if fault, ok := errors.AsType[*storage.Error](err); ok {
		return &sidecar.Error{Name: fault.Class, Message: fault.Message, Cause: err}
	}
	if e, ok := errors.AsType[*sidecar.Error](err); ok {
		return e
	}
	return &sidecar.Error{Name: "Error", Message: err.Error(), Cause: err}
}

// transactionSync runs a function at once, within the turn.
func (p *operations) transactionSync(call goja.FunctionCall) goja.Value {
	o := p.objectOf(call)
	callback, _ := goja.AssertFunction(call.Argument(1))
	t := o.here()
	outer := t.ctx
	defer func() { t.ctx = outer }()
	var value goja.Value
	err := o.state.Storage().Transaction(outer, func(ctx context.Context) error {
		t.ctx = ctx
		var err error
		value, err = callback(goja.Undefined())
		return err
	})
	if thrown, ok := errors.AsType[*goja.Exception](err); ok {
		panic(thrown.Value())
	}
	if interrupted, ok := errors.AsType[*goja.InterruptedError](err); ok {
		panic(interrupted)
	}
	p.check(err)
	return value
}

func (p *operations) rollback(call goja.FunctionCall) goja.Value {
	o, ctx := p.handleOf(call).storage()
	p.check(o.state.Storage().Rollback(ctx))
	if t, ok := p.handleOf(call).(*transaction); ok {
		t.ended = undoneText
	}
	return goja.Undefined()
}

// end notes that the transaction's function has returned.
func (t *transaction) end(err error) {
	switch {
	case err != nil:
		t.ended = undoneText
	case t.ended == "":
		t.ended = committedText
	}
}
