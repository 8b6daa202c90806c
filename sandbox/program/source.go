package program

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"

	"github.com/tandem-do/tandem/runtime/repair"
)

// sourceName is the name of the author's code in stack frames.
const sourceName = "program"

// A program is the body of an async function. The prefix holds no line feed, so that lines stay the
// author's; columns of the first line are shifted by its length.
const (
	bodyPrefix = "(async function(){"
	bodySuffix = "\n})"
)

// source is a compiled program. Running it yields an async function without parameters but `tools`.
type source struct {
	program *goja.Program
	// shift is how many columns the first line is moved to the right.
	shift int
}

// syntaxError says why code could not be compiled, with the place in the author's text.
type syntaxError struct {
	message      string
	line, column int // from 1; line 0 when unknown
}

func (e *syntaxError) Error() string {
	if e.line == 0 {
		return "SyntaxError: " + e.message
	}
	return fmt.Sprintf("SyntaxError: %s (line %d:%d)", e.message, e.line, e.column)
}

// compile accepts the body of an async function, such a body in a fenced block, a lone function or arrow,
// which is called with tools, and a module with `export default`; all of them with or without TypeScript
// types. What the engine itself understands is compiled as it is; the rest goes through esbuild first.
// Errors are *syntaxError.
func compile(code string) (*source, error) {
	code = unfence(strings.TrimPrefix(code, "\ufeff"))
	if isModule(code) {
		return compileModule(code)
	}
	if p, err := compileBody(sourceName, bodyPrefix+code+bodySuffix, false); err == nil {
		return &source{program: p, shift: len(bodyPrefix)}, nil
	}
	return compileLowered(code)
}

// unfence takes code out of a Markdown fence around all of it. The opening line stays as an empty one, so
// that the lines that follow keep their numbers.
func unfence(code string) string {
	trimmed := strings.TrimSpace(code)
	if !strings.HasPrefix(trimmed, "```") || !strings.HasSuffix(trimmed, "```") {
		return code
	}
	first := strings.IndexByte(trimmed, '\n')
	last := len(trimmed) - len("```")
	if first < 0 || first >= last || strings.ContainsAny(trimmed[3:first], "`(){};") {
		return code
	}
	before := strings.Count(code[:strings.Index(code, "```")], "\n")
	return strings.Repeat("\n", before) + trimmed[first:last]
}

var moduleStatement = regexp.MustCompile(`(?m)^[ \t]*(?:` +
	`export[ \t]+(?:default|const|let|var|function|async|class|type|interface|enum)\b|` +
	`export[ \t]*[{*]|import[ \t]*(?:[\w*{]+[\w*{}, \t]*from[ \t]*)?["'])`)

func isModule(code string) bool {
	return (strings.Contains(code, "export") || strings.Contains(code, "import")) && moduleStatement.MatchString(code)
}

// compileBody compiles a wrapped body. With helpers true, statements may stand before the wrapper.
func compileBody(name, wrapped string, helpers bool) (p *goja.Program, err error) {
	defer func() {
		// The engine's parser has faults that panic; the caller then tries what esbuild makes of the code.
		if r := recover(); r != nil {
			err = &syntaxError{message: "the engine cannot compile this program"}
		}
	}()
	option := parser.WithDisableSourceMaps
	if helpers {
		option = parser.WithSourceMapLoader(func(string) ([]byte, error) { return nil, nil })
	}
	tree, err := goja.Parse(name, wrapped, option)
	if err != nil {
		return nil, &syntaxError{message: parseMessage(err)}
	}
	body := wrapper(tree.Body, helpers)
	if body == nil {
		return nil, &syntaxError{message: "unexpected }"}
	}
	callLoneFunction(body)
	if strings.Contains(wrapped, "arguments") && strings.Contains(wrapped, "=>") {
		repair.MentionArguments(tree)
	}
	repair.ReadPatterns(tree)
	if strings.Contains(wrapped, `\p{`) || strings.Contains(wrapped, `\P{`) {
		if err := repair.ExpandRegExps(tree); err != nil {
			return nil, &syntaxError{message: err.Error()}
		}
	}
	return goja.CompileAST(tree, false)
}

// wrapper returns the function that was put around the author's code, or nil when the code closes it. With
// helpers true, variables of esbuild's may stand before it.
func wrapper(statements []ast.Statement, helpers bool) *ast.FunctionLiteral {
	for i, s := range statements {
		switch s := s.(type) {
		case *ast.VariableStatement:
			if !helpers || len(s.List) == 0 {
				return nil
			}
			name, ok := s.List[0].Target.(*ast.Identifier)
			if !ok || !strings.HasPrefix(name.Name.String(), "__") {
				return nil
			}
		case *ast.ExpressionStatement:
			f, ok := s.Expression.(*ast.FunctionLiteral)
			if !ok || !f.Async || i != len(statements)-1 {
				return nil
			}
			return f
		default:
			return nil
		}
	}
	return nil
}

// parseMessage takes the position off a parser's message: it is that of the wrapped text.
func parseMessage(err error) string {
	_, message, ok := strings.Cut(err.Error(), ": Line ")
	if !ok {
		return err.Error()
	}
	_, message, _ = strings.Cut(message, " ")
	message, _, _ = strings.Cut(message, " (and ")
	return message
}

// callLoneFunction has a body that is nothing but a function return what that function returns.
func callLoneFunction(body *ast.FunctionLiteral) {
	var only ast.Statement
	for _, s := range body.Body.List {
		if _, empty := s.(*ast.EmptyStatement); empty {
			continue
		}
		if only != nil {
			return
		}
		only = s
	}
	var callee ast.Expression
	switch s := only.(type) {
	case *ast.FunctionDeclaration:
		if s.Function.Generator {
			return
		}
		callee = s.Function.Name
	case *ast.ExpressionStatement:
		switch f := s.Expression.(type) {
		case *ast.FunctionLiteral:
			callee = f
		case *ast.ArrowFunctionLiteral:
			callee = f
		default:
			return
		}
		body.Body.List = nil
	default:
		return
	}
	at := callee.Idx0()
	name := &ast.Identifier{Name: "tools", Idx: at}
	body.Body.List = append(body.Body.List, &ast.ReturnStatement{Return: at, Argument: &ast.CallExpression{
		Callee:           callee,
		LeftParenthesis:  at,
		ArgumentList:     []ast.Expression{name},
		RightParenthesis: file.Idx(int(at)),
	}})
}
