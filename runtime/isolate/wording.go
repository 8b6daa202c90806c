package isolate

import (
	"reflect"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// The global functions through which a script reads properties called stack and message.
const (
	stackFunction   = "__tandemStack"
	messageFunction = "__tandemMessage"
)

// wordErrors has a script see the stacks and messages of errors as V8 words them: the engine makes them as it likes,
// and as own properties, so that each place that reads one is changed instead. It works by reflection: parents have
// many shapes.
func wordErrors(tree *ast.Program) {
	w := stackWalk{seen: map[any]bool{}}
	for _, s := range tree.Body {
		w.walk(reflect.ValueOf(s), false)
	}
}

type stackWalk struct{ seen map[any]bool }

// walk visits what is below v. keep says that v itself stays: it is assigned to, called or part of an optional chain.
func (w *stackWalk) walk(v reflect.Value, keep bool) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		w.walk(v.Elem(), keep)
		if !keep && v.CanSet() {
			w.replace(v)
		}
	case reflect.Slice:
		for n := range v.Len() {
			w.walk(v.Index(n), keep)
		}
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct || w.seen[v.Interface()] {
			return
		}
		w.seen[v.Interface()] = true
		w.fields(v.Interface(), v.Elem())
	case reflect.Struct:
		w.fields(nil, v)
	}
}

func (w *stackWalk) fields(node any, v reflect.Value) {
	for n := range v.NumField() {
		f := v.Type().Field(n)
		if f.IsExported() {
			w.walk(v.Field(n), keeps(node, f.Name))
		}
	}
}

// keeps reports whether what a field of a node holds is more than a value that is read.
func keeps(node any, field string) bool {
	switch node.(type) {
	case *ast.AssignExpression:
		return field == "Left"
	case *ast.CallExpression:
		return field == "Callee"
	case *ast.NewExpression:
		return field == "Callee"
	case *ast.TemplateLiteral:
		return field == "Tag"
	case *ast.UnaryExpression, *ast.OptionalChain, *ast.Optional, *ast.ForIntoExpression, *ast.ArrayPattern,
		*ast.ObjectPattern, *ast.PropertyKeyed, *ast.Binding:
		return field != "Initializer"
	}
	return false
}

// replace puts a call around the expression that v holds, if it reads such a property.
func (w *stackWalk) replace(v reflect.Value) {
	e, ok := v.Interface().(ast.Expression)
	if !ok || v.Type() != reflect.TypeFor[ast.Expression]() {
		return
	}
	inner := e
	if chain, ok := e.(*ast.OptionalChain); ok {
		inner = chain.Expression
	}
	dot, ok := inner.(*ast.DotExpression)
	if !ok || inner == e && inOptionalChain(dot) {
		return
	}
	function := stackFunction
	switch dot.Identifier.Name {
	case "stack":
	case "message":
		function = messageFunction
	default:
		return
	}
	v.Set(reflect.ValueOf(&ast.CallExpression{
		Callee:          &ast.Identifier{Name: unistring.String(function), Idx: e.Idx0()},
		LeftParenthesis: e.Idx0(), RightParenthesis: e.Idx0(),
		ArgumentList: []ast.Expression{e},
	}))
}

// inOptionalChain reports whether an expression may be cut short by a question mark within it.
func inOptionalChain(e ast.Expression) bool {
	for {
		switch x := e.(type) {
		case *ast.DotExpression:
			e = x.Left
		case *ast.BracketExpression:
			e = x.Left
		case *ast.CallExpression:
			e = x.Callee
		case *ast.PrivateDotExpression:
			e = x.Left
		case *ast.Optional:
			return true
		default:
			return false
		}
	}
}

// installWording defines the functions that wordErrors has scripts call.
func (i *Isolate) installWording() error {
	define := func(global, name string, word func(string) string) error {
		f := i.Function(name, 1, func(c goja.FunctionCall) goja.Value {
			text, ok := c.Argument(0).(goja.String)
			if !ok {
				return c.Argument(0)
			}
			before := text.String()
			if after := word(before); after != before {
				return i.rt.ToValue(after)
			}
			return text
		})
		return i.rt.GlobalObject().DefineDataProperty(global, f, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	}
	if err := define(stackFunction, "stack", V8Stack); err != nil {
		return err
	}
	return define(messageFunction, "message", v8Message)
}
