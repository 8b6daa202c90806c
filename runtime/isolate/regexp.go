package isolate

import (
	"strings"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/repair"
)

// expandPattern(pattern, flags) is repair.ExpandPattern for the constructor of regular expressions.
func (i *Isolate) expandPattern(c goja.FunctionCall) goja.Value {
	pattern, flags := c.Argument(0), c.Argument(1).String()
	text := pattern.String()
	if !strings.Contains(flags, "u") || !strings.Contains(text, `\p{`) && !strings.Contains(text, `\P{`) {
		return pattern
	}
	expanded, err := repair.ExpandPattern(text)
	if err != nil {
		i.Throw("SyntaxError", "Invalid regular expression: /%s/%s: Invalid property name", text, flags)
	}
	return i.rt.ToValue(expanded)
}
