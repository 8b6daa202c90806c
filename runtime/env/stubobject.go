package env

import (
	"github.com/dop251/goja"
)

// stubObjects makes the objects that scripts have of stubs: a Worker makes one for nearly each request, and calls one
// method of it. It is the isolate's goroutine's.
type stubObjects struct {
	classes *Classes
	// services and objects are the prototypes of stubs.
	services, objects *goja.Object
	// properties and promises are what the objects of properties and of calls' promises are proxies of: functions without
	// properties of their own.
	properties, promises *goja.Object
	// plain is the prototype of plain objects, target that of RpcTarget.
	plain, target *goja.Object
	// dispose is Symbol.dispose, and nothing a function that does nothing.
	dispose *goja.Symbol
	nothing *goja.Object
	// rpc is whether stubs have methods, and dupParams whether the stubs that a script passes on stay its own.
	rpc, dupParams bool
	// asked is the node that was asked for stubKey last.
	asked *node
	// begun is the promise of the call that was made last, until something is awaited.
	begun *node
	// then is the method of promises, which a script may replace.
	then goja.Value
}

// stubKey is the name of a property by which the object of a stub tells its node to Classes.nodeOf. To a script it is undefined.
const stubKey = "\x00stub"

// illegalInvocation is workerd's message for a method that is called on something else.
const illegalInvocation = "Illegal invocation: function called with incorrect `this` reference. See " +
	"https://developers.cloudflare.com/workers/observability/errors/#illegal-invocation-errors for details."

// install takes the prototypes from the script of the classes.
func (o *stubObjects) install(c *Classes) error {
	i := c.realm.Isolate()
	o.classes = c
	o.services = c.Internals.Get("services").(*goja.Object)
	o.objects = c.Internals.Get("objects").(*goja.Object)
	rt := i.Runtime()
	freeze, _ := goja.AssertFunction(rt.Get("Object").(*goja.Object).Get("freeze"))
	o.properties, o.promises = o.callable("RpcProperty"), o.callable("RpcPromise")
	for _, target := range []*goja.Object{o.properties, o.promises} {
		if _, err := freeze(goja.Undefined(), target); err != nil {
			return err
		}
	}
	o.then = o.promises.Get("then")
	i.SetAwaited(c.awaited)
	prototype := func(class goja.Value) *goja.Object { return class.(*goja.Object).Get("prototype").(*goja.Object) }
	o.plain, o.target = prototype(rt.Get("Object")), prototype(c.module.Get("RpcTarget"))
	o.dispose, _ = rt.Get("Symbol").(*goja.Object).Get("dispose").(*goja.Symbol)
	o.nothing = i.Function("", 0, func(goja.FunctionCall) goja.Value { return goja.Undefined() })
	o.dupParams = i.Compatibility().Since("2026-01-20", "rpc_params_dup_stubs", "rpc_params_transfer_stubs")
	o.rpc = i.Compatibility().Since("2024-04-03", "rpc", "no_rpc")
	for _, flag := range i.Compatibility().Flags {
		o.rpc = o.rpc || flag == "js_rpc"
	}
	return nil
}

// new makes the object of a stub. id is undefined for that of a service.
func (o *stubObjects) new(s *stub, id, name goja.Value) *goja.Object {
	rt := o.classes.realm.Isolate().Runtime()
	proto := o.objects
	if goja.IsUndefined(id) {
		proto = o.services
	}
	target := rt.CreateObject(proto)
	if proto == o.objects {
		readOnly(target, "name", name)
		readOnly(target, "id", id)
	}
	return o.wrap(s, target, &goja.ProxyTrapConfig{})
}

// wrap makes the object of a stub from what it is a proxy of, and further traps.
func (o *stubObjects) wrap(s *stub, target *goja.Object, traps *goja.ProxyTrapConfig) *goja.Object {
	s.objects = o
	s.node = node{classes: o.classes, stub: s}
	traps.Get, traps.GetIdx = s.get, noIndex
	if o.rpc {
		traps.Has = anything
	}
	rt := o.classes.realm.Isolate().Runtime()
	s.node.proxy = rt.ToValue(rt.NewProxy(target, traps)).(*goja.Object)
	return s.node.proxy
}

// readOnly defines a property as those of workerd's objects are.
func readOnly(o *goja.Object, name string, v goja.Value) {
	_ = o.DefineDataProperty(name, v, goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_TRUE)
}

// get reads a property: what is there under a name that is none of the object's own is a method of the callee's.
func (s *stub) get(target *goja.Object, name string, receiver goja.Value) goja.Value {
	if name == stubKey {
		if receiver == goja.Value(s.node.proxy) {
			s.objects.asked = &s.node
		}
		return goja.Undefined()
	}
	if v := target.Get(name); v != nil {
		return v
	}
	if name == "then" || !s.objects.rpc {
		return goja.Undefined()
	}
	return s.objects.property(s, nil, name)
}
