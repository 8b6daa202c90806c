package program

import (
	"reflect"

	"github.com/dop251/goja/ast"
)

// mentionArguments works round a fault of the engine: an arrow function that uses the `arguments` of the
// function around it finds them only if that function mentions them itself. It puts the statement
// `arguments;` at the head of every function that has such an arrow.
func mentionArguments(tree *ast.Program) {
	w := &argumentsWalk{seen: map[any]bool{}}
	w.walk(reflect.ValueOf(tree.Body), nil)
}

// argumentsWalk goes through a tree by reflection, since the engine's ast package has no walk of its own.
type argumentsWalk struct {
	seen map[any]bool
}

// function is the innermost function that has arguments of its own.
type function struct {
	literal   *ast.FunctionLiteral
	mentioned bool
	inArrow   bool
}

func (w *argumentsWalk) walk(v reflect.Value, f *function) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			w.walk(v.Elem(), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i), f)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			w.pointer(v, f)
		}
	case reflect.Struct:
		w.fields(v, f)
	}
}

func (w *argumentsWalk) pointer(v reflect.Value, f *function) {
	if v.Elem().Kind() != reflect.Struct || w.seen[v.Interface()] {
		return
	}
	w.seen[v.Interface()] = true
	switch n := v.Interface().(type) {
	case *ast.FunctionLiteral:
		w.fields(v.Elem(), &function{literal: n})
	case *ast.ArrowFunctionLiteral:
		if f == nil {
			w.fields(v.Elem(), nil)
			return
		}
		outer := f.inArrow
		f.inArrow = true
		w.fields(v.Elem(), f)
		f.inArrow = outer
	case *ast.Identifier:
		if f != nil && f.inArrow && n.Name == "arguments" && !f.mentioned && f.literal.Body != nil {
			f.mentioned = true
			at := f.literal.Body.LeftBrace
			f.literal.Body.List = append([]ast.Statement{&ast.ExpressionStatement{
				Expression: &ast.Identifier{Name: "arguments", Idx: at},
			}}, f.literal.Body.List...)
		}
	default:
		w.fields(v.Elem(), f)
	}
}

func (w *argumentsWalk) fields(v reflect.Value, f *function) {
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			w.walk(v.Field(i), f)
		}
	}
}
