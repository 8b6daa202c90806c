package durableobject_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

// Account is a Durable Object: there is one for each account, and its balance is safe on disk before anybody hears of
// it.
type Account struct{ state *durableobject.State }

// Withdraw is what Withdraw takes.
type Withdraw struct {
	Amount int `json:"amount"`
}

// Deposit adds to the balance and returns it.
func (a *Account) Deposit(ctx context.Context, amount int) (int, error) {
	balance, _, err := durableobject.Get[int](ctx, a.state.Storage(), "balance")
	if err != nil {
		return 0, err
	}
	balance += amount
	return balance, durableobject.Put(ctx, a.state.Storage(), "balance", balance)
}

// Withdraw takes from the balance and returns it. Nobody can come between its check and its write.
func (a *Account) Withdraw(ctx context.Context, w Withdraw) (int, error) {
	balance, _, err := durableobject.Get[int](ctx, a.state.Storage(), "balance")
	if err != nil {
		return 0, err
	}
	if w.Amount > balance {
		return 0, durableobject.Exception("RangeError", fmt.Sprintf("only %d left", balance))
	}
	return a.Deposit(ctx, -w.Amount)
}

// Transfer calls another account. Its own turn is given away meanwhile, so it takes the amount first.
func (a *Account) Transfer(ctx context.Context, to string) (int, error) {
	left, err := a.Withdraw(ctx, Withdraw{Amount: 10})
	if err != nil {
		return 0, err
	}
	other := a.state.Namespace("bank-Account").GetByName(to)
	if _, err := durableobject.Call[int](ctx, other, "deposit", 10); err != nil {
		return 0, err
	}
	return left, nil
}

func accountClass() durableobject.Class {
	return durableobject.Class{
		Name: "Account",
		New: func(_ context.Context, s *durableobject.State) (any, error) {
			return &Account{state: s}, nil
		},
		Methods: map[string]durableobject.Method{
			"deposit":  durableobject.Func((*Account).Deposit),
			"withdraw": durableobject.Func((*Account).Withdraw),
			"transfer": durableobject.Func((*Account).Transfer),
		},
	}
}

// A class, run by a host that lives in memory. In production host.Serve does all of run.
func Example() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// deposit: 100
	// withdraw: 70
	// withdraw: RangeError: only 70 left (remote: true)
}

func run(ctx context.Context) (err error) {
	store, err := storage.Open(storage.Options{Dir: "store", FS: vfs.NewMem()})
	if err != nil {
		return err
	}
	router, err := sidecar.Dial("127.0.0.1:7000") // lazy: nobody calls it here
	if err != nil {
		return err
	}
	h, err := host.New(host.Options{
		Worker: "bank", Router: router, Classes: []durableobject.Class{accountClass()},
	}, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Drain(ctx), store.Close(), router.Close()) }()

	ada := binding.NewNamespace("bank-Account", h.Local()).GetByName("ada")
	balance, err := durableobject.Call[int](ctx, ada, "deposit", 100)
	if err != nil {
		return err
	}
	fmt.Println("deposit:", balance)
	balance, err = durableobject.Call[int](ctx, ada, "withdraw", Withdraw{Amount: 30})
	if err != nil {
		return err
	}
	fmt.Println("withdraw:", balance)
	_, err = durableobject.Call[int](ctx, ada, "withdraw", Withdraw{Amount: 71})
	var e *durableobject.Error
	if errors.As(err, &e) {
		fmt.Printf("withdraw: %s: %s (remote: %v)\n", e.Name, e.Message, e.Remote)
	}
	return nil
}
