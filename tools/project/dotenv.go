package project

import (
	"regexp"
	"strings"
)

// parseVars reads a file of NAME=value lines by the rules of the npm package dotenv, which wrangler uses and no Go
// library has: a value in quotes may go over lines, of any of three kinds; only in double quotes is \n a line's end;
// a # after an unquoted value begins a comment; nothing is expanded. A line that is nothing of the kind is passed
// over.
func parseVars(text string) map[string]string {
	vars := map[string]string{}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	for text != "" {
		head := varHead.FindStringSubmatch(text)
		if head == nil {
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		rest := text[len(head[0]):]
		var value string
		value, text = varValue(rest)
		vars[head[1]] = value
	}
	return vars
}

// varHead is a name and what stands between it and its value. A colon needs a space behind it.
var varHead = regexp.MustCompile(`^\s*(?:export\s+)?([\w.-]+)(?:[ \t]*=|:[ \t]+)[ \t]*`)

// varValue returns the value at the start of text, and what comes after its line.
func varValue(text string) (value, rest string) {
	if text != "" && strings.ContainsRune("'\"`", rune(text[0])) {
		quote := text[0]
		if end := closing(text, quote); end > 0 {
			after, rest, _ := strings.Cut(text[end+1:], "\n")
			if after = strings.TrimSpace(after); after == "" || strings.HasPrefix(after, "#") {
				value = text[1:end]
				if quote == '"' {
					value = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(value)
				}
				return value, rest
			}
		}
	}
	line, rest, _ := strings.Cut(text, "\n")
	value, _, _ = strings.Cut(line, "#")
	return strings.TrimSpace(value), rest
}

// closing returns where the quote at the start of text ends, or -1. A backslash keeps the next quote from ending it.
func closing(text string, quote byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}

// maxExpansion bounds how long a value may become.
const maxExpansion = 1 << 20

// varReference is $NAME, ${NAME} or ${NAME:-default}, or one with a backslash before it, which is none.
var varReference = regexp.MustCompile(`\\?\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}\\]*))?\}|([A-Za-z_][A-Za-z0-9_]*))`)

// expand replaces references to other values, in the values of .env files only. What the process has comes before what
// the file says. Like the npm package dotenv-expand, but a value that refers to itself is empty.
func expand(vars, process map[string]string) map[string]string {
	done := map[string]string{}
	for name, v := range process {
		done[name] = v
	}
	pending := map[string]bool{}
	var resolve func(name string) string
	resolve = func(name string) string {
		if v, ok := done[name]; ok {
			return v
		}
		text, ok := vars[name]
		if !ok || pending[name] {
			return ""
		}
		pending[name] = true
		v := varReference.ReplaceAllStringFunc(text, func(ref string) string {
			if ref[0] == '\\' {
				return ref[1:]
			}
			m := varReference.FindStringSubmatch(ref)
			if v := resolve(m[1] + m[3]); v != "" {
				return v
			}
			return m[2]
		})
		if len(v) > maxExpansion {
			v = text
		}
		delete(pending, name)
		done[name] = v
		return v
	}
	for name := range vars {
		resolve(name)
	}
	return done
}
