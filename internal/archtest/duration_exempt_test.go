package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A declaration is a function, or a group of variables, constants or types, at the top level of a
// file. References outside of functions belong to their declaration.
type declaration struct {
	node   ast.Node
	exempt bool // its durations are not checked
	fake   bool // it calls synctest.Test
	deep   bool // it skips its caller unless deep tests are enabled
}

// index records the declarations of a file and the objects that they use.
func (c *durationChecker) index(file *sourceFile) {
	for _, decl := range file.Decls {
		for node, names := range declarations(decl) {
			d := &declaration{node: node}
			if f, ok := node.(*ast.FuncDecl); ok {
				d.fake = calls(file.info, f, "testing/synctest", "Test")
				d.exempt = d.fake || strings.HasPrefix(f.Name.Name, "Benchmark")
			}
			for _, name := range names {
				c.declared[objectKey(file.info.Defs[name])] = d
			}
			c.indexUses(file.info, node, d)
		}
	}
}

// deepUser is the declaration of what runs in deep tests only.
var deepUser = &declaration{exempt: true}

// indexUses records that user uses the objects that node refers to.
func (c *durationChecker) indexUses(info *types.Info, node ast.Node, user *declaration) {
	ast.PreorderStack(node, nil, func(n ast.Node, stack []ast.Node) bool {
		if user != deepUser && isDeep(info, n, stack) {
			c.indexUses(info, n, deepUser)
			return false
		}
		if id, ok := n.(*ast.Ident); ok {
			if key := objectKey(info.Uses[id]); key != "" {
				c.uses[key] = append(c.uses[key], user)
			}
		}
		return true
	})
}

// isDeep reports whether node, whose parents are on the stack, runs only if tier.DeepEnabled returns
// true, or is an argument of a call whose receiver or first argument is the result of a method named
// Deep.
func isDeep(info *types.Info, node ast.Node, stack []ast.Node) bool {
	if len(stack) == 0 {
		return false
	}
	switch parent := stack[len(stack)-1].(type) {
	case *ast.IfStmt:
		return node == parent.Body && requiresDeep(info, parent.Cond)
	case *ast.BinaryExpr:
		return parent.Op == token.LAND && node == parent.Y && requiresDeep(info, parent.X)
	case *ast.CallExpr:
		if node == parent.Fun {
			return false
		}
		if method, ok := parent.Fun.(*ast.SelectorExpr); ok && isDeepCall(info, method.X) {
			return true
		}
		return len(parent.Args) > 0 && isDeepCall(info, parent.Args[0])
	}
	return false
}

// isDeepCall reports whether e is a call of a method named Deep.
func isDeepCall(info *types.Info, e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := callee(info, call).(*types.Func)
	return ok && f.Name() == "Deep" && f.Signature().Recv() != nil
}

// requiresDeep reports whether a condition is true only if tier.DeepEnabled returns true.
func requiresDeep(info *types.Info, cond ast.Expr) bool {
	switch cond := cond.(type) {
	case *ast.ParenExpr:
		return requiresDeep(info, cond.X)
	case *ast.BinaryExpr:
		return cond.Op == token.LAND && (requiresDeep(info, cond.X) || requiresDeep(info, cond.Y))
	case *ast.CallExpr:
		return isFunc(callee(info, cond), module+"/internal/testing/tier", "DeepEnabled")
	}
	return false
}

// declarations returns the parts of a declaration that are used separately, and the names that they
// declare.
func declarations(decl ast.Decl) map[ast.Node][]*ast.Ident {
	parts := map[ast.Node][]*ast.Ident{}
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		parts[decl] = []*ast.Ident{decl.Name}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				parts[spec] = spec.Names
			case *ast.TypeSpec:
				parts[spec] = []*ast.Ident{spec.Name}
			}
		}
	}
	return parts
}

// objectKey returns the name of a function, method or other object of a package scope that
// is the same for all variants of the package, or "".
func objectKey(obj types.Object) string {
	if obj == nil || obj.Pkg() == nil {
		return ""
	}
	if f, ok := obj.(*types.Func); ok {
		return f.Origin().FullName()
	}
	if obj.Parent() != obj.Pkg().Scope() {
		return ""
	}
	return obj.Pkg().Path() + "." + obj.Name()
}

// calls reports whether node contains a call of the named function of a package.
func calls(info *types.Info, node ast.Node, path, name string) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isFunc(callee(info, call), path, name) {
			found = true
		}
		return !found
	})
	return found
}

// findExempt marks the functions that only exempt functions use.
func (c *durationChecker) findExempt() {
	for changed := true; changed; {
		changed = false
		for _, file := range c.files {
			for _, decl := range file.Decls {
				for node, names := range declarations(decl) {
					for _, name := range names {
						key := objectKey(file.info.Defs[name])
						d := c.declared[key]
						if d == nil || d.exempt {
							continue
						}
						if f, ok := node.(*ast.FuncDecl); ok && f.Body != nil && c.skipsUnlessDeep(file.info, f.Body) {
							d.exempt, d.deep, changed = true, true, true
							continue
						}
						users := slices.DeleteFunc(slices.Clone(c.uses[key]), func(user *declaration) bool { return user == d })
						if len(users) > 0 && !slices.ContainsFunc(users, func(user *declaration) bool { return !user.exempt }) {
							d.exempt, changed = true, true
						}
					}
				}
			}
		}
	}
}

// skipsUnlessDeep reports whether a statement of body skips the test unless deep tests are enabled.
func (c *durationChecker) skipsUnlessDeep(info *types.Info, body *ast.BlockStmt) bool {
	return slices.ContainsFunc(body.List, func(s ast.Stmt) bool {
		statement, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := statement.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		f := callee(info, call)
		if d := c.declared[objectKey(f)]; d != nil && d.deep {
			return true
		}
		return isFunc(f, module+"/internal/testing/tier", "Deep")
	})
}

// findMeasured marks the objects that are set to a measured time. It reports whether
// there are new ones.
func (c *durationChecker) findMeasured() bool {
	before := len(c.measured)
	for _, file := range c.files {
		info := file.info
		mark := func(to ast.Expr, from ast.Expr) {
			obj := assigned(info, to)
			if obj == nil || !c.isMeasured(info, from) {
				return
			}
			// A number that is not a duration is one if its expression is, such as a ratio.
			if isNumber(obj.Type()) && !isDuration(obj.Type()) && !c.isMeasuredNumber(info, from) {
				return
			}
			c.measured[obj] = true
		}
		var functions []*ast.FuncDecl
		ast.Inspect(file.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					mark(to, n.Rhs[min(i, len(n.Rhs)-1)])
				}
			case *ast.ValueSpec:
				for i, to := range n.Names {
					if len(n.Values) > 0 {
						mark(to, n.Values[min(i, len(n.Values)-1)])
					}
				}
			case *ast.KeyValueExpr:
				mark(n.Key, n.Value)
			case *ast.RangeStmt:
				mark(n.Value, n.X)
			case *ast.FuncDecl:
				functions = append(functions, n)
			}
			return true
		})
		for _, f := range functions {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					return false
				case *ast.ReturnStmt:
					for _, value := range n.Results {
						if isDuration(info.TypeOf(value)) {
							mark(f.Name, value)
						}
					}
				}
				return true
			})
		}
	}
	return len(c.measured) > before
}

// isMeasuredNumber reports whether expr is a number that is computed from a measured time.
func (c *durationChecker) isMeasuredNumber(info *types.Info, expr ast.Expr) bool {
	if !isNumber(info.TypeOf(expr)) {
		return false
	}
	measured := false
	ast.Inspect(expr, func(n ast.Node) bool {
		if part, ok := n.(ast.Expr); ok && isNumber(info.TypeOf(part)) {
			_, call := part.(*ast.CallExpr)
			measured = measured || c.measured[assigned(info, part)] || call && isDuration(info.TypeOf(part)) && c.isMeasured(info, part)
		}
		return !measured
	})
	return measured
}

// isNumber reports whether the values of typ are numbers.
func isNumber(typ types.Type) bool {
	if typ == nil {
		return false
	}
	basic, ok := typ.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

// assigned returns the variable, field or function that expr names, or nil.
func assigned(info *types.Info, expr ast.Expr) types.Object {
	switch expr := expr.(type) {
	case *ast.Ident:
		return info.ObjectOf(expr)
	case *ast.SelectorExpr:
		return info.ObjectOf(expr.Sel)
	case *ast.IndexExpr:
		return assigned(info, expr.X)
	}
	return nil
}

// isMeasured reports whether a part of expr is a measured time.
func (c *durationChecker) isMeasured(info *types.Info, expr ast.Expr) bool {
	measured := false
	ast.Inspect(expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			measured = measured || c.measured[info.Uses[n]]
		case *ast.CallExpr:
			measured = measured || isFunc(callee(info, n), "time", "Since", "Until", "Sub")
		}
		return !measured
	})
	return measured
}

// callee returns the function, variable or field that call calls, or the type of a conversion.
func callee(info *types.Info, call *ast.CallExpr) types.Object {
	fun := ast.Unparen(call.Fun)
	switch index := fun.(type) {
	case *ast.IndexExpr:
		fun = index.X
	case *ast.IndexListExpr:
		fun = index.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return info.Uses[fun]
	case *ast.SelectorExpr:
		return info.Uses[fun.Sel]
	}
	return nil
}

// isFunc reports whether obj is one of the named functions or methods of a package.
func isFunc(obj types.Object, path string, names ...string) bool {
	f, ok := obj.(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == path && slices.Contains(names, f.Name())
}

// isDuration reports whether typ is time.Duration.
func isDuration(typ types.Type) bool {
	named, ok := types.Unalias(typ).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time" && named.Obj().Name() == "Duration"
}

// isOrder reports whether op is a comparison, and whether it is one of < and <=.
func isOrder(op token.Token) (comparison, less bool) {
	switch op {
	case token.LSS, token.LEQ:
		return true, true
	case token.GTR, token.GEQ, token.EQL, token.NEQ:
		return true, false
	}
	return false, false
}
