package repair

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dop251/goja/ast"
)

// UnknownPropertyError is returned for a \p{…} whose property is not known. A pattern that silently never matches would
// be worse.
type UnknownPropertyError struct {
	// Name is the property as the pattern has it, cut after 100 bytes.
	Name string
}

// Error says that the property is not known.
func (e *UnknownPropertyError) Error() string {
	return fmt.Sprintf("regular expressions know no property %q here", e.Name)
}

// ExpandRegExps works round a fault of the engine: it accepts \p{…} in a regular expression and lets it match nothing. In
// the literals of a tree it becomes the class of its characters. Patterns built at run time are for ExpandPattern.
// Errors: *UnknownPropertyError.
func ExpandRegExps(tree *ast.Program) error {
	var err error
	WalkTree(tree, func(node any) (leave func()) {
		r, ok := node.(*ast.RegExpLiteral)
		if !ok || err != nil || !strings.Contains(r.Flags, "u") {
			return nil
		}
		var pattern string
		if pattern, err = ExpandPattern(r.Pattern); err == nil {
			r.Pattern = pattern
		}
		return nil
	})
	return err
}

// ExpandPattern replaces \p{…} and \P{…} of a pattern that has the u flag. Errors: *UnknownPropertyError.
func ExpandPattern(pattern string) (string, error) {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if c != '\\' || i+1 == len(pattern) {
			inClass = c == '[' || inClass && c != ']'
			b.WriteByte(c)
			continue
		}
		i++
		end := strings.IndexByte(pattern[i:], '}')
		if negated := pattern[i] == 'P'; (negated || pattern[i] == 'p') && strings.HasPrefix(pattern[i+1:], "{") && end > 0 {
			name := pattern[i+2 : i+end]
			ranges, ok := propertyRanges(name)
			if !ok {
				return "", &UnknownPropertyError{Name: name[:min(len(name), 100)]}
			}
			if negated {
				ranges = complement(ranges)
			}
			writeRanges(&b, ranges, inClass)
			i += end
			continue
		}
		b.WriteByte('\\')
		b.WriteByte(pattern[i])
	}
	return b.String(), nil
}

// runeRange is an inclusive range of characters.
type runeRange struct{ low, high rune }

func writeRanges(b *strings.Builder, ranges []runeRange, inClass bool) {
	if !inClass {
		b.WriteByte('[')
		defer b.WriteByte(']')
	}
	for _, r := range ranges {
		fmt.Fprintf(b, `\u{%x}`, r.low)
		if r.high > r.low {
			fmt.Fprintf(b, `-\u{%x}`, r.high)
		}
	}
}

// propertyRanges returns the characters of a general category, a script or a binary property.
func propertyRanges(name string) ([]runeRange, bool) {
	switch name {
	case "Any":
		return []runeRange{{0, unicode.MaxRune}}, true
	case "ASCII":
		return []runeRange{{0, 0x7f}}, true
	case "Alphabetic", "Alpha":
		return tableRanges(unicode.L, unicode.Nl, unicode.Other_Alphabetic), true
	case "Uppercase", "Upper":
		return tableRanges(unicode.Lu, unicode.Other_Uppercase), true
	case "Lowercase", "Lower":
		return tableRanges(unicode.Ll, unicode.Other_Lowercase), true
	case "ID_Start", "IDS", "XID_Start", "XIDS":
		return tableRanges(unicode.L, unicode.Nl, unicode.Other_ID_Start), true
	case "ID_Continue", "IDC", "XID_Continue", "XIDC":
		return tableRanges(unicode.L, unicode.Nl, unicode.Other_ID_Start, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc,
			unicode.Other_ID_Continue), true
	}
	key, value, ok := strings.Cut(name, "=")
	if ok {
		switch key {
		case "General_Category", "gc":
			return categoryRanges(value)
		case "Script", "sc", "Script_Extensions", "scx":
			t, ok := unicode.Scripts[value]
			if !ok {
				return nil, false
			}
			return tableRanges(t), true
		}
		return nil, false
	}
	if ranges, ok := categoryRanges(name); ok {
		return ranges, true
	}
	if t, ok := unicode.Properties[name]; ok {
		return tableRanges(t), true
	}
	return emojiRanges(emojiAlias(name))
}

func categoryRanges(name string) ([]runeRange, bool) {
	if short, ok := unicode.CategoryAliases[name]; ok {
		name = short
	}
	t, ok := unicode.Categories[name]
	if !ok {
		return nil, false
	}
	return tableRanges(t), true
}

// tableRanges returns the characters of tables as ordered ranges that neither touch nor overlap.
func tableRanges(tables ...*unicode.RangeTable) []runeRange {
	var all []runeRange
	add := func(low, high, stride rune) {
		if stride == 1 {
			all = append(all, runeRange{low, high})
			return
		}
		for r := low; r <= high; r += stride {
			all = append(all, runeRange{r, r})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	slices.SortFunc(all, func(a, b runeRange) int { return int(a.low - b.low) })
	merged := all[:0]
	for _, r := range all {
		if n := len(merged); n > 0 && r.low <= merged[n-1].high+1 {
			merged[n-1].high = max(merged[n-1].high, r.high)
		} else {
			merged = append(merged, r)
		}
	}
	return merged
}

// complement returns the characters that are in none of ordered ranges.
func complement(ranges []runeRange) []runeRange {
	var out []runeRange
	next := rune(0)
	for _, r := range ranges {
		if r.low > next {
			out = append(out, runeRange{next, r.low - 1})
		}
		next = r.high + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, runeRange{next, unicode.MaxRune})
	}
	return out
}
