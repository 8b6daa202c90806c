package isolate

import (
	"regexp"

	"github.com/dop251/goja"
)

// asyncText begins the text of an async function or method. An arrow's may be that of a method which is named async.
var asyncText = regexp.MustCompile(`^async[ \t]+[^\s(=]`)

// IsAsync reports whether a function is an async one, as far as that can be told for sure: no Proxy is. It takes as long as
// the function's text is, since the engine gives async methods the prototype of all others.
func (i *Isolate) IsAsync(f *goja.Object) bool {
	if f.ExportType() == proxyType {
		return false
	}
	if f.Prototype() == i.functions.asyncPrototype {
		return true
	}
	text, err := i.functions.text(f)
	return err == nil && asyncText.MatchString(text.String())
}

// Async says that start returns what an async function did. Only a continuation of the event's settles the promise then: to
// look at it after those costs less than to have the engine tell of it.
func (e *Event) Async() { e.async = true }

// follow has an event be told of the outcome of what its handler returned: one of the engine's promises, which is pending.
func (i *Isolate) follow(e *Event, o *goja.Object, p *goja.Promise) error {
	if e.async {
		e.promise = p
		return nil
	}
	// The functions are the same for all events, since a continuation finds the event that it belongs to.
	_, err := i.functions.then(o, i.functions.fulfilled, i.functions.rejected)
	return err
}

// eventFunction is one that tells the event which runs of an outcome.
func (i *Isolate) eventFunction(tell func(*Event, goja.Value)) goja.Value {
	return i.rt.ToValue(func(c goja.FunctionCall) goja.Value {
		tell(i.frame.event, c.Argument(0))
		return goja.Undefined()
	})
}

// stir notes that an event, or none, is continued in the turn that runs, which may be another's.
func (i *Isolate) stir(e *Event) {
	if e != nil && e.promise != nil && !e.stirred {
		e.stirred = true
		i.stirred = append(i.stirred, e)
	}
}

// tellOutcomes tells the events that were continued of what their handlers have come to, also after err. It returns the
// first error.
func (i *Isolate) tellOutcomes(err error) error {
	for len(i.stirred) > 0 {
		last := len(i.stirred) - 1
		e := i.stirred[last]
		i.stirred[last], i.stirred = nil, i.stirred[:last]
		e.stirred = false
		if e.promise.State() == goja.PromiseStatePending {
			continue
		}
		late := i.guarded(e.outcome)
		if err == nil {
			err = late
		}
	}
	return err
}

// outcome tells the event of its promise's.
func (e *Event) outcome() error {
	i, p := e.context.isolate, e.promise
	e.promise = nil
	i.frame = &e.frame
	if p.State() == goja.PromiseStateFulfilled {
		e.fulfilled(p.Result())
		return nil
	}
	i.handled(p)
	e.rejected(p.Result())
	return nil
}
