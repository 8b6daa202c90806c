package webapi

import (
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/compatibility"
)

// userAgent is navigator.userAgent, from which libraries tell where they run.
const userAgent = "Cloudflare-Workers"

// installMisc defines the small globals.
func (r *Realm) installMisc() error {
	global := r.rt.GlobalObject()
	if err := r.installScopes(global); err != nil {
		return err
	}
	navigator, err := r.newNavigator()
	if err != nil {
		return err
	}
	for name, v := range map[string]goja.Value{
		"self":       global,
		"origin":     r.rt.ToValue(""),
		"navigator":  navigator,
		"Cloudflare": r.newCloudflare(),
		"reportError": r.isolate.Function("reportError", 0, func(call goja.FunctionCall) goja.Value {
			r.isolate.ReportUncaught(call.Argument(0))
			return goja.Undefined()
		}),
		"structuredClone": r.isolate.Function("structuredClone", 0, r.structuredClone),
	} {
		if err := r.isolate.DefineGlobal(name, v); err != nil {
			return err
		}
	}
	if !r.on["enable_global_performance_classes"] { // else the prelude has it
		if err := r.isolate.DefineGlobal("performance", r.newPerformance()); err != nil {
			return err
		}
	}
	if err := r.nameTimeZone(); err != nil {
		return err
	}
	if err := r.hideBrand(); err != nil {
		return err
	}
	return r.installGlobalTarget()
}

// Tagged reports whether the compatibility date has the platform's objects tell their classes as tags.
func (r *Realm) Tagged() bool { return r.dated.tags }

// tag names an object's kind, where the compatibility date has kinds named.
func (r *Realm) tag(o *goja.Object, name string) {
	if !r.dated.tags {
		return
	}
	_ = o.DefineDataPropertySymbol(goja.SymToStringTag, r.rt.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// installGlobalTarget makes the global object a target of events, when a script first uses it as one.
func (r *Realm) installGlobalTarget() error {
	for _, name := range []string{"addEventListener", "removeEventListener", "dispatchEvent"} {
		f := r.isolate.Function(name, 0, func(call goja.FunctionCall) goja.Value {
			if r.target == nil {
				var err error
				if r.target, err = r.rt.New(r.group("events").Get("EventTarget")); err != nil {
					panic(err)
				}
				r.isolate.OnUnhandledRejection(r.rejected)
			}
			method, _ := goja.AssertFunction(r.target.Get(name))
			return r.call(method, r.target, call.Arguments...)
		})
		if err := r.isolate.DefineGlobal(name, f); err != nil {
			return err
		}
	}
	return nil
}

// rejected dispatches the event unhandledrejection. It reports whether a listener prevented its default.
func (r *Realm) rejected(promise, reason goja.Value) (handled bool) {
	if thrown := r.rt.Try(func() {
		handled = r.operation("events", "rejected", r.target, promise, reason).ToBoolean()
	}); thrown != nil {
		r.isolate.ReportUncaught(thrown.Value())
	}
	return handled
}

// nameTimeZone has dates name the time zone as workerd's do: there is only the one.
func (r *Realm) nameTimeZone() error {
	proto := r.intrinsic.classes["Date"].Get("prototype").(*goja.Object)
	for _, name := range []string{"toString", "toTimeString"} {
		engine, _ := goja.AssertFunction(proto.Get(name))
		f := r.isolate.Function(name, 0, func(call goja.FunctionCall) goja.Value {
			text := r.call(engine, call.This).String()
			return r.rt.ToValue(strings.Replace(text, "(UTC)", "(Coordinated Universal Time)", 1))
		})
		if err := proto.DefineDataProperty(name, f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE); err != nil {
			return err
		}
	}
	return nil
}

// hideBrand keeps scripts from seeing by which property an object of ours leads to its Go value.
func (r *Realm) hideBrand() error {
	for class, name := range map[string]string{"Object": "getOwnPropertySymbols", "Reflect": "ownKeys"} {
		o := r.rt.Get(class).(*goja.Object)
		engine, _ := goja.AssertFunction(o.Get(name))
		f := r.isolate.Function(name, 1, func(call goja.FunctionCall) goja.Value {
			keys := r.call(engine, call.This, call.Arguments...)
			target, ok := call.Argument(0).(*goja.Object)
			if !ok || isMissing(target.GetSymbol(r.brand)) {
				return keys
			}
			var shown []any
			r.rt.ForOf(keys, func(key goja.Value) bool {
				if key != goja.Value(r.brand) {
					shown = append(shown, key)
				}
				return true
			})
			return r.rt.NewArray(shown...)
		})
		if err := o.DefineDataProperty(name, f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE); err != nil {
			return err
		}
	}
	return nil
}

// now is performance.now.
func (r *Realm) now(goja.FunctionCall) goja.Value {
	return r.rt.ToValue(float64(r.isolate.Now().UnixNano()/int64(time.Microsecond)) / 1000)
}

// clockObject is what is behind performance at dates at which it has a clock alone.
type clockObject struct{ internal }

// newPerformance makes that performance. Its class is no global there.
func (r *Realm) newPerformance() *goja.Object {
	c := newClass[*clockObject](r, "Performance", nil)
	c.attribute("timeOrigin", func(*clockObject) goja.Value { return r.rt.ToValue(0) }, nil)
	c.method("now", func(_ *clockObject, call goja.FunctionCall) goja.Value { return r.now(call) })
	c.complete()
	return c.wrap(&clockObject{})
}

// navigatorObject is what is behind navigator.
type navigatorObject struct{ internal }

func (r *Realm) newNavigator() (*goja.Object, error) {
	c := newClass[*navigatorObject](r, "Navigator", nil)
	languages := r.rt.NewArray("en")
	for _, field := range []struct {
		name  string
		value goja.Value
	}{
		{"userAgent", r.rt.ToValue(userAgent)}, {"hardwareConcurrency", r.rt.ToValue(1)}, {"platform", r.rt.ToValue("")},
		{"language", r.rt.ToValue("en")}, {"languages", languages},
	} {
		if strings.HasPrefix(field.name, "language") && !r.dated.language {
			continue
		}
		c.attribute(field.name, func(*navigatorObject) goja.Value { return field.value }, nil)
	}
	c.method("sendBeacon", func(_ *navigatorObject, call goja.FunctionCall) goja.Value { return r.sendBeacon(call) })
	if err := c.install(); err != nil {
		return nil, err
	}
	return c.wrap(&navigatorObject{}), nil
}

// scopeObject is the class of the global object, of which there are no others.
type scopeObject struct{ internal }

// installScopes makes the global object one of ServiceWorkerGlobalScope.
func (r *Realm) installScopes(global *goja.Object) error {
	parent := newClass[*scopeObject](r, "WorkerGlobalScope", nil)
	c := newClass[*scopeObject](r, "ServiceWorkerGlobalScope", nil)
	if err := c.proto.SetPrototype(parent.proto); err != nil {
		return err
	}
	if err := global.SetPrototype(c.proto); err != nil {
		return err
	}
	tag := "Object"
	if r.dated.tags {
		tag = c.name
	}
	// The engine has a tag of its own.
	_ = global.DefineDataPropertySymbol(goja.SymToStringTag, r.rt.ToValue(tag), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	if err := parent.install(); err != nil {
		return err
	}
	return c.install()
}

// newCloudflare tells a script which compatibility flags are on. Like workerd: an object without prototype that has
// every flag by the name that switches it on, and can't be changed.
func (r *Realm) newCloudflare() *goja.Object {
	flags := r.rt.CreateObject(nil)
	for _, f := range compatibility.Flags() {
		_ = flags.DefineDataProperty(f.Name, r.rt.ToValue(r.on[f.Name]), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE)
	}
	o := r.rt.NewObject()
	_ = o.Set("compatibilityFlags", flags)
	r.tag(o, "Cloudflare")
	return o
}
