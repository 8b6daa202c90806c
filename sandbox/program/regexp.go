package program

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dop251/goja/ast"

	"github.com/tandem-do/tandem/runtime/repair"
)

// expandRegExps rewrites the regular expression literals of a tree. The engine accepts \p{…} and lets it
// match nothing; here it becomes the class of its characters. What is not known is refused, since a
// pattern that silently never matches is worse. Patterns built at run time are not reached.
func expandRegExps(tree *ast.Program) error {
	var err error
	repair.WalkTree(tree, func(node any) (leave func()) {
		r, ok := node.(*ast.RegExpLiteral)
		if !ok || err != nil || !strings.Contains(r.Flags, "u") {
			return nil
		}
		var pattern string
		if pattern, err = expandProperties(r.Pattern); err == nil {
			r.Pattern = pattern
		}
		return nil
	})
	return err
}

// expandProperties replaces \p{…} and \P{…} of a pattern with the u flag.
func expandProperties(pattern string) (string, error) {
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
				return "", &syntaxError{message: fmt.Sprintf("regular expressions know no property %q here", bounded(name, 100))}
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
	return nil, false
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
