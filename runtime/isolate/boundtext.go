package isolate

import (
	"strings"

	"github.com/dop251/goja"
)

// texts bounds functions of strings and of what is written in them.
func (b *bounds) texts(text *goja.Object) {
	b.before(text, "repeat", func(c goja.FunctionCall) {
		if s, ok := c.This.(goja.String); ok {
			b.text(float64(s.Length()) * number(c.Argument(0)))
		}
	})
	for _, name := range []string{"padStart", "padEnd"} {
		b.before(text, name, func(c goja.FunctionCall) { b.text(number(c.Argument(0))) })
	}
	b.before(text, "concat", func(c goja.FunctionCall) {
		sum := units(c.This)
		for _, v := range c.Arguments {
			sum += units(v)
		}
		b.text(float64(sum))
	})
	b.around(text, "replace", b.replace)
	b.around(text, "replaceAll", b.replace)
	for _, name := range []string{"match", "matchAll", "search"} {
		b.before(text, name, func(c goja.FunctionCall) { b.pattern(c.Argument(0)) })
	}
	b.before(b.prototype("RegExp"), "compile", func(c goja.FunctionCall) { b.pattern(c.Argument(0)) })
	b.before(b.object("String"), "raw", func(c goja.FunctionCall) {
		if o, ok := c.Argument(0).(*goja.Object); ok {
			b.list(o.Get("raw"))
		}
	})
}

// number is a number's value; what is none counts as 0.
func number(v goja.Value) float64 {
	switch v.(type) {
	case *goja.Object, *goja.Symbol, nil:
		return 0
	}
	if n := v.ToFloat(); n > 0 {
		return n
	}
	return 0
}

// units is the length of a string; what is none counts as 0.
func units(v goja.Value) int64 {
	if s, ok := v.(goja.String); ok {
		return int64(s.Length())
	}
	return 0
}

func (b *bounds) text(length float64) {
	if length > maxText {
		b.Throw("RangeError", longText)
	}
}

// replace bounds what String.prototype.replace and replaceAll make of a text of replacement.
func (b *bounds) replace(inner function, c goja.FunctionCall) goja.Value {
	replacement, ok := c.Argument(1).(goja.String)
	if !ok {
		return inner(c)
	}
	length := units(c.This)
	// Each match puts in the replacement, and for each $ of it at most the whole text.
	each := units(replacement)
	if each*(length+1)+length <= maxText && !strings.Contains(replacement.String(), "$") {
		return inner(c)
	}
	if n := int64(strings.Count(replacement.String(), "$")); n > 0 {
		each += n * length
	}
	if each*(length+1)+length > maxText && each*b.matches(inner, c)+length > maxText {
		b.Throw("RangeError", longText)
	}
	return inner(c)
}

// matches counts what a pattern matches.
func (b *bounds) matches(inner function, c goja.FunctionCall) (n int64) {
	count := b.Function("", 0, func(goja.FunctionCall) goja.Value {
		n++
		return b.rt.ToValue("")
	})
	pattern, _ := c.Argument(0).(*goja.Object)
	var last goja.Value
	if pattern != nil {
		last = pattern.Get("lastIndex")
	}
	inner(goja.FunctionCall{This: c.This, Arguments: []goja.Value{c.Argument(0), count}})
	if pattern != nil && last != nil {
		_ = pattern.Set("lastIndex", last)
	}
	return n
}

// pattern checks a regular expression that is made at run time: the engine reads its groups by recursion.
func (i *Isolate) pattern(v goja.Value) {
	if units(v) < maxGroups {
		return
	}
	text := v.String()
	if nesting(text, "(", ")") > maxGroups {
		i.Throw("SyntaxError", "Invalid regular expression: /%s/: Regular expression too large", bounded(text, 100))
	}
}

// nesting is how deep brackets nest, roughly: those that are quoted count too.
func nesting(text, open, closing string) int {
	depth, most := 0, 0
	for n := range len(text) {
		switch {
		case strings.IndexByte(open, text[n]) >= 0:
			depth++
			most = max(most, depth)
		case strings.IndexByte(closing, text[n]) >= 0:
			depth = max(0, depth-1)
		}
	}
	return most
}

// checkSource(code) refuses code made from strings that the engine's parser would recurse too deep in.
func (i *Isolate) checkSource(c goja.FunctionCall) goja.Value {
	for _, v := range c.Arguments {
		code := v.String()
		arrows := 0
		for statement := range strings.SplitSeq(code, ";") {
			arrows = max(arrows, strings.Count(statement, "=>"))
		}
		if len(code) > maxEvaluated || nesting(code, "([{", ")]}") > maxSourceNesting || arrows > maxSourceNesting {
			i.Throw("RangeError", overflowText)
		}
	}
	return goja.Undefined()
}

// checkDigits(text) refuses what would take long to become a BigInt.
func (i *Isolate) checkDigits(c goja.FunctionCall) goja.Value {
	if units(c.Argument(0)) > maxDigits {
		i.Throw("RangeError", "Maximum BigInt size exceeded")
	}
	return goja.Undefined()
}
