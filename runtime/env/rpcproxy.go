package env

import (
	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// maxPathDepth is how many properties may lead to what is called. Like workerd, which counts the first one not.
const maxPathDepth = 65

// node is what is behind a stub of RPC, a property of a stub, or the promise of a call: scripts see a proxy of it.
type node struct {
	stub *stub
	path []string
	// call is set for the promise of a call.
	call *call
	// proxy is what scripts have of the node.
	proxy   *goja.Object
	classes *Classes
}

// callable makes the target of a proxy: a function with a class's prototype and without properties.
func (o *stubObjects) callable(class string) *goja.Object {
	target := o.classes.realm.Isolate().Function("", 0, func(goja.FunctionCall) goja.Value { return goja.Undefined() })
	_ = target.Delete("name")
	_ = target.Delete("length")
	_ = target.SetPrototype(o.classes.module.Get(class).(*goja.Object).Get("prototype").(*goja.Object))
	return target
}

// make makes the proxy of a node.
func (n *node) make(target *goja.Object) goja.Value {
	rt := n.classes.realm.Isolate().Runtime()
	n.proxy = rt.ToValue(rt.NewProxy(target, &goja.ProxyTrapConfig{
		Get: n.get, GetIdx: noIndex, Has: anything, Apply: n.apply,
	})).(*goja.Object)
	return n.proxy
}

func anything(*goja.Object, string) bool { return true }

func noIndex(*goja.Object, int, goja.Value) goja.Value { return goja.Undefined() }

// get is the reading of a property: what the target and its classes have goes before what is elsewhere.
func (n *node) get(target *goja.Object, name string, receiver goja.Value) goja.Value {
	if name == stubKey {
		if receiver == goja.Value(n.proxy) {
			n.classes.stubs.asked = n
		}
		return goja.Undefined()
	}
	if v := target.Get(name); v != nil {
		return v
	}
	if name == "then" {
		return goja.Undefined()
	}
	return n.classes.stubs.property(n.stub, n.path, name)
}

// property makes a property of a stub, which is not read before something waits for it.
func (o *stubObjects) property(s *stub, path []string, name string) goja.Value {
	if len(path) >= maxPathDepth {
		o.classes.realm.Isolate().Throw("TypeError", "RPC pipelined property path is too deep (max 64).")
	}
	longer := make([]string, len(path)+1)
	copy(longer, path)
	longer[len(path)] = name
	return (&node{classes: o.classes, stub: s, path: longer}).make(o.properties)
}

// apply is a call.
func (n *node) apply(_ *goja.Object, _ goja.Value, args []goja.Value) goja.Value {
	begun := n.classes.begin(n, args, false)
	n.classes.stubs.begun = begun
	return begun.proxy
}

// awaited gives the engine's own promise for the promise of the call that was just made, unless a script has another
// idea of how to wait for it.
func (c *Classes) awaited(o *goja.Object) goja.Value {
	n := c.stubs.begun
	c.stubs.begun = nil
	if n == nil || n.proxy != o || c.stubs.promises.Get("then") != c.stubs.then {
		return o
	}
	return n.call.outcome()
}

// nodeOf returns what is behind a stub, property or promise, or nil.
func (c *Classes) nodeOf(v goja.Value) *node {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != proxyType {
		return nil
	}
	c.stubs.asked = nil
	o.Get(stubKey)
	n := c.stubs.asked
	c.stubs.asked = nil
	return n
}

// promise(v) is the engine's own promise of a call, or of a property, which it reads.
func (c *Classes) promise(call goja.FunctionCall) goja.Value {
	n := c.nodeOf(call.Argument(0))
	if n == nil {
		c.realm.Isolate().Throw("TypeError", "Illegal invocation")
	}
	if n.call == nil {
		n = c.begin(n, nil, true)
	}
	return n.call.outcome()
}

// awaitFrames is how many functions run when the engine calls then for await: the host's and then itself.
const awaitFrames = 2

// await(v, resolve, reject) has two functions told of the outcome of a call that is under way, and reports whether it does:
// only if no script has called then, which is to get a promise of it.
func (c *Classes) await(call goja.FunctionCall) goja.Value {
	rt := c.realm.Isolate().Runtime()
	var frames [awaitFrames + 1]goja.StackFrame
	if len(rt.CaptureCallStack(len(frames), frames[:0])) > awaitFrames {
		return rt.ToValue(false)
	}
	_, canResolve := goja.AssertFunction(call.Argument(1))
	_, canReject := goja.AssertFunction(call.Argument(2))
	if !canResolve || !canReject {
		return rt.ToValue(false)
	}
	n := c.nodeOf(call.Argument(0))
	if n == nil || n.call == nil || n.call.state != goja.PromiseStatePending {
		return rt.ToValue(false)
	}
	n.call.waiting = append(n.call.waiting, waiting{call.Argument(1), call.Argument(2)})
	return rt.ToValue(true)
}

// newStub(target) makes a stub of something of this script's.
func (c *Classes) newStub(call goja.FunctionCall) goja.Value {
	i := c.realm.Isolate()
	o, ok := call.Argument(0).(*goja.Object)
	if !ok {
		i.Throw("TypeError", "Failed to construct 'JsRpcStub': constructor parameter 1 is not of type 'Object'.")
	}
	if !c.isExportable(o) && o.Prototype() != c.stubs.plain {
		i.Throw("TypeError", "RpcStubs can only wrap plain objects, functions, and RpcTarget derivatives.")
	}
	return c.own(c.export(i.RequireEvent(), o, false), nil)
}

// own makes the script's stub of a reference that is the script's own.
func (c *Classes) own(s sidecar.Stub, order *binding.Order) goja.Value {
	h := hold(c.realm.Isolate().RequireEvent().Context(), []sidecar.Stub{s}, false)[0].(*held)
	return c.stubProxy(&stub{invoker: h, held: h, order: order})
}

// stubProxy makes a stub of RPC.
func (c *Classes) stubProxy(s *stub) goja.Value {
	s.context = c.contextOf()
	s.held.watch(s)
	return (&node{classes: c, stub: s}).make(c.stubs.callable("RpcStub"))
}

// dup(stub) makes another stub of the same thing.
func (c *Classes) dup(call goja.FunctionCall) goja.Value {
	n := c.nodeOf(call.Argument(0))
	if n == nil || n.stub.held == nil || len(n.path) > 0 {
		c.realm.Isolate().Throw("TypeError", "Illegal invocation")
	}
	d, err := n.stub.held.dup()
	if err != nil {
		panic(ErrorValue(c.realm, err))
	}
	return c.own(d, n.stub.line())
}

// dispose(v) ends a stub, or the promise of a call and what it has resolved to.
func (c *Classes) dispose(call goja.FunctionCall) goja.Value {
	n := c.nodeOf(call.Argument(0))
	switch {
	case n == nil:
	case n.call != nil:
		n.call.dispose()
	case n.stub.held != nil && len(n.path) == 0:
		n.stub.held.drop()
	}
	return goja.Undefined()
}

// contextOf returns the context of the code that runs, or nil.
func (c *Classes) contextOf() *isolate.Context {
	if e := c.realm.Isolate().Event(); e != nil {
		return e.Context()
	}
	return nil
}
