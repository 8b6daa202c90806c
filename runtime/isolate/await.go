package isolate

import "github.com/dop251/goja"

// SetAwaited has f say what the script waits for when it awaits an object right where a method has returned it: the
// object itself, or a promise of the engine's that settles as the object does. f must not throw, nor run code of the
// script's. It is for installers.
func (i *Isolate) SetAwaited(f func(*goja.Object) goja.Value) { i.awaited = f }

func (i *Isolate) awaitedFor(o *goja.Object) goja.Value {
	if i.awaited == nil {
		return o
	}
	return i.awaited(o)
}
