package webapi

import (
	"testing"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

func TestSeesThird(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `export {};`, isolate.Options{}, Options{})
	inEvent(t, i, func(r *Realm) {
		for source, want := range map[string]bool{
			"({ f() {} }).f":        false,
			"({ async f(a) {} }).f": false,
			"({ async fetch ( a , $b_1, ) { g(a, $b_1); } }).fetch": false,
			"(a, b) => a":                               false,
			"async (a) => a":                            false,
			"(function (a, b) { return a + b; })":       false,
			"(async function named(a, b) {})":           false,
			"({ f(a, b, c) {} }).f":                     true,
			"({ f(...a) {} }).f":                        true,
			"({ f(a, b = 1) {} }).f":                    true,
			"({ f(a, b, c = 1) {} }).f":                 true,
			"({ f(a, b, ...c) {} }).f":                  true,
			"({ f(a, { b }) {} }).f":                    true,
			"({ f(a /* */) {} }).f":                     true,
			"(function () { return arguments; })":       true,
			"(function () { return \\u0061rguments; })": true,
			"(function () { return eval('1'); })":       true,
			"({ ['f'](a, b) {} }).f":                    true,
			"({ [String('f')](a, b, c) {} }).f":         true,
			"a => a":                                    true, // for want of a parenthesis
			"a => ((b) => a)(1)":                        true,
			"(function (a) {}).bind(null)":              true,
			"new Proxy(function () {}, {})":             true,
			"Math.max":                                  true,
		} {
			v, err := r.rt.RunString(source)
			if err != nil {
				t.Errorf("%s: %v", source, err)
				continue
			}
			if got := r.seesThird(v.(*goja.Object)); got != want {
				t.Errorf("%s: got %v, want %v", source, got, want)
			}
		}
	})
}
