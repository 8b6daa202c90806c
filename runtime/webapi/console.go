package webapi

import (
	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// installConsole defines console. Like workerd, it prints by debug, error, info, log and warn; what the other methods
// say is for debuggers, of which there is none.
func (r *Realm) installConsole() error {
	c := r.rt.NewObject()
	printing := []struct {
		name  string
		level isolate.Level
	}{
		{"debug", isolate.LevelDebug}, {"error", isolate.LevelError}, {"info", isolate.LevelInfo},
		{"log", isolate.LevelLog}, {"warn", isolate.LevelWarn},
	}
	for _, p := range printing {
		if err := c.Set(p.name, r.isolate.Function(p.name, 0, func(call goja.FunctionCall) goja.Value {
			r.isolate.Log(p.level, r.Format(call.Arguments))
			return goja.Undefined()
		})); err != nil {
			return err
		}
	}
	for _, name := range []string{
		"dir", "dirxml", "table", "trace", "group", "groupCollapsed", "groupEnd", "clear", "count", "countReset", "assert",
		"profile", "profileEnd", "time", "timeLog", "timeEnd", "timeStamp", "context",
	} {
		if err := c.Set(name, r.isolate.Function(name, 0, func(goja.FunctionCall) goja.Value {
			return goja.Undefined()
		})); err != nil {
			return err
		}
	}
	r.tag(c, "console")
	return r.isolate.DefineGlobal("console", c)
}
