package env

import (
	"errors"

	"github.com/dop251/goja"
)

// stubObjects makes the objects that scripts have of stubs: a Worker makes one for nearly each request, and calls one
// method of it. It is the isolate's goroutine's.
type stubObjects struct {
	classes *Classes
	// services and objects are the prototypes of stubs.
	services, objects *goja.Object
	// target is what the objects of methods are proxies of: a function with no properties.
	target *goja.Object
	// rpc is whether stubs have methods.
	rpc bool
	// asked is the stub that was asked for stubKey last.
	asked *stub
}

// stubKey is the name of a property by which a stub's object tells its stub to stubOfObject. To a script it is undefined.
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
	o.target = i.Function("", 0, func(goja.FunctionCall) goja.Value { return goja.Undefined() })
	if err := errors.Join(o.target.Delete("name"), o.target.Delete("length")); err != nil {
		return err
	}
	freeze, _ := goja.AssertFunction(i.Runtime().Get("Object").(*goja.Object).Get("freeze"))
	if _, err := freeze(goja.Undefined(), o.target); err != nil {
		return err
	}
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
	s.objects = o
	s.object = rt.ToValue(rt.NewProxy(target, &goja.ProxyTrapConfig{Get: s.get})).(*goja.Object)
	return s.object
}

// readOnly defines a property as those of workerd's objects are.
func readOnly(o *goja.Object, name string, v goja.Value) {
	_ = o.DefineDataProperty(name, v, goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_TRUE)
}

// get reads a property: what is there under a name that is none of the object's own is a method of the callee's.
func (s *stub) get(target *goja.Object, name string, receiver goja.Value) goja.Value {
	if name == stubKey {
		if receiver == goja.Value(s.object) {
			s.objects.asked = s
		}
		return goja.Undefined()
	}
	if v := target.Get(name); v != nil {
		return v
	}
	if name == "then" || !s.objects.rpc {
		return goja.Undefined()
	}
	return s.objects.method(s, name)
}

// stubOfObject returns the stub behind its object, or nil.
func (o *stubObjects) stubOfObject(v goja.Value) *stub {
	object, ok := v.(*goja.Object)
	if !ok {
		return nil
	}
	o.asked = nil
	object.Get(stubKey)
	s := o.asked
	o.asked = nil
	return s
}

// method makes what a stub has under the name of a method: a function to call, and a value to await.
func (o *stubObjects) method(s *stub, name string) goja.Value {
	m := &method{stub: s, name: name}
	rt := o.classes.realm.Isolate().Runtime()
	return rt.ToValue(rt.NewProxy(o.target, &goja.ProxyTrapConfig{Apply: m.apply, Get: m.get}))
}

// method is a name that was read of a stub.
type method struct {
	stub *stub
	name string
}

func (m *method) apply(_ *goja.Object, _ goja.Value, arguments []goja.Value) goja.Value {
	return m.stub.objects.classes.call(m.stub, m.name, arguments, true)
}

// get reads a property of the function. Its then is that of the property's value.
func (m *method) get(target *goja.Object, name string, _ goja.Value) goja.Value {
	c := m.stub.objects.classes
	switch name {
	case "then", "catch", "finally":
		return c.realm.Isolate().Function(name, 0, func(call goja.FunctionCall) goja.Value {
			promise := c.call(m.stub, m.name, nil, false).(*goja.Object)
			f, _ := goja.AssertFunction(promise.Get(name))
			return c.must(f(promise, call.Arguments...))
		})
	}
	if v := target.Get(name); v != nil {
		return v
	}
	return goja.Undefined()
}
