package webapi

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// The bounds and measures of Node's util.inspect.
const (
	inspectDepth   = 2
	inspectEntries = 100
	inspectString  = 10_000
	inspectWidth   = 80
	inspectCompact = 3
	// inspectBytes bounds the whole.
	inspectBytes = 64 << 10
)

// Inspect words a value as a programmer would write it, in the layout of Node's util.inspect. It throws nothing: what
// getters and proxies throw is worded too.
func (r *Realm) Inspect(v goja.Value) string {
	in := r.newInspector()
	return in.format(v, 0)
}

// inspector words one value.
type inspector struct {
	realm *Realm
	InspectOptions
	seen []*goja.Object
	// circular numbers the objects that occur within themselves.
	circular map[*goja.Object]int
	indent   int
	// current is the depth of the object that was begun last.
	current int
	written int
}

// format words a value at a depth.
func (in *inspector) format(v goja.Value, depth int) (text string) {
	o, ok := v.(*goja.Object)
	if !ok {
		text = in.primitive(v)
		in.written += len(text)
		return text
	}
	if in.written > inspectBytes {
		return "…"
	}
	if thrown := in.realm.rt.Try(func() { text = in.object(o, depth) }); thrown != nil {
		return "[unreadable]"
	}
	in.written += 8
	return text
}

// primitive words what is no object; a string in quotes.
func (in *inspector) primitive(v goja.Value) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case goja.String:
		return in.quotedLines(v)
	case *goja.Symbol:
		return symbolText(v)
	}
	switch {
	case goja.IsBigInt(v):
		n, _ := v.Export().(*big.Int)
		return n.String() + "n"
	case goja.IsNumber(v):
		if f := v.ToFloat(); f == 0 && math.Signbit(f) {
			return "-0"
		}
	}
	return v.String()
}

func symbolText(s *goja.Symbol) string { return "Symbol(" + s.String() + ")" }

// quotedLines quotes a string, and breaks a long one behind its line feeds.
func (in *inspector) quotedLines(s goja.String) string {
	text := s.String()
	trailer := ""
	if len(text) > in.MaxString {
		rest := utf8.RuneCountInString(text[in.MaxString:])
		text, trailer = strings.ToValidUTF8(text[:in.MaxString], ""), fmt.Sprintf("... %d more characters", rest)
		if rest == 1 {
			trailer = "... 1 more character"
		}
	}
	if len(text) > 16 && len(text) > in.Width-in.indent-4 && strings.Contains(text, "\n") {
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for n := range lines {
			lines[n] = quoteJS(lines[n])
		}
		return strings.Join(lines, " +\n"+strings.Repeat(" ", in.indent+2)) + trailer
	}
	if strings.Contains(text, "\ufffd") && trailer == "" {
		return quoteUnits(s)
	}
	return quoteJS(text) + trailer
}

// quoteUnits quotes a string that may have halves of characters.
func quoteUnits(s goja.String) string {
	var b strings.Builder
	for n := 0; n < s.Length(); n++ {
		u := s.CharAt(n)
		switch {
		case u >= 0xd800 && u < 0xdc00 && n+1 < s.Length() && s.CharAt(n+1) >= 0xdc00 && s.CharAt(n+1) < 0xe000:
			b.WriteRune((rune(u)-0xd800)<<10 + rune(s.CharAt(n+1)) - 0xdc00 + 0x10000)
			n++
		case u >= 0xd800 && u < 0xe000:
			fmt.Fprintf(&b, "\x00u%04x", u)
		default:
			b.WriteRune(rune(u))
		}
	}
	return strings.ReplaceAll(quoteJS(b.String()), `\x00u`, `\u`)
}

// quoteJS quotes as Node does: with the first of ' " ` that needs no escape.
func quoteJS(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") {
		if !strings.Contains(s, `"`) {
			quote = '"'
		} else if !strings.Contains(s, "`") && !strings.Contains(s, "${") {
			quote = '`'
		}
	}
	var b strings.Builder
	b.WriteByte(quote)
	for _, c := range s {
		switch {
		case c == rune(quote) || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\b':
			b.WriteString(`\b`)
		case c == '\f':
			b.WriteString(`\f`)
		case c == '\v':
			b.WriteString(`\v`)
		case c < 0x20 || c >= 0x7f && c <= 0x9f:
			fmt.Fprintf(&b, `\x%02X`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

func (in *inspector) object(o *goja.Object, depth int) string {
	if in.realm.kindOf(o) == kindProxy {
		target := o.Export().(goja.Proxy).Target()
		if target == nil {
			return "<Revoked Proxy>"
		}
		return "Proxy(" + in.format(target, depth) + ")"
	}
	if slices.Contains(in.seen, o) {
		if in.circular == nil {
			in.circular = map[*goja.Object]int{}
		}
		if in.circular[o] == 0 {
			in.circular[o] = len(in.circular) + 1
		}
		return fmt.Sprintf("[Circular *%d]", in.circular[o])
	}
	if text, ok := in.customText(o, depth); ok {
		return text
	}
	return in.raw(o, depth)
}

// shape is how an object is laid out: base, then entries between braces.
type shape struct {
	base        string
	open, close string
	array       bool
	// keys are the properties that are shown behind the entries.
	keys []property
	// entries words what the object holds beside properties; depth is that of what it holds.
	entries func(depth int) []string
}

func (in *inspector) raw(o *goja.Object, depth int) string {
	s, done := in.shapeOf(o)
	if done {
		return s.base
	}
	if depth > in.Depth {
		return "[" + strings.TrimSuffix(in.prefix(o, in.fallback(o), ""), " ") + "]"
	}
	depth++
	in.seen = append(in.seen, o)
	in.current = depth
	var out []string
	if s.entries != nil {
		out = s.entries(depth)
	}
	for _, k := range s.keys {
		out = append(out, in.property(o, k, depth))
	}
	in.seen = in.seen[:len(in.seen)-1]
	if n := in.circular[o]; n != 0 {
		ref := fmt.Sprintf("<ref *%d>", n)
		if s.base == "" {
			s.open = ref + " " + s.open
		} else {
			s.base = ref + " " + s.base
		}
	}
	return in.reduce(s, out, depth, o)
}

// reduce lays the parts out, on one line if they fit.
func (in *inspector) reduce(s shape, out []string, depth int, o *goja.Object) string {
	entries := len(out)
	if s.array && entries > 6 && in.Compact >= 1 {
		out = in.group(out, o)
	}
	head := s.open
	if s.base != "" {
		head = s.base + " " + s.open
	}
	if in.current-depth < in.Compact && entries == len(out) {
		start := len(out) + in.indent + len(s.open) + len(s.base) + 10
		if in.fits(out, start, s.base) {
			joined := strings.Join(out, ", ")
			if !strings.Contains(joined, "\n") {
				return head + " " + joined + " " + s.close
			}
		}
	}
	line := "\n" + strings.Repeat(" ", in.indent)
	return head + line + "  " + strings.Join(out, ","+line+"  ") + line + s.close
}

func (in *inspector) fits(out []string, start int, base string) bool {
	total := len(out) + start
	if total+len(out) > in.Width {
		return false
	}
	for _, s := range out {
		if total += utf8.RuneCountInString(s); total > in.Width {
			return false
		}
	}
	return !strings.Contains(base, "\n")
}

// group puts the entries of a long array into columns.
func (in *inspector) group(out []string, o *goja.Object) []string {
	const separator = 2
	count := len(out)
	more := count > in.MaxEntries
	if more {
		count--
	}
	widths := make([]int, count)
	total, longest := 0, 0
	for n := range count {
		widths[n] = utf8.RuneCountInString(out[n])
		total += widths[n] + separator
		longest = max(longest, widths[n])
	}
	actual := longest + separator
	if actual*3+in.indent >= in.Width || !(float64(total)/float64(actual) > 5 || longest <= 6) {
		return out
	}
	bias := math.Sqrt(float64(actual) - float64(total)/float64(len(out)))
	biased := math.Max(float64(actual)-3-bias, 1)
	columns := min(int(math.Round(math.Sqrt(2.5*biased*float64(count))/biased)),
		(in.Width-in.indent)/actual, in.Compact*4, 15)
	if columns <= 1 {
		return out
	}
	column := make([]int, columns)
	for n, w := range widths {
		column[n%columns] = max(column[n%columns], w+separator)
	}
	left := in.realm.allNumbers(o, count)
	var rows []string
	for n := 0; n < count; n += columns {
		rows = append(rows, row(out[n:min(n+columns, count)], widths[n:], column, left))
	}
	if more {
		rows = append(rows, out[count])
	}
	return rows
}

// row pads the cells of a line, numbers on their left.
func row(cells []string, widths, column []int, left bool) string {
	var b strings.Builder
	for n, cell := range cells {
		last := n == len(cells)-1
		pad := strings.Repeat(" ", max(0, column[n]-2-widths[n]))
		if left {
			b.WriteString(pad)
		}
		b.WriteString(cell)
		if last {
			break
		}
		b.WriteString(", ")
		if !left {
			b.WriteString(pad)
		}
	}
	return b.String()
}

// allNumbers reports whether the first entries of an array are all numbers.
func (r *Realm) allNumbers(o *goja.Object, count int) bool {
	for n := range count {
		v := o.Get(strconv.Itoa(n))
		if !goja.IsNumber(v) && !goja.IsBigInt(v) {
			return false
		}
	}
	return true
}
