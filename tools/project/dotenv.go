package project

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// vars are the values of a file by name, with the names in the order in which they first came.
type vars struct {
	names  []string
	values map[string]string
}

func (v *vars) set(name, value string) {
	if _, ok := v.values[name]; !ok {
		v.names = append(v.names, name)
	}
	v.values[name] = value
}

// parseVars reads a file of NAME=value lines by the rules of the npm package dotenv, which wrangler uses and no Go library
// has: a value in quotes may go over lines, of any of three kinds; only after a double quote is \n a line's end; a #
// after an unquoted value begins a comment; nothing is expanded. A line that is nothing of the kind is passed over.
func parseVars(text string) *vars {
	v := &vars{values: map[string]string{}}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	for text != "" {
		head := varHead.FindStringSubmatch(text)
		if head == nil {
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		var value string
		value, text = varValue(text[len(head[0]):])
		v.set(head[1], value)
	}
	return v
}

// varHead is a name and what stands between it and its value. A colon needs a space behind it.
var varHead = regexp.MustCompile(`^\s*(?:export\s+)?([\w.-]+)(?:\s*=|:\s)`)

// varValue returns the value at the start of text, and what comes after its line.
func varValue(text string) (value, rest string) {
	if quoted := strings.TrimLeft(text, " \t\n\v\f"); quoted != "" && isQuote(quoted[0]) {
		for _, end := range closings(quoted, quoted[0]) {
			after, rest, _ := strings.Cut(quoted[end+1:], "\n")
			if after = strings.TrimSpace(after); after == "" || strings.HasPrefix(after, "#") {
				return unquote(quoted[:end+1]), rest
			}
		}
	}
	line, rest, _ := strings.Cut(text, "\n")
	value, _, _ = strings.Cut(line, "#")
	return unquote(strings.TrimSpace(value)), rest
}

func isQuote(c byte) bool { return c == '\'' || c == '"' || c == '`' }

// unquote drops the quotes around a value. One that begins with a double quote has escapes, whether it ends with one or not.
func unquote(text string) string {
	if text == "" || !isQuote(text[0]) {
		return text
	}
	double := text[0] == '"'
	if len(text) > 1 && text[len(text)-1] == text[0] {
		text = text[1 : len(text)-1]
	}
	if double {
		text = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(text)
	}
	return text
}

// maxClosings bounds how many ends of a value in quotes are tried.
const maxClosings = 100

// closings returns where the quote at the start of text may end: at the next one that has no backslash before it, or else,
// from the last, at one that has.
func closings(text string, quote byte) []int {
	var ends []int
	for i := 1; i < len(text); i++ {
		if text[i] != quote {
			continue
		}
		ends = append(ends, i)
		if text[i-1] != '\\' || i == 1 {
			break
		}
	}
	slices.Reverse(ends)
	return ends[:min(len(ends), maxClosings)]
}

// The most that a value may become, and the most references that are followed on the way.
const (
	maxExpansion  = 1 << 20
	maxReferences = 1000
)

// varReference is ${NAME}, ${NAME:-default}, ${NAME:+alternative} or $NAME.
var varReference = regexp.MustCompile(`\$\{([^{}]+)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)

// expand replaces references to other values, in the values of .env files only. A value refers to those before it; what the
// process has comes before what the file says. Like the npm package dotenv-expand, which wrangler uses.
func expand(v *vars, process map[string]string) map[string]string {
	done := maps.Clone(process)
	if done == nil {
		done = map[string]string{}
	}
	for _, name := range v.names {
		if done[name] == "" {
			done[name] = strings.ReplaceAll(expandValue(v.values[name], done), `\$`, "$")
		}
	}
	return done
}

// expandValue replaces the first reference, and then looks again: what it stands for may have more.
func expandValue(text string, env map[string]string) string {
	for range maxReferences {
		at := firstReference(text)
		if at == nil || len(text) > maxExpansion {
			break
		}
		inner := ""
		if at[2] >= 0 {
			inner = text[at[2]:at[3]]
		} else {
			inner = text[at[4]:at[5]]
		}
		text = text[:at[0]] + reference(inner, env) + text[at[1]:]
	}
	return text
}

// firstReference returns the place of a reference that no backslash stands before, or nil.
func firstReference(text string) []int {
	for _, at := range varReference.FindAllStringSubmatchIndex(text, -1) {
		if at[0] == 0 || text[at[0]-1] != '\\' {
			return at
		}
	}
	return nil
}

// varOperator is between the name and the text of a reference.
var varOperator = regexp.MustCompile(`:\+|\+|:-|-`)

// reference returns what stands for a reference.
func reference(inner string, env map[string]string) string {
	name, operator, text := inner, "", ""
	if at := varOperator.FindStringIndex(inner); at != nil {
		name, operator, text = inner[:at[0]], inner[at[0]:at[1]], inner[at[1]:]
	}
	value := env[name]
	switch {
	case strings.HasSuffix(operator, "+"):
		if value == "" {
			return ""
		}
		return text
	case value == "":
		return text
	}
	return value
}
