package binding

import (
	"context"
	"sync"

	"github.com/tandem-do/tandem/proto/sidecar"

	"github.com/tandem-do/tandem/proto/lifetime"
)

// Order has calls leave in the order in which they were made, though each is made on a goroutine of its own. Its zero
// value is ready. Take is to be called by one goroutine at a time.
type Order struct{ last *Place }

// Place is that of one call in an Order.
type Place struct {
	before *Place
	sent   chan struct{}
	once   sync.Once
}

// Take takes a place after those that were taken before. Call its End.
func (o *Order) Take() *Place {
	o.last = &Place{before: o.last, sent: make(chan struct{})}
	return o.last
}

// After has the first place that is taken come after another order's.
func (o *Order) After(p *Place) { o.last = p }

// Begin waits until the call before has left, or ctx ends, and returns the context to make this one with.
func (p *Place) Begin(ctx context.Context) context.Context {
	if before := p.before; before != nil {
		ends := lifetime.EndsOf(ctx)
		select {
		case <-before.sent:
		case <-ends[0]:
		case <-ends[1]:
		case <-ends[2]:
		}
		p.before = nil
	}
	return sidecar.WithSent(ctx, p.End)
}

// End says that the call has left, or never will. It may be called more than once, and from any goroutine.
func (p *Place) End() { p.once.Do(func() { close(p.sent) }) }
