package webapi

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// maxLineBytes bounds what one console line shows.
const maxLineBytes = 64 << 10

// Format words the arguments of a console method as Node does: strings as they are, the rest as a literal. A leading
// string may hold %s, %d, %i, %f, %j, %o, %O, %c and %%.
func (r *Realm) Format(args []goja.Value) string {
	args = append([]goja.Value(nil), args...)
	var b strings.Builder
	if len(args) > 0 {
		if s, ok := args[0].(goja.String); ok && len(args) > 1 && strings.Contains(s.String(), "%") {
			args = r.directives(&b, s.String(), args[1:])
			if len(args) > 0 {
				b.WriteByte(' ')
			}
		}
	}
	for n, v := range args {
		if n > 0 {
			b.WriteByte(' ')
		}
		if s, ok := v.(goja.String); ok {
			b.WriteString(s.String())
		} else {
			b.WriteString(r.Inspect(v))
		}
		if b.Len() > maxLineBytes {
			break
		}
	}
	return cut(b.String(), maxLineBytes)
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "… (cut)"
}

// directives replaces those of format and returns the arguments that are left.
func (r *Realm) directives(b *strings.Builder, format string, args []goja.Value) []goja.Value {
	for {
		before, after, ok := strings.Cut(format, "%")
		b.WriteString(before)
		if !ok {
			return args
		}
		switch {
		case after == "":
			b.WriteByte('%')
			return args
		case after[0] == '%':
			b.WriteByte('%')
		case !strings.Contains("sdifjoOc", after[:1]):
			b.WriteByte('%')
			format = after
			continue
		case len(args) == 0:
			b.WriteString("%" + after[:1])
		default:
			b.WriteString(r.directive(after[0], args[0]))
			args = args[1:]
		}
		format = after[1:]
	}
}

func (r *Realm) directive(letter byte, v goja.Value) string {
	switch letter {
	case 's':
		return r.stringDirective(v)
	case 'd', 'i', 'f':
		return numberDirective(letter, v)
	case 'j':
		text, err := r.intrinsic.jsonStringify(goja.Undefined(), v)
		if err != nil {
			return "[Circular]"
		}
		return text.String()
	case 'o':
		in := r.newInspector()
		in.Depth, in.Hidden = 4, true
		return in.format(v, 0)
	case 'O':
		return r.Inspect(v)
	}
	return "" // %c
}

func (r *Realm) stringDirective(v goja.Value) string {
	switch v := v.(type) {
	case goja.String:
		return v.String()
	case *goja.Object:
		if r.kindOf(v) == kindFunction {
			return r.call(r.intrinsic.functionText, v).String()
		}
		if r.kindOf(v) != kindProxy && !r.hasBuiltInText(v) {
			return r.text(v)
		}
		in := r.newInspector()
		in.Depth = 0
		return in.format(v, 0)
	}
	in := r.newInspector()
	return in.primitive(v)
}

// hasBuiltInText reports whether an object's toString is the language's own.
func (r *Realm) hasBuiltInText(o *goja.Object) bool {
	for p := o; p != nil; p = p.Prototype() {
		if r.describe(p, r.rt.ToValue("toString")) == nil {
			continue
		}
		c, ok := p.Get("constructor").(*goja.Object)
		return ok && p != o && r.rt.GlobalObject().Get(r.className(p)) == goja.Value(c)
	}
	return true
}

func numberDirective(letter byte, v goja.Value) string {
	switch v.(type) {
	case *goja.Object, *goja.Symbol:
		return "NaN"
	}
	if goja.IsBigInt(v) && letter != 'f' {
		n, _ := v.Export().(*big.Int)
		return n.String() + "n"
	}
	text := strings.TrimSpace(v.String())
	f := v.ToFloat()
	if letter == 'i' || letter == 'f' {
		f = leadingNumber(text, letter == 'i')
	}
	switch {
	case math.IsNaN(f):
		return "NaN"
	case f == 0 && math.Signbit(f):
		return "-0"
	}
	return numberText(f)
}

// leadingNumber is parseInt and parseFloat.
func leadingNumber(text string, whole bool) float64 {
	end := 0
	for n := 1; n <= len(text); n++ {
		var err error
		if whole {
			_, err = strconv.ParseInt(text[:n], 10, 64)
		} else {
			_, err = strconv.ParseFloat(text[:n], 64)
		}
		if err == nil && text[n-1] != '_' {
			end = n
		} else if text[n-1] != '+' && text[n-1] != '-' && text[n-1] != '.' && text[n-1] != 'e' {
			break
		}
	}
	if end == 0 {
		return math.NaN()
	}
	f, _ := strconv.ParseFloat(text[:end], 64)
	return f
}

// numberText is the language's ToString of a number.
func numberText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		mantissa, exponent, _ := strings.Cut(s, "e")
		sign := exponent[:1]
		return mantissa + "e" + sign + strings.TrimLeft(exponent[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
