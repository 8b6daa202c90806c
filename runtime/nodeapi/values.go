package nodeapi

import (
	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// WithValue calls f with a value that Value finds by its key in it, and in what continues it later, as an
// AsyncLocalStorage does. The key is the isolate's own: a symbol, say.
func WithValue(i *isolate.Isolate, key, value goja.Value, f func()) {
	current, _ := i.AsyncStore().(*stores)
	i.WithAsyncStore(&stores{of: key, value: value, set: true, rest: current.without(key)}, f)
}

// Value returns the value that WithValue set for the code that runs, or nil.
func Value(i *isolate.Isolate, key goja.Value) goja.Value {
	s, _ := i.AsyncStore().(*stores)
	for ; s != nil; s = s.rest {
		if s.of == key {
			return s.value
		}
	}
	return nil
}
