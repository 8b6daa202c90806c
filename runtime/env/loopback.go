package env

import (
	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/bundle"
)

// loopback makes the stub of an entrypoint of the script itself, as ctx.exports has it: it is a function too, which gives
// a stub whose events have the props that it was called with.
func (c *Classes) loopback(to Service, specialize func(goja.FunctionCall) goja.Value) goja.Value {
	target := c.realm.Isolate().Function("", 0, func(goja.FunctionCall) goja.Value { return goja.Undefined() })
	_ = target.Delete("name")
	_ = target.Delete("length")
	_ = target.SetPrototype(c.stubs.services)
	return c.stubs.wrap(&stub{callee: to, invoker: invokerOf(to)}, target, &goja.ProxyTrapConfig{
		Apply: func(_ *goja.Object, this goja.Value, args []goja.Value) goja.Value {
			return specialize(goja.FunctionCall{This: this, Arguments: args})
		},
	})
}

// withProps returns what an entrypoint of the script is called as: with {props}.
func (o Options) withProps(c *Classes, to bundle.Service) func(goja.FunctionCall) goja.Value {
	return func(call goja.FunctionCall) goja.Value {
		i, to := c.realm.Isolate(), to
		if options, ok := call.Argument(0).(*goja.Object); ok {
			if props := options.Get("props"); props != nil && !goja.IsUndefined(props) {
				if _, ok := props.(*goja.Object); !ok {
					i.Throw("TypeError", "Incorrect type for the 'props' field on 'Options': the provided value is not of type 'Object'.")
				}
				to.Props = Encode(c.realm, props, ForCall)
			}
		}
		if n := len(to.Props); n > sidecar.MaxPropsBytes {
			i.Throw("RangeError", "props has %d bytes, at most %d are allowed.", n, sidecar.MaxPropsBytes)
		}
		return c.service(o.Service(to))
	}
}
