package repair

import (
	"github.com/dop251/goja/ast"
)

// SpareWork is ReadPatterns, and has `await a.b(…)` wait for what the function of Install makes of a method's result:
// awaiting a thenable of the host's costs the engine a promise, four functions and a turn of its queue more than a promise
// of its own. It goes through the tree once.
func SpareWork(tree *ast.Program) {
	r := &patternReader{}
	WalkTree(tree, func(node any) (leave func()) {
		awaitResult(node)
		return r.visit(node)
	})
}

// awaitResult changes an await of a method's result.
func awaitResult(node any) {
	await, ok := node.(*ast.AwaitExpression)
	if !ok {
		return
	}
	call, ok := await.Argument.(*ast.CallExpression)
	if !ok {
		return
	}
	switch call.Callee.(type) {
	case *ast.DotExpression, *ast.BracketExpression:
		await.Argument = &ast.CallExpression{
			Callee:       &ast.Identifier{Name: awaitedName},
			ArgumentList: []ast.Expression{call},
		}
	}
}
