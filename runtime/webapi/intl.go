package webapi

import (
	"time"
	_ "time/tzdata" // scripts name time zones, and the machine may know none

	"github.com/dop251/goja"
)

// timeZone(name, ms) gives the offset of a zone in seconds at a time, its abbreviation then and its name; undefined
// when there is no such zone.
func (r *Realm) timeZone(call goja.FunctionCall) goja.Value {
	name := call.Argument(0).String()
	if name == "utc" || name == "GMT" || name == "Etc/UTC" {
		name = "UTC"
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return goja.Undefined()
	}
	abbreviation, offset := time.UnixMilli(call.Argument(1).ToInteger()).In(zone).Zone()
	if abbreviation != "" && (abbreviation[0] == '+' || abbreviation[0] == '-') {
		abbreviation = "GMT" + abbreviation
	}
	o := r.rt.NewObject()
	_ = o.Set("name", name)
	_ = o.Set("offset", offset)
	_ = o.Set("abbreviation", abbreviation)
	return o
}

// installIntl has numbers and dates heed a language and options, where a script gives them.
func (r *Realm) installIntl() error {
	define := func(class, name string, f func(goja.FunctionCall) goja.Value) error {
		proto := r.rt.Get(class).(*goja.Object).Get("prototype").(*goja.Object)
		return proto.DefineDataProperty(name, r.isolate.Function(name, 0, f), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
	valueOf := map[string]goja.Callable{"Number": r.intrinsic.unbox["Number"], "BigInt": r.intrinsic.unbox["BigInt"]}
	for class, value := range valueOf {
		if err := define(class, "toLocaleString", func(call goja.FunctionCall) goja.Value {
			return r.operation("intl", "number", r.call(value, call.This), call.Argument(0), call.Argument(1))
		}); err != nil {
			return err
		}
	}
	for name, defaults := range map[string]string{
		"toLocaleString": "all", "toLocaleDateString": "date", "toLocaleTimeString": "time",
	} {
		if err := define("Date", name, func(call goja.FunctionCall) goja.Value {
			ms := r.call(r.intrinsic.getTime, call.This)
			if f := ms.ToFloat(); f != f {
				return r.rt.ToValue("Invalid Date")
			}
			return r.operation("intl", "date", ms, call.Argument(0), call.Argument(1), r.rt.ToValue(defaults))
		}); err != nil {
			return err
		}
	}
	return nil
}
