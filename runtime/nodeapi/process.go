package nodeapi

import (
	"maps"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
	"golang.org/x/net/idna"
)

// processFunctions are what the modules process and async_hooks are built on.
func (n *node) processFunctions() map[string]func(goja.FunctionCall) goja.Value {
	return map[string]func(goja.FunctionCall) goja.Value{
		"environment":   func(goja.FunctionCall) goja.Value { return n.environment() },
		"exit":          n.exit,
		"builtin":       n.builtin,
		"runStore":      n.runStore,
		"getStore":      n.getStore,
		"captureStores": n.captureStores,
		"runStores":     n.runStores,
		"domainToUnicode": func(c goja.FunctionCall) goja.Value {
			text, err := idna.ToUnicode(c.Argument(0).String())
			if err != nil {
				text = ""
			}
			return n.rt.ToValue(text)
		},
	}
}

// environment lists the pairs of process.env.
func (n *node) environment() goja.Value {
	var pairs []any
	if n.on["nodejs_compat_populate_process_env"] {
		for _, name := range slices.Sorted(maps.Keys(n.options.Env)) {
			pairs = append(pairs, n.rt.NewArray(name, n.options.Env[name]))
		}
	}
	return n.rt.NewArray(pairs...)
}

// exit ends the event. Like workerd: the request is canceled, the process goes on.
func (n *node) exit(c goja.FunctionCall) goja.Value {
	n.isolate.Interrupt("The Node.js process.exit(" + c.Argument(0).String() + ") API was called. Canceling the request.")
	return goja.Undefined()
}

// builtin gives a module by its name, or undefined.
func (n *node) builtin(c goja.FunctionCall) goja.Value {
	name := c.Argument(0).String()
	if !strings.Contains(name, ":") {
		name = "node:" + name
	}
	v, err := n.isolate.Require(name)
	if err != nil {
		return goja.Undefined()
	}
	return v
}

// stores are what the storages hold for the code that runs: a list that is never changed.
type stores struct {
	// of is the AsyncLocalStorage.
	of    goja.Value
	value goja.Value
	// set is false where the storage was exited.
	set  bool
	rest *stores
}

// without returns a list that has nothing of a storage.
func (s *stores) without(of goja.Value) *stores {
	if s == nil {
		return nil
	}
	rest := s.rest.without(of)
	if s.of == of {
		return rest
	}
	if rest == s.rest {
		return s
	}
	return &stores{of: s.of, value: s.value, set: s.set, rest: rest}
}

func (n *node) current() *stores {
	s, _ := n.isolate.AsyncStore().(*stores)
	return s
}

// runStore calls a function with a storage that holds a value: (storage, value, set, function, this, arguments).
func (n *node) runStore(c goja.FunctionCall) goja.Value {
	of := c.Argument(0)
	s := &stores{of: of, value: c.Argument(1), set: c.Argument(2).ToBoolean(), rest: n.current().without(of)}
	return n.within(s, c.Argument(3), c.Argument(4), c.Argument(5))
}

// within calls a function with what the storages held.
func (n *node) within(s *stores, function, this, arguments goja.Value) goja.Value {
	f, ok := goja.AssertFunction(function)
	if !ok {
		n.isolate.Throw("TypeError", "the callback is not a function")
	}
	args := n.list(arguments)
	var result goja.Value
	n.isolate.WithAsyncStore(s, func() {
		v, err := f(this, args...)
		if err != nil {
			panic(err)
		}
		result = v
	})
	return result
}

// list returns what an array holds.
func (n *node) list(v goja.Value) []goja.Value {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil
	}
	out := make([]goja.Value, 0, o.Get("length").ToInteger())
	n.rt.ForOf(o, func(v goja.Value) bool {
		out = append(out, v)
		return true
	})
	return out
}

// getStore is what a storage holds, or its default: (storage, default).
func (n *node) getStore(c goja.FunctionCall) goja.Value {
	of := c.Argument(0)
	for s := n.current(); s != nil; s = s.rest {
		if s.of == of && s.set {
			return s.value
		}
	}
	return c.Argument(1)
}

// captured carries stores through the script.
type captured struct {
	stores *stores
	isolate.Opaque
}

func (n *node) captureStores(goja.FunctionCall) goja.Value {
	return n.rt.NewDynamicObject(&captured{stores: n.current()})
}

// runStores calls a function with what was captured: (captured, function, this, arguments).
func (n *node) runStores(c goja.FunctionCall) goja.Value {
	s, ok := c.Argument(0).Export().(*captured)
	if !ok {
		n.isolate.Throw("TypeError", "nothing was captured")
	}
	return n.within(s.stores, c.Argument(1), c.Argument(2), c.Argument(3))
}

// utilFunctions are what the modules util and assert are built on.
func (n *node) utilFunctions() map[string]func(goja.FunctionCall) goja.Value {
	return map[string]func(goja.FunctionCall) goja.Value{
		"inspect": func(c goja.FunctionCall) goja.Value {
			return n.rt.ToValue(n.realm.InspectWith(c.Argument(0), c.Argument(1)))
		},
		"format": func(c goja.FunctionCall) goja.Value { return n.rt.ToValue(n.realm.Format(c.Arguments)) },
		"kind": func(c goja.FunctionCall) goja.Value {
			o, ok := c.Argument(0).(*goja.Object)
			if !ok {
				return n.rt.ToValue("")
			}
			return n.rt.ToValue(n.realm.Kind(o))
		},
		"boxedClass": func(c goja.FunctionCall) goja.Value {
			return n.rt.ToValue(n.realm.BoxedClass(c.Argument(0).(*goja.Object)))
		},
	}
}
