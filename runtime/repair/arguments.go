package repair

import (
	"reflect"

	"github.com/dop251/goja/ast"
)

// MentionArguments works round a fault of the engine: an arrow function that uses the `arguments` of the
// function around it finds them only if that function mentions them itself. It puts the statement
// `arguments;` at the head of every function that has such an arrow.
func MentionArguments(tree *ast.Program) {
	// function is one that has arguments of its own, with the number of arrows between it and the walk.
	type function struct {
		literal *ast.FunctionLiteral
		arrows  int
		done    bool
	}
	inner := &function{done: true}
	WalkTree(tree, func(node any) (leave func()) {
		switch n := node.(type) {
		case *ast.FunctionLiteral:
			outer := inner
			inner = &function{literal: n, done: n.Body == nil}
			return func() { inner = outer }
		case *ast.ArrowFunctionLiteral:
			f := inner
			f.arrows++
			return func() { f.arrows-- }
		case *ast.Identifier:
			if f := inner; n.Name == "arguments" && f.arrows > 0 && !f.done {
				f.done = true
				mention := &ast.ExpressionStatement{
					Expression: &ast.Identifier{Name: "arguments", Idx: f.literal.Body.LeftBrace},
				}
				f.literal.Body.List = append([]ast.Statement{mention}, f.literal.Body.List...)
			}
		}
		return nil
	})
}

// WalkTree visits every node of a tree, each before those below it. What visit returns is called after
// these; it may be nil. It works by reflection, since the engine's ast package has no walk of its own.
func WalkTree(tree *ast.Program, visit func(node any) (leave func())) {
	walkNode(tree.Body, visit)
}

// walkNode visits what is at and below a node, or a list of nodes.
func walkNode(node any, visit func(node any) (leave func())) {
	w := &treeWalk{seen: map[uintptr]struct{}{}, fields: map[reflect.Type][]int{}, visit: visit}
	w.walk(reflect.ValueOf(node))
}

type treeWalk struct {
	seen map[uintptr]struct{} // nodes may be reached by two ways
	// fields are the fields of a struct that nodes may be in.
	fields map[reflect.Type][]int
	visit  func(node any) (leave func())
}

func (w *treeWalk) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			w.walk(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	case reflect.Pointer:
		if v.IsNil() || v.Type().Elem().Kind() != reflect.Struct {
			return
		}
		at := v.Pointer()
		if _, seen := w.seen[at]; seen {
			return
		}
		w.seen[at] = struct{}{}
		leave := w.visit(v.Interface())
		w.walk(v.Elem())
		if leave != nil {
			leave()
		}
	case reflect.Struct:
		for _, i := range w.fieldsOf(v.Type()) {
			w.walk(v.Field(i))
		}
	}
}

func (w *treeWalk) fieldsOf(t reflect.Type) []int {
	fields, ok := w.fields[t]
	if ok {
		return fields
	}
	for i := range t.NumField() {
		f := t.Field(i)
		switch f.Type.Kind() {
		case reflect.Interface, reflect.Slice, reflect.Pointer, reflect.Struct:
			if f.IsExported() {
				fields = append(fields, i)
			}
		}
	}
	w.fields[t] = fields
	return fields
}
