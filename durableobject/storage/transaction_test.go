package storage

import (
	"context"
	"errors"
	"testing"
)

// turnHooks are those of an actor that knows one turn: contexts made by it belong to the turn until end.
type turnHooks struct{ over map[any]bool }

type turnMark struct{}

func (h *turnHooks) hooks() Hooks {
	return Hooks{
		InTurn: func(ctx context.Context) error {
			if h.over[ctx.Value(turnMark{})] {
				return errHook
			}
			return nil
		},
		CriticalSection: func(ctx context.Context, fn func(context.Context) error) error {
			mark := new(int)
			defer func() { h.over[mark] = true }()
			return fn(context.WithValue(ctx, turnMark{}, mark))
		},
	}
}

// A transaction's context is what txn is to a script: once the transaction has ended, it says so.
func TestTransactionContextAfterItsEnd(t *testing.T) {
	t.Parallel()
	const committed = " on transaction that has already committed: did you move `txn` outside of the closure?"
	h := &turnHooks{over: map[any]bool{}}
	o := openTest(t, Options{}).Object("w-Class", testNamespace.FromName("a"), h.hooks())
	var inner, outer, failed context.Context
	err := o.Transaction(t.Context(), func(ctx context.Context) error {
		outer = ctx
		if err := o.Transaction(ctx, func(ctx context.Context) error { inner = ctx; return nil }); err != nil {
			t.Error(err)
		}
		_, _, err := o.Get(inner, "k", GetOptions{})
		wantText(t, "TX-5 within the outer one", err, "Cannot call get()"+committed)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	_ = o.Transaction(t.Context(), func(ctx context.Context) error { failed = ctx; return errHook })
	_, _, err = o.Get(outer, "k", GetOptions{})
	wantText(t, "TX-5 get", err, "Cannot call get()"+committed)
	wantText(t, "TX-5 put", o.Put(outer, []Entry{{"k", nil}}, PutOptions{}), "Cannot call put()"+committed)
	wantText(t, "TX-5 rollback", o.Rollback(outer), "Cannot call rollback()"+committed)
	_, err = o.List(failed, ListOptions{})
	wantText(t, "TX-4 after the end", err, "Cannot list() on rolled back transaction")
	var fault *Error
	if !errors.As(err, &fault) || fault.Class != "Error" {
		t.Errorf("got %#v, want an Error", err)
	}
}

// TX-7: the outer transaction can't be rolled back under the one within it.
func TestRollbackOfAnOuterTransaction(t *testing.T) {
	t.Parallel()
	o := named(openTest(t, Options{}), "a")
	err := o.Transaction(t.Context(), func(outer context.Context) error {
		mustPut(t, o, "outer", "1")
		err := o.Transaction(outer, func(inner context.Context) error {
			mustPut(t, o, "inner", "1")
			wantText(t, "outer", o.Rollback(outer),
				"Cannot roll back an outer transaction while a nested transaction is still running.")
			return o.Rollback(inner)
		})
		if err != nil {
			return err
		}
		wantText(t, "outside", o.Rollback(t.Context()), "Cannot roll back outside of a transaction.")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := o.List(t.Context(), ListOptions{})
	if err != nil || formatEntries(entries) != "[outer=1]" {
		t.Errorf("got %s, %v, want the outer write only", formatEntries(entries), err)
	}
}

func wantText(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%s: got %v, want %q", what, err, want)
	}
}
