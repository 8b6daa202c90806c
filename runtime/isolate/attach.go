package isolate

import "sync"

// attachments are what other packages keep with a context.
type attachments struct {
	mu     sync.Mutex // guards all below
	values map[any]any
	atEnd  []func()
	ended  bool
}

// Attach returns what is kept with the context under a key of a type of the caller's own; make makes it at the first
// call. It may be called from any goroutine; make must not use the context.
func (c *Context) Attach(key any, make func() any) any {
	a := &c.attached
	a.mu.Lock()
	defer a.mu.Unlock()
	v, ok := a.values[key]
	if !ok {
		v = make()
		if a.values == nil {
			a.values = map[any]any{}
		}
		a.values[key] = v
	}
	return v
}

// AtEnd has f called when the context ends, outside any turn; at once when it has ended. When the isolate closes first, f
// is never called. It may be called from any goroutine, and f on any: it must not block.
func (c *Context) AtEnd(f func()) {
	a := &c.attached
	a.mu.Lock()
	ended := a.ended
	if !ended {
		a.atEnd = append(a.atEnd, f)
	}
	a.mu.Unlock()
	if ended {
		f()
	}
}

// BeginTask keeps the context, as a promise that WaitUntil was given does: for Limits.WaitUntil after its last event at
// most. Like what follows it is for the isolate's goroutine, in a turn of the context's.
func (c *Context) BeginTask() { c.tasks++ }

// EndTask ends what BeginTask began.
func (c *Context) EndTask() { c.tasks-- }

// Owner returns what ContextOptions.Owner said. It may be called from any goroutine.
func (c *Context) Owner() any { return c.options.Owner }

// runAtEnd calls what AtEnd was given.
func (c *Context) runAtEnd() {
	a := &c.attached
	a.mu.Lock()
	a.ended = true
	fs := a.atEnd
	a.atEnd = nil
	a.mu.Unlock()
	for _, f := range fs {
		f()
	}
}
