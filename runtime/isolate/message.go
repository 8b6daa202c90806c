package isolate

import "strings"

// v8Message words a message of the engine's as V8 would, as far as the message tells. Others stay as they are.
func v8Message(text string) string {
	switch text {
	case "":
		return text
	case "Value is not object coercible":
		return "Cannot destructure 'undefined' as it is undefined."
	case "No initial value":
		return "Reduce of empty array with no initial value"
	case "object is not iterable":
		return "object is not iterable (cannot read property Symbol(Symbol.iterator))"
	}
	switch text[0] {
	case 'O':
		if name, ok := quotedAfter(text, "Object has no member '"); ok {
			return "(intermediate value)." + name + " is not a function"
		}
	case 'C':
		if name, rest, ok := quotedThen(text, "Cannot read property '"); ok && strings.HasPrefix(rest, " of undefined") {
			return "Cannot read properties of undefined (reading '" + name + "')"
		}
	case 'V':
		if what, ok := strings.CutPrefix(text, "Value is not an object: "); ok {
			return what + " is not a function"
		}
		if what, ok := strings.CutPrefix(text, "Value is not callable: "); ok {
			return what + " is not a function"
		}
	}
	return text
}

// quotedAfter returns what stands between a prefix and a quotation mark at the end.
func quotedAfter(text, prefix string) (string, bool) {
	name, rest, ok := quotedThen(text, prefix)
	return name, ok && rest == ""
}

// quotedThen returns what stands between a prefix and the last quotation mark, and what follows.
func quotedThen(text, prefix string) (name, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, prefix)
	end := strings.LastIndexByte(text, '\'')
	if !ok || end < 0 {
		return "", "", false
	}
	return text[:end], text[end+1:], true
}

// v8Head words the first line of a stack, which holds the message.
func v8Head(head string) string {
	name, message, ok := strings.Cut(head, ": ")
	if !ok || name != "TypeError" && name != "RangeError" {
		return head
	}
	return name + ": " + v8Message(message)
}
