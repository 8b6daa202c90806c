package program

import (
	"errors"
	"strings"

	"github.com/dop251/goja"
)

// newConsole returns the console. Every method that prints makes one entry of the logs; the others exist so
// that programs written elsewhere run.
func (i *isolate) newConsole() *goja.Object {
	c := i.rt.NewObject()
	for _, m := range []struct{ name, prefix string }{
		{"log", ""}, {"info", ""}, {"dir", ""}, {"table", ""}, {"debug", "[debug] "}, {"trace", "[trace] "},
		{"warn", "[warn] "}, {"error", "[error] "},
	} {
		_ = c.Set(m.name, i.function(m.name, func(call goja.FunctionCall) goja.Value {
			i.print(m.prefix, call.Arguments)
			return goja.Undefined()
		}))
	}
	_ = c.Set("assert", i.function("assert", func(call goja.FunctionCall) goja.Value {
		if !call.Argument(0).ToBoolean() {
			i.print("[error] Assertion failed ", call.Arguments[min(1, len(call.Arguments)):])
		}
		return goja.Undefined()
	}))
	for _, name := range []string{"group", "groupCollapsed", "groupEnd", "time", "timeLog", "timeEnd", "count", "clear"} {
		_ = c.Set(name, i.function(name, func(goja.FunctionCall) goja.Value { return goja.Undefined() }))
	}
	return c
}

// print logs arguments as a line. A program whose logs are full ends here.
func (i *isolate) print(prefix string, args []goja.Value) {
	line := prefix + i.formatAll(args)
	if limit := i.run.out.log(strings.TrimRight(line, " ")); limit != nil {
		i.stop(limit)
	}
}

// emit gives a value to whoever runs the program, while it runs.
func (i *isolate) emit(c goja.FunctionCall) goja.Value {
	json, err := i.stringify(c.Argument(0), i.run.limits.ResultBytes)
	if limit := (*limitReached)(nil); errors.As(err, &limit) {
		i.stop(limit)
	} else if err != nil {
		i.throw("TypeError", "emitted value is not serializable: %s", err)
	}
	if json == nil {
		json = []byte("null")
	}
	if limit := i.run.out.emitted(json); limit != nil {
		i.stop(limit)
	}
	return goja.Undefined()
}

// stop ends the program with a limit: at once where it runs, else before its next turn.
func (i *isolate) stop(l *limitReached) {
	i.run.limit = l
	i.rt.Interrupt(l)
}
