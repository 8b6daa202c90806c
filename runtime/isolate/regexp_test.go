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
