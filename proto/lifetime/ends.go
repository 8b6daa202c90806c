package lifetime

import "context"

// Ender is a context that ends with any of some channels, for those who can wait for all: one channel for them would cost
// a place among the children of each.
type Ender interface {
	context.Context
	// Ends returns the channels. Those that are nil count for nothing.
	Ends() [3]<-chan struct{}
}

// EndsOf returns channels of which one is closed when ctx ends: Ends of an Ender, and else Done.
func EndsOf(ctx context.Context) [3]<-chan struct{} {
	if e, ok := ctx.(Ender); ok {
		return e.Ends()
	}
	return [3]<-chan struct{}{ctx.Done()}
}
