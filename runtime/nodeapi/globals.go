package nodeapi

import "github.com/dop251/goja"

// installGlobals defines the globals. Like workerd: those of Node.js with nodejs_compat_v2, which a date brings along.
func (n *node) installGlobals() error {
	if !n.on["nodejs_compat_v2"] {
		return nil
	}
	if err := n.isolate.DefineGlobal("global", n.rt.GlobalObject()); err != nil {
		return err
	}
	for _, g := range []struct{ global, file, property string }{
		{"process", "process", ""}, {"Buffer", "buffer", "Buffer"},
		{"setImmediate", "timers", "setImmediate"}, {"clearImmediate", "timers", "clearImmediate"},
	} {
		if err := n.defineLazily(g.global, g.file, g.property); err != nil {
			return err
		}
	}
	if !n.on["enable_nodejs_global_timers"] {
		return nil
	}
	for _, name := range []string{"setTimeout", "clearTimeout", "setInterval", "clearInterval"} {
		if err := n.defineLazily(name, "timers", name); err != nil {
			return err
		}
	}
	return nil
}

// defineLazily defines a global that is made when it is first used.
func (n *node) defineLazily(name, file, property string) error {
	global := n.rt.GlobalObject()
	become := func(v goja.Value) {
		_ = global.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
	getter := n.isolate.Function("get "+name, 0, func(goja.FunctionCall) goja.Value {
		var v goja.Value = n.load(file)
		if property != "" {
			v = n.load(file).Get(property)
		}
		become(v)
		return v
	})
	setter := n.isolate.Function("set "+name, 1, func(call goja.FunctionCall) goja.Value {
		become(call.Argument(0))
		return goja.Undefined()
	})
	_ = global.Delete(name)
	return global.DefineAccessorProperty(name, getter, setter, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
