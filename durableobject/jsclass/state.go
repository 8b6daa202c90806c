package jsclass

import "github.com/dop251/goja"

// stateHandle is what is behind the DurableObjectState of an object; the object itself is behind its storage.
type stateHandle struct{ *object }

// newState makes what the script has as ctx.
func (o *object) newState(id, exports goja.Value) *goja.Object {
	g, rt := o.engine, o.isolate.Runtime()
	storage, state := rt.CreateObject(g.storage), rt.CreateObject(g.state)
	g.realm.Attach(storage, o)
	_ = storage.DefineAccessorProperty("sql", g.sql, nil, goja.FLAG_TRUE, goja.FLAG_TRUE)
	_ = storage.DefineAccessorProperty("kv", g.kv, nil, goja.FLAG_TRUE, goja.FLAG_TRUE)
	g.realm.Attach(state, &stateHandle{o})
	define := func(name string, v goja.Value) {
		_ = state.DefineDataProperty(name, v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE)
	}
	define("facets", g.facets)
	define("container", goja.Undefined())
	define("storage", storage)
	define("id", id)
	define("props", rt.NewObject())
	if !goja.IsUndefined(exports) {
		define("exports", exports)
	}
	return state
}
