package mcpsession

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// previewOf is what a preview must be, made the plain way.
func previewOf(value []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.Trim(value, " \t\r\n"), "", "  "); err != nil {
		return preview(string(value))
	}
	return preview(b.String())
}

func FuzzValuePreview(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":[true,null,{}],"c":[],"d":"x\"\\y{[,:"}`, ` [ 1 , 2 ] `, `{}`, `[[[]]]`, `"s"`, `-0.5e3`, `{`, ``,
		`{"ü":"\u00fc€😀"}`, `[` + strings.Repeat(`"€",`, 9000) + `0]`, strings.Repeat("[", 300) + strings.Repeat("]", 300),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if strings.HasPrefix(strings.TrimSpace(in), `"`) || !utf8.ValidString(in) {
			return
		}
		if got, want := valuePreview([]byte(in)), previewOf([]byte(in)); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	})
}

func TestValuePreviewOfStrings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", maxPreview+5)
	for in, want := range map[string]string{
		`"as it is"`: "as it is", ` "a\nb"`: "a\nb", `"` + long + `"`: preview(long), `"open`: `"open`,
	} {
		if got := valuePreview([]byte(in)); got != want {
			t.Errorf("%.20q is shown as %.20q, want %.20q", in, got, want)
		}
	}
}

// A result of two megabytes that nests as deep as it can would be gigabytes of spaces.
func TestValuePreviewOfDeepNesting(t *testing.T) {
	t.Parallel()
	const depth = 9000
	nest := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	value := []byte("[" + nest + strings.Repeat(","+nest, resultBytes/len(nest)-1) + "]")
	text := valuePreview(value)
	if n := utf8.RuneCountInString(text); n < maxPreview || n > maxPreview+100 {
		t.Errorf("%d characters", n)
	}
	if want := fmt.Sprintf("(cut after %d of ", maxPreview); !strings.Contains(text, want) {
		t.Errorf("it does not say that it is cut: %q", text[len(text)-60:])
	}
}
