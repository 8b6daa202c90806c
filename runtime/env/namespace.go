package env

import (
	"errors"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// namespaceClass is the name of the class of namespaces.
const namespaceClass = "DurableObjectNamespace"

const jurisdictionText = "Jurisdiction restrictions are not implemented in workerd."

// Namespace makes the object of a namespace.
func (c *Classes) Namespace(n *binding.Namespace) goja.Value {
	o := c.realm.Isolate().Runtime().CreateObject(c.namespaces)
	c.realm.Attach(o, n)
	return o
}

// namespaceMethods are those of DurableObjectNamespace.
func (c *Classes) namespaceMethods() []function {
	method := func(name string, f func(*binding.Namespace, goja.FunctionCall) goja.Value) function {
		return function{name, func(call goja.FunctionCall) goja.Value {
			n, ok := c.realm.Attached(call.This).(*binding.Namespace)
			if !ok {
				c.realm.Isolate().Throw("TypeError", webapi.IllegalInvocation)
			}
			return f(n, call)
		}}
	}
	return []function{
		method("newUniqueId", c.newUniqueID), method("idFromName", c.idFromName), method("idFromString", c.idFromString),
		method("get", c.getStub), method("getByName", c.getByName), method("jurisdiction", c.jurisdiction),
	}
}

func (c *Classes) newUniqueID(n *binding.Namespace, call goja.FunctionCall) goja.Value {
	if o, ok := call.Argument(0).(*goja.Object); ok {
		c.refuseJurisdiction(o.Get("jurisdiction"))
	}
	return c.newID(&id{ID: n.IDs().NewUnique(), namespace: n, name: goja.Undefined()})
}

func (c *Classes) refuseJurisdiction(v goja.Value) {
	if v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) {
		c.realm.Isolate().Throw("Error", jurisdictionText)
	}
}

// text is the first parameter of a method, which has to be there.
func (c *Classes) text(method string, call goja.FunctionCall) string {
	if len(call.Arguments) == 0 {
		c.missing(method, namespaceClass, "string")
	}
	if s, ok := call.Arguments[0].(*goja.Symbol); ok { // as String has it
		return "Symbol(" + s.String() + ")"
	}
	return call.Arguments[0].String()
}

func (c *Classes) namedID(n *binding.Namespace, name string) *id {
	v := c.realm.Isolate().Runtime().ToValue(name)
	return &id{ID: n.IDs().FromName(name), namespace: n, named: true, name: v}
}

func (c *Classes) idFromName(n *binding.Namespace, call goja.FunctionCall) goja.Value {
	return c.newID(c.namedID(n, c.text("idFromName", call)))
}

func (c *Classes) idFromString(n *binding.Namespace, call goja.FunctionCall) goja.Value {
	parsed, err := n.IDs().Parse(c.text("idFromString", call))
	switch {
	case errors.Is(err, objectid.ErrSyntax):
		c.realm.Isolate().Throw("TypeError", "Invalid Durable Object ID: must be 64 hex digits")
	case err != nil:
		c.realm.Isolate().Throw("TypeError", "Durable Object ID is not valid for this namespace.")
	}
	return c.newID(&id{ID: parsed, namespace: n, name: goja.Undefined()})
}

func (c *Classes) getStub(n *binding.Namespace, call goja.FunctionCall) goja.Value {
	d, ok := c.realm.Attached(call.Argument(0)).(*id)
	if !ok {
		c.missing("get", namespaceClass, "DurableObjectId")
	}
	c.stubOptions(call.Argument(1))
	return c.newStubOf(n, d, call.Arguments[0])
}

func (c *Classes) getByName(n *binding.Namespace, call goja.FunctionCall) goja.Value {
	d := c.namedID(n, c.text("getByName", call))
	c.stubOptions(call.Argument(1))
	return c.newStubOf(n, d, c.newID(d))
}

// stubOptions checks the options of a stub.
func (c *Classes) stubOptions(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok {
		return
	}
	if mode := o.Get("routingMode"); mode != nil && !goja.IsUndefined(mode) && mode.String() != "primary-only" {
		c.realm.Isolate().Throw("RangeError", "unknown routingMode: %s", mode)
	}
}

// newStubOf makes the stub of an ID.
func (c *Classes) newStubOf(n *binding.Namespace, d *id, object goja.Value) goja.Value {
	var s *binding.Stub
	if name := d.name.String(); d.named && (d.namespace == n || n.IDs().FromName(name) == d.ID) {
		s = n.GetNamed(d.ID, name)
	} else {
		s = n.Get(d.ID)
	}
	return c.stubs.new(&stub{callee: s, invoker: s}, object, d.name)
}

func (c *Classes) jurisdiction(n *binding.Namespace, call goja.FunctionCall) goja.Value {
	c.refuseJurisdiction(call.Argument(0))
	return c.Namespace(n)
}
