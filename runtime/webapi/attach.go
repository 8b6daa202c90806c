package webapi

import (
	"reflect"

	"github.com/dop251/goja"
)

// IllegalInvocation is workerd's message for a method that is called on something else.
const IllegalInvocation = illegalInvocation

// attached is a value of another package's behind an object.
type attached struct {
	internal
	value any
}

// Attach puts a value behind an object of the platform, as those of classes are: scripts do not see it. It may be called
// once for an object.
func (r *Realm) Attach(o *goja.Object, value any) {
	_ = o.SetSymbol(r.brand, &attached{internal: internal{Value: goja.Undefined(), object: o}, value: value})
}

// Attached returns the value that was put behind an object, or nil.
func (r *Realm) Attached(v goja.Value) any {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() == reflect.TypeFor[goja.Proxy]() {
		return nil
	}
	if a, ok := o.GetSymbol(r.brand).(*attached); ok && a.object == o {
		return a.value
	}
	return nil
}
