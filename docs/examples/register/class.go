package main

import (
	"context"
	"fmt"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
)

// cells is how many cells a register has.
const cells = 3

// Register is a Durable Object of a few cells, each with a number that is 0 at first. Its methods show the ways to change
// several keys at once.
type Register struct{ state *durableobject.State }

// Values are the numbers of all cells.
type Values [cells]int

// Write is what "write" and "compareAndSet" take: a cell, its new value and the one it must have before.
type Write struct {
	Cell  int `json:"cell"`
	Value int `json:"value"`
	Old   int `json:"old"`
}

// Swap is what "swap" takes.
type Swap struct {
	From int `json:"from"`
	To   int `json:"to"`
}

func registerClass() durableobject.Class {
	return durableobject.Class{
		Name: "Register",
		New: func(_ context.Context, s *durableobject.State) (any, error) {
			return &Register{state: s}, nil
		},
		Methods: map[string]durableobject.Method{
			"read":          durableobject.Func((*Register).Read),
			"write":         durableobject.Func((*Register).Write),
			"compareAndSet": durableobject.Func((*Register).CompareAndSet),
			"fill":          durableobject.Func((*Register).Fill),
			"swap":          durableobject.Func((*Register).Swap),
			"tryFill":       durableobject.Func((*Register).TryFill),
		},
	}
}

// get and put are one cell.
func (r *Register) get(ctx context.Context, cell int) (int, error) {
	if cell < 0 || cell >= cells {
		return 0, durableobject.Exception("RangeError", fmt.Sprintf("there is no cell %d", cell))
	}
	n, _, err := durableobject.Get[int](ctx, r.state.Storage(), fmt.Sprint(cell))
	return n, err
}

func (r *Register) put(ctx context.Context, cell, value int) error {
	return durableobject.Put(ctx, r.state.Storage(), fmt.Sprint(cell), value)
}

// Read returns all cells. It takes no argument.
func (r *Register) Read(ctx context.Context, _ any) (v Values, err error) {
	for i := range v {
		if v[i], err = r.get(ctx, i); err != nil {
			return v, err
		}
	}
	return v, nil
}

// Write sets a cell.
func (r *Register) Write(ctx context.Context, w Write) (bool, error) {
	_, err := r.get(ctx, w.Cell)
	if err != nil {
		return false, err
	}
	return true, r.put(ctx, w.Cell, w.Value)
}

// CompareAndSet sets a cell that has the old value, and says whether it had. Nothing can come between.
func (r *Register) CompareAndSet(ctx context.Context, w Write) (bool, error) {
	n, err := r.get(ctx, w.Cell)
	if err != nil || n != w.Old {
		return false, err
	}
	return true, r.put(ctx, w.Cell, w.Value)
}

// Fill sets all cells. All writes of a turn are one commit; it needs no transaction.
func (r *Register) Fill(ctx context.Context, value int) (bool, error) {
	for i := range cells {
		if err := r.put(ctx, i, value); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Swap exchanges two cells, in a transaction that other code of the object can't come into even where it waits.
func (r *Register) Swap(ctx context.Context, s Swap) (bool, error) {
	return true, r.state.Storage().Transaction(ctx, func(ctx context.Context) error {
		from, err := r.get(ctx, s.From)
		if err != nil {
			return err
		}
		to, err := r.get(ctx, s.To)
		if err != nil {
			return err
		}
		if err := r.put(ctx, s.From, to); err != nil {
			return err
		}
		if err := r.state.Await(ctx, func(context.Context) error { return nil }); err != nil { // as if it asked somebody
			return err
		}
		return r.put(ctx, s.To, from)
	})
}

// TryFill sets all cells and then thinks better of it: what a transaction wrote that fails is as never written.
func (r *Register) TryFill(ctx context.Context, value int) (bool, error) {
	return false, r.state.Storage().Transaction(ctx, func(ctx context.Context) error {
		if _, err := r.Fill(ctx, value); err != nil {
			return err
		}
		return storage.ErrRollback
	})
}
