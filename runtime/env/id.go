package env

import (
	"errors"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/runtime/binding"
)

// id is what is behind a DurableObjectId. The script of the classes carries it as an object of the engine's.
type id struct {
	internal
	objectid.ID
	// namespace made it; nil for the ID of the object that runs.
	namespace *binding.Namespace
	name      string
	named     bool
}

// internal makes its embedder something that the engine can carry and no script can look into.
type internal struct{}

func (internal) Get(string) goja.Value       { return nil }
func (internal) Set(string, goja.Value) bool { return false }
func (internal) Has(string) bool             { return false }
func (internal) Delete(string) bool          { return false }
func (internal) Keys() []string              { return nil }

func idOf(v goja.Value) *id { return v.Export().(*id) }

func (d *id) nameValue(rt *goja.Runtime) goja.Value {
	if !d.named {
		return goja.Undefined()
	}
	return rt.ToValue(d.name)
}

// ID makes a DurableObjectId.
func (c *Classes) ID(of objectid.ID, name string, named bool) goja.Value {
	return c.must(c.id(goja.Undefined(), c.carry(&id{ID: of, name: name, named: named})))
}

func (c *Classes) carry(d *id) goja.Value { return c.realm.Isolate().Runtime().NewDynamicObject(d) }

func (c *Classes) uniqueID(call goja.FunctionCall) goja.Value {
	n := namespaceOf(call)
	return c.carry(&id{ID: n.IDs().NewUnique(), namespace: n})
}

func (c *Classes) namedID(call goja.FunctionCall) goja.Value {
	n, name := namespaceOf(call), call.Argument(1).String()
	return c.carry(&id{ID: n.IDs().FromName(name), namespace: n, name: name, named: true})
}

func (c *Classes) parseID(call goja.FunctionCall) goja.Value {
	i, n := c.realm.Isolate(), namespaceOf(call)
	parsed, err := n.IDs().Parse(call.Argument(1).String())
	switch {
	case errors.Is(err, objectid.ErrSyntax):
		i.Throw("TypeError", "Invalid Durable Object ID: must be 64 hex digits")
	case err != nil:
		i.Throw("TypeError", "Durable Object ID is not valid for this namespace.")
	}
	return c.carry(&id{ID: parsed, namespace: n})
}

// describeID defines the properties of an ID.
func (c *Classes) describeID(call goja.FunctionCall) goja.Value {
	o := call.Argument(0).(*goja.Object)
	readOnly(o, "jurisdiction", goja.Undefined())
	readOnly(o, "name", idOf(call.Argument(1)).nameValue(c.realm.Isolate().Runtime()))
	return goja.Undefined()
}

func (c *Classes) textOfID(call goja.FunctionCall) goja.Value {
	return c.realm.Isolate().Runtime().ToValue(idOf(call.Argument(0)).String())
}

func (c *Classes) equalIDs(call goja.FunctionCall) goja.Value {
	return c.realm.Isolate().Runtime().ToValue(idOf(call.Argument(0)).ID == idOf(call.Argument(1)).ID)
}
