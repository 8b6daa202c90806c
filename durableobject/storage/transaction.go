package storage

import (
	"context"
	"errors"
	"fmt"
)

// scopeKey is where the context of a transaction's function holds its layer. That context is what workerd's txn is:
// it says which transaction an operation or a Rollback is for, and of no use once that has ended.
type scopeKey struct{ o *Object }

// Transaction runs fn as a critical section, and its writes as one transaction: an error rolls them back and is
// returned, ErrRollback as nil. Within fn use the same Object, with fn's context. Transactions nest.
func (o *Object) Transaction(ctx context.Context, fn func(context.Context) error) (err error) {
	end := o.observe(ctx, "transaction")
	defer func() { end.with(err) }()
	outer, _ := ctx.Value(scopeKey{o}).(*layer)
	if outer != nil || o.hooks.CriticalSection == nil {
		return o.transact(ctx, outer, fn)
	}
	// The hook gets no error of fn, so that none can break the object.
	if err := o.lock(ctx, "transaction"); err != nil {
		return err
	}
	o.mu.Unlock()
	var failed error
	err = o.hooks.CriticalSection(ctx, func(ctx context.Context) error {
		failed = o.transact(ctx, nil, fn)
		return nil
	})
	if err != nil {
		return err
	}
	return failed
}

// transact runs fn with a layer of its own on top of outer, nil being the turn's implicit transaction.
func (o *Object) transact(ctx context.Context, outer *layer, fn func(context.Context) error) error {
	l, err := o.push(ctx, outer)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended { // fn panicked
			_ = o.pop(l, false)
		}
	}()
	err = fn(context.WithValue(ctx, scopeKey{o}, l))
	ended = true
	if perr := o.pop(l, err == nil); perr != nil {
		return errors.Join(perr, err)
	}
	if errors.Is(err, ErrRollback) {
		return nil
	}
	return err
}

func (o *Object) push(ctx context.Context, outer *layer) (*layer, error) {
	if err := o.lock(ctx, "transaction"); err != nil {
		return nil, err
	}
	defer o.mu.Unlock()
	below := o.topLocked()
	if outer == nil && below.parent != nil {
		return nil, plainError("Cannot start a transaction while another one is running.")
	}
	if outer != nil && outer != below {
		return nil, plainError("Cannot start a transaction in one that is not the innermost or has ended.")
	}
	o.top = &layer{parent: below}
	return o.top, nil
}

// pop ends a transaction; keep has its writes become those of the layer below.
func (o *Object) pop(l *layer, keep bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.usableLocked(); err != nil {
		return err
	}
	if !o.top.has(l) {
		return fmt.Errorf("transaction: pending writes were discarded")
	}
	innermost := o.top == l
	o.top = l.parent
	if !innermost {
		return plainError("Cannot end a transaction while a nested transaction is still running.")
	}
	if keep && !l.rolledBack {
		o.top.merge(l)
		l.committed = true
	} else {
		l.rolledBack = true
	}
	return nil
}

// Rollback undoes the writes of the transaction that ctx belongs to at once; what its function still asks of storage
// fails. A second call does nothing. Errors: *Error outside a transaction, after its end, and while one is open within
// it.
func (o *Object) Rollback(ctx context.Context) error {
	if o.hooks.InTurn != nil {
		if err := o.hooks.InTurn(ctx); err != nil {
			return o.outOfTurn(ctx, "rollback", err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.usableLocked(); err != nil {
		return err
	}
	l, _ := ctx.Value(scopeKey{o}).(*layer)
	switch {
	case l != nil && l.rolledBack:
		return nil
	case l != nil && l.committed:
		return o.scopeErr(ctx, "rollback")
	case l == nil || !o.top.has(l):
		return plainError("Cannot roll back outside of a transaction.")
	case l != o.top:
		return plainError("Cannot roll back an outer transaction while a nested transaction is still running.")
	}
	*l = layer{parent: l.parent, rolledBack: true}
	return nil
}
