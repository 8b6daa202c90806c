package isolate

import (
	"testing"

	"github.com/dop251/goja"
)

func TestProperties(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		expression string
		want       bool
	}{
		{`/^[$_\p{ID_Start}][$\u200c\u200d\p{ID_Continue}]*$/u.test("größe1")`, true},
		{`/^\p{ID_Start}/u.test("1a")`, false},
		{`/^(\p{Extended_Pictographic}|\p{Emoji_Component})+$/u.test("👍🏽")`, true},
		{`/\p{Emoji_Presentation}/u.test("a1")`, false},
		{`/\p{EPres}/u.test("😀")`, true},
		{`/^\P{Emoji}$/u.test("x")`, true},
		{`new RegExp("^[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$", "u").test("🙂")`, true},
		{`RegExp("^\\p{L}+$", "ui").test("größe")`, true},
		{`new RegExp("^\\p{L}", "u").test("1")`, false},
		{`new RegExp("p{2}").test("pp")`, true},
		{`new (class X extends RegExp { get x() { return 1 } })("^\\p{Lu}$", "u").test("Ä")`, true},
		{`RegExp.prototype === /x/.constructor.prototype && /x/.constructor === RegExp && /x/ instanceof RegExp`, true},
		{`(r => RegExp(r) === r && new RegExp(r) !== r && RegExp(r, "g").flags === "g")(/x/)`, true},
		{`RegExp.name === "RegExp" && RegExp.length === 2 && RegExp[Symbol.species] === RegExp`, true},
		{`"a1b2".split(/\d/).join() === "a,b," && "aXa".replace(new RegExp("x", "i"), "-") === "a-a"`, true},
		{`(() => { try { new RegExp("\\p{None}", "u") } catch (e) { return e instanceof SyntaxError } })()`, true},
	} {
		p, err := Compile(Source{Code: "(function () { return { get ok() { return " + test.expression + " } } })"})
		if err != nil {
			t.Error(err)
			continue
		}
		i, err := New(t.Context(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got bool
		err = i.NewContext(ContextOptions{}).Run(t.Context(), func(*Event) (goja.Value, error) {
			got = i.Exports().Get("ok").ToBoolean()
			return goja.Undefined(), nil
		}, nil)
		if err != nil || got != test.want {
			t.Errorf("%s is %v, %v", test.expression, got, err)
		}
		i.Close()
	}
}
