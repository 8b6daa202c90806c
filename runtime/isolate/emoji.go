package isolate

import (
	_ "embed"
	"strconv"
	"strings"
)

// emojiTable has a property's name at the start of a line, and ranges of characters behind it, on that line and those
// that begin with a tab. The properties of emoji are in no table of the standard library.
//
//go:embed emoji.txt
var emojiTable string

// emojiRanges returns the characters of a property of emoji.
func emojiRanges(name string) ([]runeRange, bool) {
	for entry := range strings.SplitSeq(strings.ReplaceAll(emojiTable, "\n\t", " "), "\n") {
		rest, ok := strings.CutPrefix(entry, name+" ")
		if !ok {
			continue
		}
		var out []runeRange
		for text := range strings.FieldsSeq(rest) {
			first, last, many := strings.Cut(text, "-")
			if !many {
				last = first
			}
			low, _ := strconv.ParseUint(first, 16, 32)
			high, _ := strconv.ParseUint(last, 16, 32)
			out = append(out, runeRange{rune(low), rune(high)})
		}
		return out, true
	}
	return nil, false
}

// emojiAlias is the long name of a property of emoji.
func emojiAlias(name string) string {
	switch name {
	case "EPres":
		return "Emoji_Presentation"
	case "EMod":
		return "Emoji_Modifier"
	case "EBase":
		return "Emoji_Modifier_Base"
	case "EComp":
		return "Emoji_Component"
	case "ExtPict":
		return "Extended_Pictographic"
	}
	return name
}
