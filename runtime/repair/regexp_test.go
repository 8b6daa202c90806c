package repair

import (
	"errors"
	"regexp"
	"testing"
)

// Go's syntax for characters differs from JavaScript's in this one form.
var codePoint = regexp.MustCompile(`\\u\{([0-9a-f]+)\}`)

func TestExpandPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, matches, not string }{
		{`^\p{L}+$`, "größe", "a1"},
		{`^\p{Lu}\p{Ll}$`, "Äé", "äÉ"},
		{`^\p{Script=Greek}+$`, "λόγος", "logos"},
		{`^\p{General_Category=Decimal_Number}$`, "٣", "x"},
		{`^[\p{L}\p{Nd}_]+$`, "é_٣", "é-"},
		{`^[^\p{L}]$`, "1", "a"},
		{`^\P{L}$`, "1", "a"},
		{`^[\P{L}x]+$`, "1x", "y"},
		{`^\p{Emoji_Presentation}$`, "😀", "a"},
		{`^\p{ID_Start}\p{ID_Continue}*$`, "ünïc0de", "0a"},
	} {
		got, err := ExpandPattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		re, err := regexp.Compile(codePoint.ReplaceAllString(got, `\x{$1}`))
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if !re.MatchString(c.matches) || re.MatchString(c.not) {
			t.Errorf("%s became %.80s: matches %q %v, %q %v", c.pattern, got,
				c.matches, re.MatchString(c.matches), c.not, re.MatchString(c.not))
		}
	}
}

func TestExpandPatternRefuses(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{`\p{}`, `\p{Nothing}`, `[\P{Script=Klingon}]`, `\p{sc=}`} {
		var unknown *UnknownPropertyError
		if got, err := ExpandPattern(pattern); !errors.As(err, &unknown) {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
}

func TestExpandPatternLeavesOthers(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{``, `a[b]{2}`, `\\p{L}`, `\d\]`, `\`, `p{L}`} {
		if got, err := ExpandPattern(pattern); got != pattern || err != nil {
			t.Errorf("%s became %s, %v", pattern, got, err)
		}
	}
}
