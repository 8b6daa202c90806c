package webapi

import (
	"regexp"
	"strings"

	"github.com/dop251/goja"
)

// twoParameters matches a function or method that names at most two plain parameters: what comes before the parenthesis
// are keywords and a name.
var twoParameters = regexp.MustCompile(
	`^(?:async\b\s*)?(?:function\b\s*)?[\w$]*\s*\(\s*(?:[a-zA-Z_$][\w$]*\s*(?:,\s*[a-zA-Z_$][\w$]*\s*)?,?\s*)?\)`)

// seesThird reports whether a function may see a third argument, by its source: it names one, or has a way to those that
// it does not name.
func (r *Realm) seesThird(f *goja.Object) bool {
	source := r.call(r.intrinsic.functionText, f).String()
	return !twoParameters.MatchString(source) || strings.Contains(source, "arguments") ||
		strings.Contains(source, "eval") || strings.Contains(source, "[native code]") || strings.Contains(source, `\u`)
}
