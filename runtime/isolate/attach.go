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

// used reports whether anything is kept with the context.
func (a *attachments) used() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.values != nil || a.atEnd != nil
}

// AtEnd has f called when the context ends, or the isolate does, outside any turn; at once when it has ended. It may be
// called from any goroutine, and f on any: it must not block.
func (c *Context) AtEnd(f func()) {
	a := &c.attached
	a.mu.Lock()
	if !a.ended && a.atEnd == nil && !c.isolate.endings.add(c) {
		a.ended = true
	}
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
	if fs != nil {
		c.isolate.endings.remove(c)
	}
	a.mu.Unlock()
	for _, f := range fs {
		f()
	}
}

// endings are the contexts that AtEnd was called of and that have not ended, for the isolate's end.
type endings struct {
	// mu guards what follows. It is taken with a context's held.
	mu       sync.Mutex
	contexts map[*Context]struct{}
	over     bool
}

// add reports false when the isolate has ended.
func (e *endings) add(c *Context) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	if e.contexts == nil {
		e.contexts = map[*Context]struct{}{}
	}
	e.contexts[c] = struct{}{}
	return true
}

func (e *endings) remove(c *Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.contexts, c)
}

// run calls what AtEnd was given for all contexts, at the isolate's end.
func (e *endings) run() {
	e.mu.Lock()
	contexts := e.contexts
	e.contexts, e.over = nil, true
	e.mu.Unlock()
	for c := range contexts {
		c.runAtEnd()
	}
}
