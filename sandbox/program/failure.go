package program

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// maxErrorBytes bounds the text of an error.
const maxErrorBytes = 16 << 10

// describe words a thrown value: the message alone for an Error, "TypeError: message" for its kinds, with
// the author's line where the engine threw it. It never runs conversions of the program's own, which might
// throw or not end, but for getters; those are guarded.
func (i *isolate) describe(v goja.Value) string {
	var text string
	if i.rt.Try(func() { text = i.describeUnguarded(v) }) != nil {
		text = "an error whose properties cannot be read"
	}
	return bounded(text, maxErrorBytes)
}

func (i *isolate) describeUnguarded(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		if v == nil {
			return "undefined"
		}
		return v.String()
	}
	message, isText := o.Get("message").(goja.String)
	if o.ClassName() != "Error" && !isText {
		json, err := i.stringify(o, maxErrorBytes)
		if err != nil || json == nil {
			return "a thrown " + o.ClassName()
		}
		return string(json)
	}
	name := "Error"
	if n, ok := o.Get("name").(goja.String); ok && n.Length() > 0 {
		name = n.String()
	}
	text := ""
	if isText {
		text = message.String()
	}
	switch {
	case name == "Error" && text == "":
		return "Error"
	case name == "Error":
		return text
	case text == "":
		return name
	}
	text = name + ": " + text
	if engineErrors[name] && i.run != nil {
		if stack, ok := o.Get("stack").(goja.String); ok {
			text += i.run.placeInStack(stack.String())
		}
	}
	return text
}

// engineErrors are the classes whose place is worth telling, since the engine may have thrown them.
var engineErrors = map[string]bool{
	"TypeError": true, "ReferenceError": true, "RangeError": true, "SyntaxError": true, "URIError": true,
}

var frameInStack = regexp.MustCompile(`(?m)[ \t(]` + sourceName + `:(\d+):(\d+)\(`)

// placeInStack finds the innermost line of the author's in a stack trace.
func (e *execution) placeInStack(stack string) string {
	m := frameInStack.FindStringSubmatch(stack)
	if m == nil {
		return ""
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	return e.placeText(line, column)
}

func (e *execution) place(stack []goja.StackFrame) string {
	for _, f := range stack {
		if f.SrcName() == sourceName {
			p := f.Position()
			return e.placeText(p.Line, p.Column)
		}
	}
	return ""
}

func (e *execution) placeText(line, column int) string {
	if line == 1 {
		column = max(1, column-e.shift)
	}
	return fmt.Sprintf(" (line %d:%d)", line, column)
}

func (e *execution) describe(v goja.Value) string { return e.isolate.describe(v) }

// bounded cuts text at a limit, between two characters, and says so.
func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.ToValidUTF8(text[:cut], "\ufffd") + "… (cut)"
}
