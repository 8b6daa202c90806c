package project

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// sample is a value of a kind, as both JSON and TOML write it.
func sample(k kind) string {
	return map[kind]string{
		kindString: `"text"`, kindNumber: "7", kindBool: "true", kindObject: `{}`, kindArray: `[]`,
	}[k]
}

// nested writes a configuration in which a value stands at a path and all above it is there, and the path as messages
// say it.
func nested(path, value string, toml bool) (text, shown string) {
	parts := splitPath(path)
	equals := ": "
	if toml {
		equals = " = "
	}
	for n := len(parts) - 1; n >= 0; n-- {
		switch name := strings.Replace(parts[n], "*", "any", 1); {
		case name == "[]":
			value = "[" + value + "]"
		case n > 0:
			value = "{" + keyText(name, toml) + equals + value + "}"
		default:
			text = keyText(name, toml) + equals + value
		}
	}
	shown = strings.ReplaceAll(strings.ReplaceAll(path, "[]", "[0]"), "*", "any")
	head := []string{`"name": "w",`, `"main": "i.js",`, `"compatibility_date": "2026-04-01",`}
	if toml {
		head = []string{`name = "w"`, `main = "i.js"`, `compatibility_date = "2026-04-01"`}
	}
	var lines []string
	for _, line := range head {
		if !strings.Contains(line, parts[0]) {
			lines = append(lines, line)
		}
	}
	lines = append(lines, text)
	if !toml {
		return "{" + strings.Join(lines, "\n") + "}", shown
	}
	return strings.Join(lines, "\n"), shown
}

func keyText(name string, toml bool) string {
	if toml && name != "" && !strings.ContainsAny(name, "$ ") {
		return name
	}
	return `"` + name + `"`
}

// said loads a configuration and returns all that is said of it.
func said(t *testing.T, file, text string) []Diagnostic {
	t.Helper()
	dir := write(t, map[string]string{file: text})
	o := Options{Path: filepath.Join(dir, file)}
	if strings.Contains(text, "env") && strings.Contains(text, "any") { // what was not chosen may have faults
		o.Environment = "any"
	}
	p, err := Load(o)
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Diagnostics
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.Diagnostics
}

// wantSaid checks that something of a severity has all these words, and a place.
func wantSaid(t *testing.T, list []Diagnostic, severity Severity, file, text string, words ...string) {
	t.Helper()
	for _, g := range list {
		all := g.Severity == severity && strings.HasSuffix(g.File, file) && g.Line > 0 && g.Column > 0
		for _, w := range words {
			all = all && strings.Contains(g.Message, w)
		}
		if all {
			return
		}
	}
	t.Errorf("nothing says %q of\n%s\nsaid is %v", words, text, list)
}

// Whatever key has a value of the wrong type, the message names file, place, key, what the value is and what it has to
// be; a key that changes nothing or is not supported is named whatever its value is.
func TestEachKeyOfTheWrongType(t *testing.T) {
	t.Parallel()
	for _, k := range Keys() {
		t.Run(k.Path, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []kind{kindString, kindNumber, kindBool, kindObject, kindArray} {
				for _, file := range []string{"wrangler.jsonc", "wrangler.json", "wrangler.toml"} {
					text, shown := nested(k.Path, sample(kind), file == "wrangler.toml")
					if strings.Contains(file, "toml") && strings.ContainsAny(k.Path, "$") {
						continue
					}
					wrong := k.Type&typeOf(kind) == 0
					switch {
					case k.Status == Refused:
						wantSaid(t, said(t, file, text), SeverityError, file, text, fmt.Sprintf("%q is not supported: ", shown), k.Note)
					case k.Status == Ignored && k.Path != "$schema" && !strings.ContainsAny(k.Path, ".["):
						// Others miss what goes with them.
						list := said(t, file, text)
						if len(list) > 0 && list[0].Severity == SeverityError {
							t.Errorf("an error of what is ignored: %v", list)
							continue
						}
						wantSaid(t, list, SeverityNote, file, text, fmt.Sprintf("%q is ignored: ", shown), k.Note)
					case wrong && k.Status != Ignored:
						wantSaid(t, said(t, file, text), SeverityError, file, text,
							fmt.Sprintf("%q is %s; it is %s", shown, kind, k.Type))
					}
				}
			}
			if k.Status == Supported && k.Type != Any {
				text, shown := nested(k.Path, "null", false)
				wantSaid(t, said(t, "wrangler.json", text), SeverityError, "wrangler.json", text,
					fmt.Sprintf("%q is null; it is %s", shown, k.Type))
			}
			if len(k.Values) > 0 {
				text, shown := nested(k.Path, `"`+k.Values[0]+`x"`, false)
				wantSaid(t, said(t, "wrangler.json", text), SeverityError, "wrangler.json", text,
					fmt.Sprintf("%q is %q; it is one of %q", shown, k.Values[0]+"x", k.Values[0]), "; did you mean")
			}
		})
	}
}

// Every object that has keys of its own refuses others, and names the nearest; of a key that is there twice it says so.
func TestEachObjectHasItsKeysAlone(t *testing.T) {
	t.Parallel()
	var walk func(path string, s *schema)
	walk = func(path string, s *schema) {
		names := s.names()
		if s.children["*"] == nil && len(names) > 0 && path != "" {
			longest := names[0]
			for _, n := range names {
				if len(n) > len(longest) {
					longest = n
				}
			}
			text, shown := nested(path, fmt.Sprintf(`{%q: 1, %q: 2, %q: 2}`, longest+"q", "twice", "twice"), false)
			list := said(t, "wrangler.jsonc", text)
			for _, want := range []string{
				fmt.Sprintf("unknown key %q; did you mean %q?", shown+"."+longest+"q", longest),
				fmt.Sprintf("unknown key %q", shown+".twice"),
			} {
				wantSaid(t, list, SeverityError, "wrangler.jsonc", text, want)
			}
		}
		for name, c := range s.children {
			walk(join(path, name), c)
		}
		if s.item != nil {
			walk(path+"[]", s.item)
		}
	}
	root := newSchema()
	delete(root.children, "env") // it has the keys of the top level
	walk("", root)
	text := `{"name": "w", "main": "i.js", "nam": 1}`
	list := said(t, "wrangler.jsonc", text)
	wantSaid(t, list, SeverityError, "wrangler.jsonc", text, `unknown key "nam"; did you mean "name"?`)
	text = `{"name": "w", "main": "i.js", "name": "x"}`
	list = said(t, "wrangler.jsonc", text)
	wantSaid(t, list, SeverityWarning, "wrangler.jsonc", text, `"name" is there twice; the last one counts`)
}
