package isolate

import (
	"math/big"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"github.com/tandem-do/tandem/runtime/repair"
)

// bigFunction is the global function through which a script's operators take how far a BigInt is shifted or raised: the
// engine would ask the process for whatever memory the result takes.
const bigFunction = "__tandemBig"

// maxBits bounds what bigFunction lets through. Like V8: the bits of a BigInt.
const maxBits = 1 << 30

// boundBigs puts bigFunction around the right side of << and **, in scripts that have BigInts.
func boundBigs(tree *ast.Program, code string) {
	found := strings.Contains(code, "BigInt")
	var sides []*ast.Expression
	add := func(operator token.Token, side *ast.Expression) {
		if operator != token.SHIFT_LEFT && operator != token.EXPONENT {
			return
		}
		if n, ok := (*side).(*ast.NumberLiteral); ok {
			if b, ok := n.Value.(*big.Int); !ok || b.IsInt64() && b.Int64() < maxBits {
				return
			}
		}
		sides = append(sides, side)
	}
	repair.WalkTree(tree, func(node any) (leave func()) {
		switch n := node.(type) {
		case *ast.NumberLiteral:
			if _, ok := n.Value.(*big.Int); ok {
				found = true
			}
		case *ast.BinaryExpression:
			add(n.Operator, &n.Right)
		case *ast.AssignExpression:
			add(n.Operator, &n.Right)
		}
		return nil
	})
	if !found {
		return
	}
	for _, side := range sides {
		*side = &ast.CallExpression{
			Callee:       &ast.Identifier{Name: unistring.String(bigFunction), Idx: (*side).Idx0()},
			ArgumentList: []ast.Expression{*side},
		}
	}
}

// big is bigFunction.
func (i *Isolate) big(c goja.FunctionCall) goja.Value {
	v := c.Argument(0)
	if _, ok := v.(*goja.Object); ok {
		return v
	}
	if b, ok := v.Export().(*big.Int); ok && (!b.IsInt64() || b.Int64() > maxBits || b.Int64() < -maxBits) {
		i.Throw("RangeError", "Maximum BigInt size exceeded")
	}
	return v
}
