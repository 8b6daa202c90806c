package env

import (
	"errors"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/nodeapi"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// workersModule makes cloudflare:workers.
func workersModule(i *isolate.Isolate) (goja.Value, error) {
	r := webapi.Of(i)
	c, err := ClassesOf(r)
	if err != nil {
		return nil, err
	}
	env, err := r.Env()
	if err != nil {
		return nil, err
	}
	m := &module{isolate: i, env: goja.NewSymbol("env"), exports: goja.NewSymbol("exports")}
	accessor := func(name string, key goja.Value, missing func() goja.Value) error {
		get := i.Function("get "+name, 0, func(goja.FunctionCall) goja.Value {
			if v := nodeapi.Value(i, key); v != nil {
				return v
			}
			return missing()
		})
		return c.module.DefineAccessorProperty(name, get, nil, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	err = errors.Join(
		accessor("env", m.env, func() goja.Value { return env }),
		accessor("exports", m.exports, func() goja.Value {
			if o := r.Exports(); o != nil {
				return o
			}
			return goja.Undefined()
		}),
		c.module.Set("restore", goja.Undefined()), c.module.Set("cache", i.Runtime().NewObject()),
	)
	for _, f := range []struct {
		name   string
		length int
		do     func(goja.FunctionCall) goja.Value
	}{
		{"waitUntil", 1, func(call goja.FunctionCall) goja.Value {
			i.RequireEvent().Context().WaitUntil(call.Argument(0))
			return goja.Undefined()
		}},
		{"withEnv", 2, func(call goja.FunctionCall) goja.Value {
			return m.with(call.Argument(1), []goja.Value{m.env, call.Argument(0)})
		}},
		{"withExports", 2, func(call goja.FunctionCall) goja.Value {
			return m.with(call.Argument(1), []goja.Value{m.exports, call.Argument(0)})
		}},
		{"withEnvAndExports", 3, func(call goja.FunctionCall) goja.Value {
			return m.with(call.Argument(2), []goja.Value{m.env, call.Argument(0), m.exports, call.Argument(1)})
		}},
		{"abortIsolate", 1, func(goja.FunctionCall) goja.Value {
			i.Throw("Error", "abortIsolate() is not supported: other requests share the isolate.")
			return nil
		}},
	} {
		err = errors.Join(err, c.module.Set(f.name, i.Function(f.name, f.length, f.do)))
	}
	return c.module, err
}

// module is what functions of cloudflare:workers share: the names by which code finds the env and the exports that it
// is to see instead of the script's.
type module struct {
	isolate      *isolate.Isolate
	env, exports *goja.Symbol
}

// with calls a function that sees other values: pairs of names and values.
func (m *module) with(function goja.Value, values []goja.Value) goja.Value {
	f, ok := goja.AssertFunction(function)
	if !ok {
		m.isolate.Throw("TypeError", "%s is not a function", function.String())
	}
	var result goja.Value
	call := func() {
		v, err := f(goja.Undefined())
		if err != nil {
			panic(err)
		}
		result = v
	}
	for n := 0; n < len(values); n += 2 {
		inner, key, value := call, values[n], values[n+1]
		call = func() { nodeapi.WithValue(m.isolate, key, value, inner) }
	}
	call()
	return result
}
