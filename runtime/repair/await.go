package repair

import (
	"github.com/dop251/goja/ast"
)

// AwaitResults has `await a.b(…)` wait for what the Awaited of Install makes of a method's result: awaiting a thenable of
// the host's costs the engine a promise, four functions and a turn of its queue more than a promise of its own.
func AwaitResults(tree *ast.Program) {
	WalkTree(tree, func(node any) (leave func()) {
		await, ok := node.(*ast.AwaitExpression)
		if !ok {
			return nil
		}
		call, ok := await.Argument.(*ast.CallExpression)
		if !ok {
			return nil
		}
		switch call.Callee.(type) {
		case *ast.DotExpression, *ast.BracketExpression:
			await.Argument = &ast.CallExpression{
				Callee:       &ast.Identifier{Name: awaitedName},
				ArgumentList: []ast.Expression{call},
			}
		}
		return nil
	})
}
