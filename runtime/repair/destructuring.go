package repair

import (
	"strconv"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// ReadPatterns has array patterns read an array by its indices, where no script can tell: the engine makes an iterator,
// and an object for every element. The runtime needs Install.
//
// `const [a, , b = 1] = v` becomes `const {0: a, 2: b = 1} = #pattern(v, 3)`. What an element runs in between could
// tell, so that a pattern stays as it is if it has a rest, patterns within, or defaults that do more than make a value.
//
// The top level of a script stays as it is: its variables are everybody's.
func ReadPatterns(tree *ast.Program) { WalkTree(tree, (&patternReader{}).visit) }

// patternReader makes the object patterns of one tree.
type patternReader struct {
	depth int // of functions
	holes int // that have a name so far
}

func (r *patternReader) visit(node any) (leave func()) {
	switch n := node.(type) {
	case *ast.FunctionLiteral:
		r.depth++
		return func() { r.depth-- }
	case *ast.ArrowFunctionLiteral:
		r.readArrow(n)
		r.depth++
		return func() { r.depth-- }
	}
	if r.depth > 0 {
		r.readStatement(node)
	}
	return nil
}

func (r *patternReader) readStatement(node any) {
	switch n := node.(type) {
	case *ast.VariableStatement:
		r.readBindings(n.List)
	case *ast.LexicalDeclaration:
		r.readBindings(n.List)
	case *ast.ForLoopInitializerVarDeclList:
		r.readBindings(n.List)
	case *ast.ForLoopInitializerLexicalDecl:
		r.readBindings(n.LexicalDeclaration.List)
	case *ast.ForOfStatement:
		r.readForOf(n)
	case *ast.ExpressionStatement:
		readSwap(n)
	}
}

func (r *patternReader) readBindings(list []*ast.Binding) {
	for _, b := range list {
		pattern, ok := b.Target.(*ast.ArrayPattern)
		if ok && b.Initializer != nil && readable(pattern, isIdentifier) {
			b.Initializer = callPattern(b.Initializer, len(pattern.Elements))
			b.Target = r.bindByIndex(pattern)
		}
	}
}

// readSwap reads `[a, b] = [b, a]`. With an array literal on the right no iterator of a script's is at work, so that the
// order of reading and assigning shows nowhere.
func readSwap(s *ast.ExpressionStatement) {
	assign, ok := s.Expression.(*ast.AssignExpression)
	if !ok || assign.Operator != token.ASSIGN {
		return
	}
	pattern, ok := assign.Left.(*ast.ArrayPattern)
	if !ok || !readable(pattern, isReference) {
		return
	}
	literal, ok := assign.Right.(*ast.ArrayLiteral)
	if !ok || len(literal.Value) < len(pattern.Elements) {
		return
	}
	for _, v := range literal.Value {
		if _, spread := v.(*ast.SpreadElement); v == nil || spread {
			return
		}
	}
	assign.Left, assign.Right = byIndex(pattern), callPattern(literal, len(pattern.Elements))
}

// readForOf reads `for (const [k, v] of map)`, as if the pattern stood at the head of the loop's body.
func (r *patternReader) readForOf(s *ast.ForOfStatement) {
	head, ok := s.Into.(*ast.ForDeclaration)
	if !ok {
		return
	}
	pattern, ok := head.Target.(*ast.ArrayPattern)
	if !ok || !readable(pattern, isIdentifier) || mentions(s.Source, pattern) {
		return
	}
	declaration := &ast.LexicalDeclaration{Idx: head.Idx, Token: token.LET, List: []*ast.Binding{{
		Target:      r.bindByIndex(pattern),
		Initializer: callPattern(&ast.Identifier{Name: elementName}, len(pattern.Elements)),
	}}}
	if head.IsConst {
		declaration.Token = token.CONST
	}
	s.Into = &ast.ForDeclaration{Idx: head.Idx, IsConst: true, Target: &ast.Identifier{Name: elementName}}
	s.Body = &ast.BlockStatement{
		LeftBrace:  s.Body.Idx0(),
		List:       []ast.Statement{declaration, s.Body},
		RightBrace: s.Body.Idx1(),
	}
}

// readArrow reads `([k, v]) => …`, as if the pattern stood at the head of the body, where it is a variable as
// parameters are.
func (r *patternReader) readArrow(f *ast.ArrowFunctionLiteral) {
	bound := map[unistring.String]bool{}
	if !readableParameters(f.ParameterList, bound) || declaresFunction(f.Body, bound) {
		return
	}
	body, ok := f.Body.(*ast.BlockStatement)
	if !ok {
		value := f.Body.(*ast.ExpressionBody).Expression
		body = &ast.BlockStatement{LeftBrace: value.Idx0(), RightBrace: value.Idx1() - 1}
		body.List = []ast.Statement{&ast.ReturnStatement{Return: value.Idx0(), Argument: value}}
	} else if len(body.List) > 0 && isDirective(body.List[0]) {
		return
	}
	var list []*ast.Binding
	for i, b := range f.ParameterList.List {
		if pattern, ok := b.Target.(*ast.ArrayPattern); ok {
			name := elementName + unistring.String(strconv.Itoa(i))
			b.Target = &ast.Identifier{Name: name}
			list = append(list, &ast.Binding{
				Target:      r.bindByIndex(pattern),
				Initializer: callPattern(&ast.Identifier{Name: name}, len(pattern.Elements)),
			})
		}
	}
	f.DeclarationList = append(f.DeclarationList, &ast.VariableDeclaration{Var: f.Start, List: list})
	body.List = append([]ast.Statement{&ast.VariableStatement{Var: f.Start, List: list}}, body.List...)
	f.Body = body
}

// readableParameters reports whether parameters have a readable pattern and nothing else but names, and notes all the
// names that are bound.
func readableParameters(list *ast.ParameterList, bound map[unistring.String]bool) bool {
	found := false
	add := func(e ast.Expression) bool {
		name, ok := e.(*ast.Identifier)
		if !ok || bound[name.Name] || name.Name == "arguments" || name.Name == "eval" {
			return false
		}
		bound[name.Name] = true
		return true
	}
	for _, b := range list.List {
		pattern, ok := b.Target.(*ast.ArrayPattern)
		switch {
		case !ok:
			if b.Initializer != nil || !add(b.Target) {
				return false
			}
			continue
		case b.Initializer != nil && !isLiteral(b.Initializer), !readable(pattern, add):
			return false
		}
		for _, e := range pattern.Elements {
			// A function would see the parameters, and not the body's variables of the same names.
			if assign, ok := e.(*ast.AssignExpression); ok && !isLiteral(assign.Right) {
				return false
			}
		}
		found = true
	}
	return found && (list.Rest == nil || add(list.Rest))
}

// declaresFunction reports whether a body has a function of a bound name, which would be there before the variable.
func declaresFunction(body ast.ConciseBody, bound map[unistring.String]bool) bool {
	found := false
	walkNode(body, func(node any) (leave func()) {
		if f, ok := node.(*ast.FunctionDeclaration); ok && f.Function.Name != nil && bound[f.Function.Name.Name] {
			found = true
		}
		return nil
	})
	return found
}

func isDirective(s ast.Statement) bool {
	e, ok := s.(*ast.ExpressionStatement)
	if !ok {
		return false
	}
	_, ok = e.Expression.(*ast.StringLiteral)
	return ok
}

// mentions reports whether an expression has an identifier that a pattern binds: it must not see the loop's own.
func mentions(source ast.Expression, pattern *ast.ArrayPattern) bool {
	bound := map[unistring.String]bool{"eval": true}
	for _, e := range pattern.Elements {
		if assign, ok := e.(*ast.AssignExpression); ok {
			e = assign.Left
		}
		if name, ok := e.(*ast.Identifier); ok {
			bound[name.Name] = true
		}
	}
	found := false
	walkNode(source, func(node any) (leave func()) {
		if name, ok := node.(*ast.Identifier); ok && bound[name.Name] {
			found = true
		}
		return nil
	})
	return found
}

// readable reports whether a pattern runs nothing between its elements but what isTarget allows.
func readable(pattern *ast.ArrayPattern, isTarget func(ast.Expression) bool) bool {
	if pattern.Rest != nil || len(pattern.Elements) == 0 {
		return false
	}
	for _, e := range pattern.Elements {
		if assign, ok := e.(*ast.AssignExpression); ok {
			if !isPlain(assign.Right) {
				return false
			}
			e = assign.Left
		}
		if e != nil && !isTarget(e) {
			return false
		}
	}
	return true
}

func isIdentifier(e ast.Expression) bool {
	_, ok := e.(*ast.Identifier)
	return ok
}

func isReference(e ast.Expression) bool {
	switch e.(type) {
	case *ast.Identifier, *ast.DotExpression, *ast.BracketExpression, *ast.PrivateDotExpression:
		return true
	}
	return false
}

// isPlain reports whether an expression makes a value and does nothing else.
func isPlain(e ast.Expression) bool {
	switch e.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return true
	}
	return isLiteral(e)
}

func isLiteral(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.NumberLiteral, *ast.StringLiteral, *ast.BooleanLiteral, *ast.NullLiteral:
		return true
	case *ast.ArrayLiteral:
		return len(e.Value) == 0
	case *ast.ObjectLiteral:
		return len(e.Value) == 0
	case *ast.TemplateLiteral:
		return e.Tag == nil && len(e.Expressions) == 0
	case *ast.UnaryExpression:
		_, number := e.Operand.(*ast.NumberLiteral)
		return number && (e.Operator == token.MINUS || e.Operator == token.VOID)
	}
	return false
}

// byIndex makes the object pattern of an array pattern.
func byIndex(pattern *ast.ArrayPattern) *ast.ObjectPattern {
	object := &ast.ObjectPattern{LeftBrace: pattern.LeftBracket, RightBrace: pattern.RightBracket}
	for i, e := range pattern.Elements {
		if e != nil {
			object.Properties = append(object.Properties, &ast.PropertyKeyed{
				Key: &ast.NumberLiteral{Value: int64(i)}, Kind: ast.PropertyKindValue, Value: e,
			})
		}
	}
	return object
}

// bindByIndex makes the object pattern of a pattern that binds. A hole is read too, into a variable of its own: what is
// there may be a getter.
func (r *patternReader) bindByIndex(pattern *ast.ArrayPattern) *ast.ObjectPattern {
	for i, e := range pattern.Elements {
		if e == nil {
			r.holes++
			pattern.Elements[i] = &ast.Identifier{Name: holeName + unistring.String(strconv.Itoa(r.holes))}
		}
	}
	return byIndex(pattern)
}

// callPattern puts a call of the intrinsic around the value that a pattern takes count elements of. It has no place in
// the source, so that errors keep theirs.
func callPattern(value ast.Expression, count int) ast.Expression {
	return &ast.CallExpression{
		Callee:       &ast.Identifier{Name: patternName},
		ArgumentList: []ast.Expression{value, &ast.NumberLiteral{Value: int64(count)}},
	}
}
