package archtest

import (
	"go/ast"
	"testing"
)

// TestSubtests checks that no test uses the result of testing.T.Run. A test that ends when a subtest
// fails has subtests that depend on each other. A subtest that fails is run again alone, and would then
// fail for another reason; package steps runs the steps of such a test.
func TestSubtests(t *testing.T) {
	c, err := loadTests()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range c.files {
		ast.PreorderStack(file.File, nil, func(n ast.Node, stack []ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 || !isFunc(callee(file.info, call), "testing", "Run") {
				return true
			}
			if _, ok := stack[len(stack)-1].(*ast.ExprStmt); !ok {
				t.Errorf("%s:%d: the result of Run is used; use steps.Run", file.name, c.fset.Position(call.Pos()).Line)
			}
			return true
		})
	}
}
