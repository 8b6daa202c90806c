package env

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/dop251/goja"

	protokv "github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/binding/kv"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/kvapi"
	"github.com/tandem-do/tandem/runtime/webapi"
)

//go:embed classes.js
var classesSource string

// compileClasses compiles the classes, once a process.
var compileClasses = sync.OnceValues(func() (*goja.Program, error) {
	return goja.Compile("tandem-internal:env", classesSource, true)
})

// Options say what is in env.
type Options struct {
	// Manifest names the bindings. Required.
	Manifest *bundle.Manifest
	// Secrets are the values of the secrets, by name. They stand before vars of the same names.
	Secrets map[string]string
	// Namespace gives the binding of a namespace by its unique key. What it sends has the context of the event that sends
	// it. Required if the manifest binds one, or a KV namespace.
	Namespace func(uniqueKey string) *binding.Namespace
	// Service gives what a service binding reaches, or nil if that is not there.
	Service func(bundle.Service) Service
}

// Modules are the host's modules, for isolate.Options.Modules.
func Modules() map[string]func(*isolate.Isolate) (goja.Value, error) {
	return map[string]func(*isolate.Isolate) (goja.Value, error){"cloudflare:workers": workersModule}
}

// Env returns what makes env, for webapi.Options.Env.
func (o Options) Env() func(*webapi.Realm) (*goja.Object, error) {
	return func(r *webapi.Realm) (*goja.Object, error) {
		c, err := ClassesOf(r)
		if err != nil {
			return nil, err
		}
		c.options = o
		env := r.Isolate().Runtime().NewObject()
		if err := o.setValues(r, env); err != nil {
			return nil, err
		}
		for _, d := range o.Manifest.DurableObjects {
			if err := env.Set(d.Binding, c.Namespace(o.Namespace(d.UniqueKey()))); err != nil {
				return nil, err
			}
		}
		for _, k := range o.Manifest.KV {
			n := kv.New(kv.Options{Shards: o.Namespace(protokv.UniqueKey), ID: k.ID, Binding: k.Binding})
			object, err := kvapi.New(r, n)
			if err != nil {
				return nil, err
			}
			if err := env.Set(k.Binding, object); err != nil {
				return nil, err
			}
		}
		return env, o.setRefusals(r, c, env)
	}
}

func (o Options) setValues(r *webapi.Realm, env *goja.Object) error {
	for _, v := range o.Manifest.Vars {
		var text string
		var value goja.Value
		if json.Unmarshal(v.Value, &text) == nil {
			value = r.Isolate().Runtime().ToValue(text)
		} else {
			value = r.Isolate().ParseJSON(string(v.Value))
		}
		if err := env.Set(v.Name, value); err != nil {
			return err
		}
	}
	for name, value := range o.Secrets {
		if err := env.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// setRefusals has every binding that is not there say why when it is used.
func (o Options) setRefusals(r *webapi.Realm, c *Classes, env *goja.Object) error {
	reasons := map[string]string{}
	for _, u := range o.Manifest.Unavailable {
		reasons[u.Binding] = u.Reason
	}
	if err := o.setServices(c, env, reasons); err != nil {
		return err
	}
	for name, reason := range reasons {
		if err := env.Set(name, refusal(r, name, reason)); err != nil {
			return err
		}
	}
	return nil
}

// refusal stands for a binding that is not there. It may be read, passed on and looked at; whatever is asked of it throws
// the reason.
func refusal(r *webapi.Realm, name, reason string) goja.Value {
	i := r.Isolate()
	return i.Runtime().ToValue(i.Runtime().NewProxy(i.Runtime().NewObject(), &goja.ProxyTrapConfig{
		Get: func(_ *goja.Object, property string, _ goja.Value) goja.Value {
			switch property {
			case "then", "toJSON", "constructor": // the language itself asks for these
				return goja.Undefined()
			}
			i.Throw("Error", "env.%s cannot be used: %s", name, reason)
			return nil
		},
	}))
}

// Classes are the classes of one isolate. Its methods run on the isolate's goroutine.
type Classes struct {
	realm *webapi.Realm
	// Internals are what the script of the classes gives to those of other packages: make, guard, natively, tag, missing.
	Internals *goja.Object
	// IsState reports whether a value is what objects have as ctx; nil where there are none.
	IsState func(goja.Value) bool

	module                         *goja.Object
	invoke, followPath, entrypoint goja.Callable
	hasRPC, tell                   goja.Callable
	sink, writable, handle         goja.Callable
	stubs                          stubObjects
	// ids and namespaces are the prototypes of IDs and of namespaces.
	ids, namespaces *goja.Object
	// fault is why the call that was looked for last cannot be made, and unfound what is returned then.
	fault   error
	unfound *goja.Object
	// options are what env is made of; they have Namespace and Service once there is an env.
	options Options
}

type classesKey struct{}

// ClassesOf returns the classes of a realm's isolate, and makes them at the first call.
func ClassesOf(r *webapi.Realm) (*Classes, error) {
	i := r.Isolate()
	if c, ok := i.Value(classesKey{}).(*Classes); ok {
		return c, nil
	}
	p, err := compileClasses()
	if err != nil {
		return nil, fmt.Errorf("compile the classes of bindings: %w", err)
	}
	c := &Classes{realm: r, unfound: i.Runtime().NewObject()}
	v, err := i.Runtime().RunProgram(p)
	if err != nil {
		return nil, err
	}
	run, _ := goja.AssertFunction(v)
	host, err := c.host()
	if err != nil {
		return nil, err
	}
	if v, err = run(goja.Undefined(), host); err != nil {
		return nil, err
	}
	c.Internals = v.(*goja.Object)
	c.module = c.Internals.Get("module").(*goja.Object)
	c.ids, c.namespaces = c.Internals.Get("ids").(*goja.Object), c.Internals.Get("namespaces").(*goja.Object)
	c.invoke, _ = goja.AssertFunction(c.Internals.Get("invoke"))
	c.handle, _ = goja.AssertFunction(c.Internals.Get("handle"))
	c.sink, _ = goja.AssertFunction(c.Internals.Get("sink"))
	c.writable, _ = goja.AssertFunction(c.Internals.Get("writable"))
	c.followPath, _ = goja.AssertFunction(c.Internals.Get("follow"))
	c.entrypoint, _ = goja.AssertFunction(c.Internals.Get("isEntrypoint"))
	c.tell, _ = goja.AssertFunction(c.Internals.Get("tell"))
	c.hasRPC, _ = goja.AssertFunction(c.Internals.Get("supportsRPC"))
	i.Runtime().ForOf(c.Internals.Get("platform"), func(class goja.Value) bool {
		r.AddPlatformClass(class.(*goja.Object))
		return true
	})
	if err := c.stubs.install(c); err != nil {
		return nil, fmt.Errorf("install the objects of stubs: %w", err)
	}
	i.SetValue(classesKey{}, c)
	return c, nil
}

// host are the functions that the script is built on.
func (c *Classes) host() (*goja.Object, error) {
	host, err := c.functions([]function{
		{"fetch", c.fetch}, {"noMethod", c.noMethod}, {"isUnfound", c.isUnfound}, {"notFunction", c.notFunction},
		{"newStub", c.newStub}, {"dup", c.dup},
		{"dispose", c.dispose}, {"await", c.await}, {"promise", c.promise}, {"isState", c.isState},
	})
	if err != nil {
		return nil, err
	}
	for name, methods := range map[string][]function{"ids": c.idMethods(), "namespaces": c.namespaceMethods()} {
		o, err := c.functions(methods)
		if err != nil {
			return nil, err
		}
		if err := host.Set(name, o); err != nil {
			return nil, err
		}
	}
	return host, host.Set("tagged", c.realm.Tagged())
}

// function is one of the host's, with its name.
type function struct {
	name string
	f    func(goja.FunctionCall) goja.Value
}

// functions makes an object of functions.
func (c *Classes) functions(list []function) (*goja.Object, error) {
	i := c.realm.Isolate()
	o := i.Runtime().NewObject()
	for _, f := range list {
		if err := o.Set(f.name, i.Function(f.name, 0, f.f)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (c *Classes) isState(call goja.FunctionCall) goja.Value {
	return c.realm.Isolate().Runtime().ToValue(c.IsState != nil && c.IsState(call.Argument(0)))
}

func (c *Classes) mustNot(err error) {
	if err != nil {
		panic(err)
	}
}

func (c *Classes) must(v goja.Value, err error) goja.Value {
	if err != nil {
		panic(err)
	}
	return v
}

// SupportsRPC reports whether an instance is of a class that extends DurableObject.
func (c *Classes) SupportsRPC(instance goja.Value) bool {
	v, err := c.hasRPC(goja.Undefined(), instance)
	return err == nil && v.ToBoolean()
}

// follow calls what a path leads to from a value, with an array of arguments, or reads it when args is undefined. instance
// says that the value is one of a class that extends DurableObject or WorkerEntrypoint. Errors are *sidecar.Error where
// there is nothing to call, and what the script throws.
func (c *Classes) follow(on goja.Value, instance bool, path []string, args goja.Value) (v goja.Value, err error) {
	rt := c.realm.Isolate().Runtime()
	if len(path) == 1 && instance {
		v, err = c.invoke(goja.Undefined(), on, rt.ToValue(path[0]), args)
	} else {
		v, err = c.followPath(goja.Undefined(), on, c.pathValue(path), args)
	}
	return c.found(v, err)
}

func (c *Classes) pathValue(path []string) goja.Value {
	list := make([]any, len(path))
	for n, name := range path {
		list[n] = name
	}
	return c.realm.Isolate().Runtime().NewArray(list...)
}

// found makes an error of the value that says that there is nothing to call.
func (c *Classes) found(v goja.Value, err error) (goja.Value, error) {
	if err == nil && v == goja.Value(c.unfound) {
		err, c.fault = c.fault, nil
	}
	return v, err
}

func (c *Classes) isUnfound(call goja.FunctionCall) goja.Value {
	return c.realm.Isolate().Runtime().ToValue(call.Argument(0) == goja.Value(c.unfound))
}

func (c *Classes) noMethod(call goja.FunctionCall) goja.Value {
	c.fault = sidecar.NoSuchMethod([]string{call.Argument(0).String()})
	return c.unfound
}

func (c *Classes) notFunction(call goja.FunctionCall) goja.Value {
	c.fault = sidecar.NotFunction([]string{call.Argument(0).String()})
	return c.unfound
}
