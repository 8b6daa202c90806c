package webapi

import (
	"reflect"

	"github.com/dop251/goja"
)

// native is the Go value behind an object of a class: the engine takes it for a value of the language, in a property that
// scripts do not get to see.
type native interface {
	goja.Value
	slot() *internal
}

// internal makes its embedder a native.
type internal struct {
	goja.Value
	// object is the one that the value is behind.
	object *goja.Object
}

func (in *internal) slot() *internal { return in }

// class is a class of the web platform whose objects have a Go value of type T behind them. The objects are ordinary
// ones: scripts may extend the class and add properties.
type class[T native] struct {
	realm *Realm
	name  string
	ctor  *goja.Object
	proto *goja.Object
}

// illegalInvocation is workerd's message for a method that is called on something else.
const illegalInvocation = "Illegal invocation: function called with incorrect `this` reference. See " +
	"https://developers.cloudflare.com/workers/observability/errors/#illegal-invocation-errors for details."

// newClass defines a global class. construct makes the value of a new object, or throws; nil forbids construction.
// Unlike workerd: a class that is called without new makes an object too; the engine does not tell.
func newClass[T native](r *Realm, name string, construct func(goja.ConstructorCall) T) *class[T] {
	c := &class[T]{realm: r, name: name}
	c.ctor = r.rt.ToValue(func(call goja.ConstructorCall) *goja.Object {
		if construct == nil {
			r.throwType("Illegal constructor")
		}
		c.attach(call.This, construct(call))
		return nil
	}).(*goja.Object)
	_ = c.ctor.DefineDataProperty("name", r.rt.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	c.proto = c.ctor.Get("prototype").(*goja.Object)
	_ = c.ctor.DefineDataProperty("prototype", c.proto, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	r.tag(c.proto, name)
	return c
}

// attach puts a value behind an object. The property is one like others, since those that are not enumerable cost more:
// a copy of it, such as that of Object.assign, leads to nothing.
func (c *class[T]) attach(o *goja.Object, value T) {
	*value.slot() = internal{Value: goja.Undefined(), object: o}
	_ = o.SetSymbol(c.realm.brand, value)
}

// wrap returns a new object with a value behind it.
func (c *class[T]) wrap(value T) *goja.Object {
	o := c.realm.rt.CreateObject(c.proto)
	c.attach(o, value)
	return o
}

// of returns the value behind an object of the class or of one that extends it.
func (c *class[T]) of(v goja.Value) (T, bool) {
	var none T
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() == reflect.TypeFor[goja.Proxy]() {
		return none, false
	}
	value, ok := o.GetSymbol(c.realm.brand).(T)
	if !ok || value.slot().object != o {
		return none, false
	}
	return value, true
}

func (c *class[T]) self(v goja.Value) T {
	value, ok := c.of(v)
	if !ok {
		c.realm.throwType("%s", illegalInvocation)
	}
	return value
}

// method defines a method.
func (c *class[T]) method(name string, f func(T, goja.FunctionCall) goja.Value) {
	c.define(c.proto, name, c.realm.isolate.Function(name, 0, func(call goja.FunctionCall) goja.Value {
		return f(c.self(call.This), call)
	}))
}

// promise defines a method that returns a promise: what it throws rejects.
func (c *class[T]) promise(name string, f func(T, goja.FunctionCall) goja.Value) {
	c.define(c.proto, name, c.realm.isolate.Function(name, 0, func(call goja.FunctionCall) goja.Value {
		return c.realm.isolate.Async(func() goja.Value { return f(c.self(call.This), call) })
	}))
}

// static defines a function of the class itself.
func (c *class[T]) static(name string, f func(goja.FunctionCall) goja.Value) {
	c.define(c.ctor, name, c.realm.isolate.Function(name, 0, f))
}

func (c *class[T]) define(o *goja.Object, name string, f *goja.Object) {
	_ = o.DefineDataProperty(name, f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
}

// iterator makes a method that was defined the one that for…of calls.
func (c *class[T]) iterator(name string) {
	_ = c.proto.DefineDataPropertySymbol(goja.SymIterator, c.proto.Get(name),
		goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// attribute defines an accessor; set may be nil.
func (c *class[T]) attribute(name string, get func(T) goja.Value, set func(T, goja.Value)) {
	i := c.realm.isolate
	setter := goja.Undefined()
	if set != nil {
		setter = i.Function("set "+name, 0, func(call goja.FunctionCall) goja.Value {
			set(c.self(call.This), call.Argument(0))
			return goja.Undefined()
		})
	}
	getter := i.Function("get "+name, 0, func(call goja.FunctionCall) goja.Value { return get(c.self(call.This)) })
	_ = c.proto.DefineAccessorProperty(name, getter, setter, goja.FLAG_TRUE, goja.FLAG_TRUE)
}

// text returns a parameter that has to be there, as text.
func (c *class[T]) text(call goja.FunctionCall, n int, method string) string {
	if n >= len(call.Arguments) {
		kind := "string"
		if c.name == "URLSearchParams" || c.name == "URL" {
			kind = "USVString"
		}
		c.realm.throwType("Failed to execute '%s' on '%s': parameter %d is not of type '%s'.", method, c.name, n+1, kind)
	}
	return c.realm.text(call.Arguments[n])
}

// text is the language's ToString.
func (r *Realm) text(v goja.Value) string {
	if _, ok := v.(*goja.Symbol); ok {
		r.throwType("Cannot convert a Symbol value to a string")
	}
	return v.String()
}

// install defines the global, when the class is complete.
func (c *class[T]) install() error {
	c.complete()
	return c.realm.isolate.DefineGlobal(c.name, c.ctor)
}

// complete has the constructor be the prototype's last property, as workerd's classes have it.
func (c *class[T]) complete() {
	_ = c.proto.Delete("constructor")
	_ = c.proto.DefineDataProperty("constructor", c.ctor, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
