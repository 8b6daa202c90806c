package env

import (
	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// id is what is behind a DurableObjectId.
type id struct {
	objectid.ID
	// namespace made it; nil for the ID of the object that runs.
	namespace *binding.Namespace
	named     bool
	// name is undefined for an ID without one.
	name goja.Value
}

// ID makes the DurableObjectId of an object.
func (c *Classes) ID(of objectid.ID, name string, named bool) goja.Value {
	d := &id{ID: of, named: named, name: goja.Undefined()}
	if named {
		d.name = c.realm.Isolate().Runtime().ToValue(name)
	}
	return c.newID(d)
}

func (c *Classes) newID(d *id) *goja.Object {
	o := c.realm.Isolate().Runtime().CreateObject(c.ids)
	c.realm.Attach(o, d)
	readOnly(o, "jurisdiction", goja.Undefined())
	readOnly(o, "name", d.name)
	return o
}

// idMethods are those of DurableObjectId.
func (c *Classes) idMethods() []function {
	i := c.realm.Isolate()
	self := func(call goja.FunctionCall) *id {
		d, ok := c.realm.Attached(call.This).(*id)
		if !ok {
			i.Throw("TypeError", webapi.IllegalInvocation)
		}
		return d
	}
	return []function{
		{"toString", func(call goja.FunctionCall) goja.Value { return i.Runtime().ToValue(self(call).String()) }},
		{"equals", func(call goja.FunctionCall) goja.Value {
			d := self(call)
			other, ok := c.realm.Attached(call.Argument(0)).(*id)
			if !ok {
				c.missing("equals", "DurableObjectId", "DurableObjectId")
			}
			return i.Runtime().ToValue(d.ID == other.ID)
		}},
	}
}

// missing throws at a first parameter that is wrong or not there.
func (c *Classes) missing(method, class, kind string) {
	c.realm.Isolate().Throw("TypeError", "Failed to execute '%s' on '%s': parameter 1 is not of type '%s'.", method, class, kind)
}
