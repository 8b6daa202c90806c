package nodeapi

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/compatibility"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

//go:embed prelude/*.js
var preludeFiles embed.FS

// Options configure the modules.
type Options struct {
	// Env is process.env, where the Worker's date and flags have it filled: the variables and secrets that are text.
	Env map[string]string
}

// node is what an isolate has of Node.js.
type node struct {
	isolate *isolate.Isolate
	rt      *goja.Runtime
	realm   *webapi.Realm
	options Options
	// on are the compatibility flags that are on.
	on map[string]bool
	// host has the functions that the prelude is built on; complete says that they are all there.
	host     *goja.Object
	complete bool
	use      goja.Value
	loaded   map[string]*goja.Object
	// uint8Array is the class, taken before a script could replace it.
	uint8Array *goja.Object
}

type nodeKey struct{}

// Install returns what defines the globals of Node.js that the isolate's compatibility flags ask for: process, Buffer,
// global, setImmediate. It belongs into isolate.Options.Install, behind that of webapi.
func Install(o Options) func(*isolate.Isolate) error {
	return func(i *isolate.Isolate) error {
		n, err := newNode(i, o)
		if err != nil {
			return fmt.Errorf("install the modules of Node.js: %w", err)
		}
		return n.installGlobals()
	}
}

// Modules returns the loaders of the modules that a compatibility date and flags switch on, for isolate.Options. They
// need Install to have run.
func Modules(date string, flags []string) map[string]func(*isolate.Isolate) (goja.Value, error) {
	out := map[string]func(*isolate.Isolate) (goja.Value, error){}
	on := compatibility.Resolve(date, flags)
	for _, m := range compatibility.NodeModules() {
		if !m.On(on) {
			continue
		}
		out[m.Name] = func(i *isolate.Isolate) (goja.Value, error) {
			n, ok := i.Value(nodeKey{}).(*node)
			if !ok {
				return nil, fmt.Errorf("%s without the globals of Node.js", m.Name)
			}
			return n.module(strings.TrimPrefix(m.Name, "node:"))
		}
	}
	return out
}

// prelude has each script.
var prelude = sync.OnceValue(func() map[string]func() (*goja.Program, error) {
	return isolate.Scripts(preludeFiles, "node:")
})

func newNode(i *isolate.Isolate, o Options) (*node, error) {
	rt := i.Runtime()
	n := &node{isolate: i, rt: rt, realm: webapi.Of(i), options: o, loaded: map[string]*goja.Object{}}
	c := i.Compatibility()
	n.on = compatibility.Resolve(c.Date, c.Flags)
	n.uint8Array = rt.Get("Uint8Array").(*goja.Object)
	n.host = rt.NewObject()
	for _, name := range []string{"setTimeout", "clearTimeout", "setInterval", "clearInterval"} {
		// The script of timers is built on the web's functions, taken before a script could replace them.
		if err := n.host.Set("web_"+name, rt.Get(name)); err != nil {
			return nil, err
		}
	}
	n.use = i.Function("use", 1, func(call goja.FunctionCall) goja.Value { return n.load(call.Argument(0).String()) })
	i.SetValue(nodeKey{}, n)
	return n, nil
}

// completeHost makes the host's functions, which isolates that use no module do without.
func (n *node) completeHost() {
	if n.complete {
		return
	}
	n.complete = true
	for name, f := range n.hostFunctions() {
		_ = n.host.Set(name, n.isolate.Function(name, 0, f))
	}
}

// hostFunctions are what the prelude is built on. It alone sees them.
func (n *node) hostFunctions() map[string]func(goja.FunctionCall) goja.Value {
	out := map[string]func(goja.FunctionCall) goja.Value{
		"flag": func(call goja.FunctionCall) goja.Value { return n.rt.ToValue(n.on[call.Argument(0).String()]) },
	}
	for _, part := range []map[string]func(goja.FunctionCall) goja.Value{
		n.bufferFunctions(), n.cryptoFunctions(), n.cipherFunctions(), n.keyFunctions(), n.processFunctions(),
		n.utilFunctions(), n.otherFunctions(),
	} {
		for name, f := range part {
			out[name] = f
		}
	}
	return out
}

// aliases are the modules that are a part of what another script gives.
func aliases() map[string][2]string {
	return map[string][2]string{
		"assert/strict": {"assert", "strict"}, "path/posix": {"path", "posix"}, "path/win32": {"path", "win32"},
		"util/types": {"util", "types"}, "sys": {"util", ""}, "timers/promises": {"timers", "promises"},
		"stream/promises": {"stream", "promises"}, "stream/web": {"streamweb", ""},
		"stream/consumers": {"streamweb", "consumers"},
	}
}

// module gives a module by its name without scheme.
func (n *node) module(name string) (v goja.Value, err error) {
	if thrown := n.rt.Try(func() {
		file, part := name, ""
		if a, ok := aliases()[name]; ok {
			file, part = a[0], a[1]
		}
		if prelude()[file] == nil {
			stub, _ := goja.AssertFunction(n.load("stubs").Get("make"))
			v = n.call(stub, n.rt.ToValue(name))
			return
		}
		o := n.load(file)
		v = o
		if part != "" {
			v = o.Get(part)
		}
	}); thrown != nil {
		return nil, thrown
	}
	return v, nil
}

// load runs a script of the prelude at its first use and returns what it gives.
func (n *node) load(name string) *goja.Object {
	if o := n.loaded[name]; o != nil {
		return o
	}
	compile := prelude()[name]
	if compile == nil {
		n.isolate.Throw("Error", "the prelude has no %s", name)
	}
	p, err := compile()
	if err != nil {
		n.isolate.Throw("Error", "%s", err)
	}
	n.completeHost()
	v, err := n.rt.RunProgram(p)
	if err != nil {
		panic(err)
	}
	run, _ := goja.AssertFunction(v)
	o := n.call(run, n.host, n.use).(*goja.Object)
	n.loaded[name] = o
	return o
}

// call calls a function and throws what it throws.
func (n *node) call(f goja.Callable, args ...goja.Value) goja.Value {
	v, err := f(goja.Undefined(), args...)
	if err != nil {
		panic(err)
	}
	return v
}

// throwCode throws an error that has a code, as those of Node.js have.
func (n *node) throwCode(class, code, format string, args ...any) {
	e := n.isolate.NewError(class, fmt.Sprintf(format, args...))
	withCode, _ := goja.AssertFunction(n.load("errors").Get("withCode"))
	panic(n.call(withCode, e, n.rt.ToValue(code)))
}
