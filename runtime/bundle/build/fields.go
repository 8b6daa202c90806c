package build

import (
	"errors"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/tandem-do/tandem/runtime/repair"
)

// oddFields returns where the names of class fields may begin that the engine's parser takes for an accessor or an async
// method, as esbuild writes them: `get = `, `set = ` and `async = ` at the beginning of a line. The same text may be an
// assignment, or a line of a template.
func oddFields(code string) (names []int) {
	line := 0
	for text := range strings.Lines(code) {
		rest := strings.TrimPrefix(strings.TrimLeft(text, " "), "static ")
		for _, name := range []string{"get = ", "set = ", "async = "} {
			if strings.HasPrefix(rest, name) {
				names = append(names, line+len(text)-len(rest))
			}
		}
		line += len(text)
	}
	return names
}

// maxFieldParses bounds how often a script is parsed to find out which of its lines are fields.
const maxFieldParses = 8

// quoteFields writes such fields as the parser takes them, `"get"=` for `get = `, and changes nothing else: no column
// moves. A script that the parser refuses for another reason stays as it is.
func quoteFields(code string) string {
	odd := oddFields(code)
	for range maxFieldParses {
		if len(odd) == 0 {
			break
		}
		quoted := quote(code, odd)
		fields, faults, err := parseFields(quoted)
		switch {
		case err == nil:
			return quote(code, slices.DeleteFunc(odd, func(name int) bool { return !fields[name] }))
		case len(faults) == 0:
			return code
		}
		before := len(odd)
		// A string is assigned to: this one is a variable.
		odd = slices.DeleteFunc(odd, func(name int) bool { return faults[name] })
		if len(odd) == before {
			return code
		}
	}
	return code
}

// quote quotes the names at these places.
func quote(code string, names []int) string {
	text := []byte(code)
	for _, at := range names {
		end := at
		for text[end] != ' ' {
			end++
		}
		copy(text[at:], `"`+code[at:end]+`"=`)
	}
	return string(text)
}

// parseFields returns where the names of fields begin, or else where the engine's parser found faults.
func parseFields(code string) (fields, faults map[int]bool, err error) {
	defer func() {
		if recover() != nil { // the parser has faults of its own; whoever compiles the script says so
			err = errors.New("the engine cannot parse this script")
		}
	}()
	tree, err := parser.ParseFile(nil, "", code, 0, parser.WithDisableSourceMaps)
	if list, ok := errors.AsType[parser.ErrorList](err); ok {
		faults = map[int]bool{}
		lines := lineOffsets(code)
		for _, e := range list {
			if e.Position.Line >= 1 && e.Position.Line <= len(lines) {
				faults[lines[e.Position.Line-1]+e.Position.Column-1] = true
			}
		}
	}
	if err != nil {
		return nil, faults, err
	}
	fields = map[int]bool{}
	repair.WalkTree(tree, func(node any) (leave func()) {
		if f, ok := node.(*ast.FieldDefinition); ok {
			fields[int(f.Key.Idx0())-1] = true
		}
		return nil
	})
	return fields, nil, nil
}

// lineOffsets returns where each line begins.
func lineOffsets(code string) []int {
	all := []int{0}
	for i := range len(code) {
		if code[i] == '\n' {
			all = append(all, i+1)
		}
	}
	return all
}
