package isolate

// attachments are what other packages keep with a context, on the isolate's goroutine.
type attachments struct {
	values map[any]any
	atEnd  []func()
}

// Value returns what was kept with the context under a key, or nil.
func (c *Context) Value(key any) any { return c.attached.values[key] }

// SetValue keeps a value with the context under a key of a type of the caller's own.
func (c *Context) SetValue(key, value any) {
	if c.attached.values == nil {
		c.attached.values = map[any]any{}
	}
	c.attached.values[key] = value
}

// AtEnd has f called when the context ends, on the isolate's goroutine and outside any turn; at once when it has ended.
// When the isolate closes first, f is never called.
func (c *Context) AtEnd(f func()) {
	if c.ended {
		f()
		return
	}
	c.attached.atEnd = append(c.attached.atEnd, f)
}

// Ended reports whether the context has ended.
func (c *Context) Ended() bool { return c.ended }

// Owner returns what ContextOptions.Owner said. It may be called from any goroutine.
func (c *Context) Owner() any { return c.options.Owner }

// runAtEnd calls what AtEnd was given.
func (c *Context) runAtEnd() {
	for _, f := range c.attached.atEnd {
		f()
	}
	c.attached = attachments{}
}
