package archtest

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// A durationVisitor walks a file. It stops at what is exempt.
type durationVisitor struct {
	*durationChecker
	file  *sourceFile
	stack []ast.Node // from the declaration to the parent of the visited node
}

// check adds the findings in node, whose parents are on the stack.
func (v *durationVisitor) check(node ast.Node) {
	ast.PreorderStack(node, nil, func(n ast.Node, stack []ast.Node) bool {
		v.stack = stack
		if v.isExempt(n) || isDeep(v.file.info, n, stack) {
			return false
		}
		switch n := n.(type) {
		case *ast.SelectorExpr:
			call, _ := stack[len(stack)-1].(*ast.CallExpr)
			if what := v.function(n, call); what != "" {
				v.report(v.file, n, what)
				return false
			}
		case *ast.BinaryExpr:
			if comparison, _ := isOrder(n.Op); comparison && v.comparesMeasured(n) && !v.isLowerBound(n) {
				v.report(v.file, n, "upper bound")
				return false
			}
		}
		if expr, ok := n.(ast.Expr); ok {
			if value := v.file.info.Types[expr]; value.Value != nil && isDuration(value.Type) {
				if constant.Sign(value.Value) != 0 && v.isLiteral(expr) && !v.isAllowed(expr) {
					v.report(v.file, expr, "duration "+types.ExprString(expr))
				}
				return false
			}
		}
		return true
	})
}

// function returns the name of the function of package time that sel names if a test must not use it, or
// "". call is the call that contains sel as its function or as
// an argument, or nil.
func (v *durationVisitor) function(sel *ast.SelectorExpr, call *ast.CallExpr) string {
	f, ok := v.file.info.Uses[sel.Sel].(*types.Func)
	if !ok || f.Signature().Recv() != nil || !isFunc(f, "time", "Sleep", "After", "Tick", "Since", "Until") {
		return ""
	}
	if called := call != nil && call.Fun == sel; called {
		switch f.Name() {
		case "Since", "Until": // the comparison is checked
			return ""
		case "After": // the end of a hang
			if arg, ok := call.Args[0].(*ast.SelectorExpr); ok {
				if limit := v.file.info.Uses[arg.Sel]; limit.Pkg() != nil && limit.Pkg().Path() == module+"/"+awaitDir {
					return ""
				}
			}
		}
	}
	return "time." + f.Name()
}

// isExempt reports whether node is a declaration or function literal whose durations are allowed.
func (v *durationVisitor) isExempt(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.FuncDecl:
		return v.isExemptName(n.Name)
	case *ast.ValueSpec:
		return v.isExemptName(n.Names[0])
	case *ast.TypeSpec:
		return v.isExemptName(n.Name)
	case *ast.FuncLit:
		if call, ok := v.stack[len(v.stack)-1].(*ast.CallExpr); ok {
			if d := v.declared[objectKey(callee(v.file.info, call))]; d != nil && d.fake {
				return true
			}
		}
		return v.skipsUnlessDeep(v.file.info, n.Body)
	}
	return false
}

func (v *durationVisitor) isExemptName(name *ast.Ident) bool {
	d := v.declared[objectKey(v.file.info.Defs[name])]
	return d != nil && d.exempt
}

// isLiteral reports whether a constant contains one of package time, or no named constant.
func (v *durationVisitor) isLiteral(expr ast.Expr) bool {
	unit, named := false, false
	ast.Inspect(expr, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if obj, ok := v.file.info.Uses[id].(*types.Const); ok {
				named = named || isDuration(obj.Type())
				unit = unit || obj.Pkg() != nil && obj.Pkg().Path() == "time"
			}
		}
		return true
	})
	return unit || !named
}

// isAllowed reports whether a duration that is not exempt is allowed as what its parents use it for.
func (v *durationVisitor) isAllowed(expr ast.Expr) bool {
	info := v.file.info
	var child ast.Node = expr
	for _, parent := range slices.Backward(v.stack) {
		switch p := parent.(type) {
		case *ast.ParenExpr, *ast.UnaryExpr, *ast.SelectorExpr:
		case *ast.BinaryExpr:
			if comparison, _ := isOrder(p.Op); comparison {
				return v.comparesMeasured(p) // and is a lower bound, or the walk stops before
			}
			if (p.Op == token.QUO || p.Op == token.REM) && child == p.Y || p.Op == token.MUL && isInteger(child) {
				return true
			}
		case *ast.CallExpr:
			f := callee(info, p)
			switch {
			case v.inProduct(f), isFunc(f, "time", "Round", "Truncate"):
				return true
			case child == p.Fun, isFunc(f, "time", "Add"), info.Types[p.Fun].IsType(), info.Types[p.Fun].IsBuiltin():
			default:
				return false
			}
		case *ast.KeyValueExpr:
		case *ast.CompositeLit:
			typ := types.Unalias(info.TypeOf(p))
			if pointer, ok := typ.Underlying().(*types.Pointer); ok {
				typ = types.Unalias(pointer.Elem())
			}
			if named, ok := typ.(*types.Named); ok {
				return v.inProduct(named.Obj())
			}
			if _, ok := typ.(*types.Struct); ok {
				return false
			}
		case *ast.AssignStmt:
			if p.Tok == token.MUL_ASSIGN && isInteger(child) {
				return true
			}
			i := slices.IndexFunc(p.Rhs, func(e ast.Expr) bool { return e == child })
			return i >= 0 && i < len(p.Lhs) && v.inProduct(assigned(info, p.Lhs[i]))
		default:
			return false
		}
		child = parent
	}
	return false
}

// isInteger reports whether node is an integer, such as a factor.
func isInteger(node ast.Node) bool {
	lit, ok := node.(*ast.BasicLit)
	return ok && lit.Kind == token.INT
}

// comparesMeasured reports whether a side of a comparison is a number and a measured time.
func (v *durationVisitor) comparesMeasured(comparison *ast.BinaryExpr) bool {
	return v.isMeasuredNumber(v.file.info, comparison.X) || v.isMeasuredNumber(v.file.info, comparison.Y)
}

// isLowerBound reports whether a comparison is the condition of an error for a time that is too
// short.
func (v *durationVisitor) isLowerBound(comparison *ast.BinaryExpr) bool {
	_, less := isOrder(comparison.Op)
	if comparison.Op == token.EQL || comparison.Op == token.NEQ {
		return false
	}
	if calls(v.file.info, comparison, "time", "Until") { // it decreases while time passes
		return false
	}
	measured, limit := comparison.X, comparison.Y
	if !less {
		measured, limit = limit, measured
	}
	if !v.isMeasuredNumber(v.file.info, measured) || v.isMeasuredNumber(v.file.info, limit) {
		return false
	}
	var child ast.Node = comparison
	for _, parent := range slices.Backward(v.stack) {
		switch p := parent.(type) {
		case *ast.ParenExpr:
		case *ast.BinaryExpr:
			if p.Op != token.LOR && p.Op != token.LAND {
				return false
			}
		case *ast.IfStmt:
			return child == p.Cond && fails(p.Body)
		case *ast.CaseClause:
			return !slices.ContainsFunc(p.Body, func(s ast.Stmt) bool { return s == child }) && fails(p)
		default:
			return false
		}
		child = parent
	}
	return false
}

// fails reports whether node contains a call that makes a test fail.
func fails(node ast.Node) bool {
	failed := false
	ast.Inspect(node, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if method, ok := call.Fun.(*ast.SelectorExpr); ok {
				failed = failed || slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"}, method.Sel.Name)
			}
		}
		return !failed
	})
	return failed
}
