package isolate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/tandem-do/tandem/runtime/repair"
)

// Source is a script in the shape that the package's documentation describes.
type Source struct {
	// Name is the file name in stack traces when there is no source map.
	Name string
	Code string
	// SourceMap is a source map of version 3, or nil. Stack traces then show the places of the original.
	SourceMap []byte
}

// Program is a compiled script. It may be shared by any number of isolates on any goroutines.
type Program struct {
	name    string
	program *goja.Program
}

// SyntaxError says why a script could not be compiled.
type SyntaxError struct {
	Message string
	// Line and Column count from 1, in the original when there is a source map; 0 when unknown.
	Line, Column int
}

// Error returns the message with its place.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return "SyntaxError: " + e.Message
	}
	return fmt.Sprintf("SyntaxError: %s (%d:%d)", e.Message, e.Line, e.Column)
}

// Compile compiles a script, and works round faults of the engine. What the engine cannot parse has to be lowered
// before. Errors are *SyntaxError.
func Compile(src Source) (*Program, error) {
	p, err := compile(src)
	if err != nil {
		return nil, err
	}
	return &Program{name: src.Name, program: p}, nil
}

func compile(src Source) (p *goja.Program, err error) {
	defer func() {
		// The engine's parser and compiler have faults that panic.
		if r := recover(); r != nil {
			err = &SyntaxError{Message: "the engine cannot compile this script"}
		}
	}()
	option := parser.WithDisableSourceMaps
	if src.SourceMap != nil {
		option = parser.WithSourceMapLoader(func(string) ([]byte, error) { return src.SourceMap, nil })
		src.Code += "\n//# sourceMappingURL=map"
	}
	tree, err := goja.Parse(src.Name, src.Code, option)
	if err != nil {
		return nil, syntaxError(err)
	}
	if err := mend(tree, src.Code); err != nil {
		return nil, err
	}
	p, err = goja.CompileAST(tree, false)
	if err != nil {
		return nil, syntaxError(err)
	}
	return p, nil
}

// mend changes a tree where the engine would run it wrongly, or slower than need be.
func mend(tree *ast.Program, code string) error {
	if strings.Contains(code, "arguments") && strings.Contains(code, "=>") {
		repair.MentionArguments(tree)
	}
	repair.SpareWork(tree)
	if strings.Contains(code, ".stack") || strings.Contains(code, ".message") {
		wordErrors(tree)
	}
	if strings.Contains(code, "eval") {
		indirectEval(tree)
	}
	if strings.Contains(code, "<<") || strings.Contains(code, "**") {
		boundBigs(tree, code)
	}
	if strings.Contains(code, `\p{`) || strings.Contains(code, `\P{`) {
		if err := repair.ExpandRegExps(tree); err != nil {
			return &SyntaxError{Message: "Invalid regular expression: " + err.Error()}
		}
	}
	return nil
}

// indirectEval makes every eval one of global code. A direct one sees the variables around it, which the engine has
// faults with, and could only be used while the top level runs.
func indirectEval(tree *ast.Program) {
	repair.WalkTree(tree, func(node any) (leave func()) {
		call, ok := node.(*ast.CallExpression)
		if !ok {
			return nil
		}
		if name, ok := call.Callee.(*ast.Identifier); ok && name.Name == "eval" {
			call.Callee = &ast.SequenceExpression{Sequence: []ast.Expression{
				&ast.NumberLiteral{Idx: name.Idx, Literal: "0", Value: int64(0)}, name,
			}}
		}
		return nil
	})
}

// syntaxError takes the place out of the engine's message.
func syntaxError(err error) *SyntaxError {
	var known *SyntaxError
	if errors.As(err, &known) {
		return known
	}
	e := &SyntaxError{Message: strings.TrimPrefix(err.Error(), "SyntaxError: ")}
	if _, place, ok := strings.Cut(e.Message, ": Line "); ok {
		var message string
		if n, _ := fmt.Sscanf(place, "%d:%d", &e.Line, &e.Column); n == 2 {
			_, message, _ = strings.Cut(place, " ")
			e.Message, _, _ = strings.Cut(message, " (and ")
		}
	}
	return e
}

// WrapModule makes a program's script of a bundle that esbuild wrote in its ESM format: it ends in one list of
// exports, and imports nothing; what the host provides it takes from require. The source map stays right, since
// no line or column moves: esbuild's Banner has to be ModuleBanner.
func WrapModule(esm string) string {
	body, exports := esm, ""
	if at := strings.LastIndex(esm, "\nexport {"); at >= 0 {
		body = esm[:at]
		list, _, _ := strings.Cut(esm[at+len("\nexport {"):], "}")
		exports = exportGetters(list)
	}
	return body + "\nreturn {" + exports + "\n};\n})(); })"
}

// ModuleBanner stands before what WrapModule takes.
const ModuleBanner = `(function ({ require }) { return (async function () { "use strict"; `

func exportGetters(list string) string {
	var b strings.Builder
	for item := range strings.SplitSeq(list, ",") {
		local, name, renamed := strings.Cut(strings.TrimSpace(item), " as ")
		if local == "" {
			continue
		}
		if !renamed {
			name = local
		}
		fmt.Fprintf(&b, "\n  get %s() { return %s; },", name, local)
	}
	return b.String()
}
