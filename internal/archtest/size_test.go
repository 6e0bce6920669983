package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

const (
	maxLines   = 5000 // of a package, without tests
	maxMethods = 40   // of a type
)

// largePackages and largeTypes are those above the limits, with sizes that they may not exceed.
var (
	largePackages = map[string]int{"internal/executortest": 14_480, "mcp": 8_600, "executor/chromium": 7_200}
	largeTypes    = map[string]int{
		"internal/executortest.testCase": 130, "internal/executortest.suite": 120, "executor/chromium.instance": 93,
		"internal/input.Actor": 93, "internal/page.View": 75, // View is an executor.Page
		"relay.client": 58, "executor/extension.cdpSession": 57, "policy.guardedPage": 42,
	}
)

// TestSizes checks the sizes of packages and types.
func TestSizes(t *testing.T) {
	lines, methods := make(map[string]int), make(map[string]int)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		switch {
		case d.IsDir() && (name == "node_modules" || name == "testdata" || name == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel("../..", filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg = filepath.ToSlash(pkg)
		lines[pkg] += files.File(f.Pos()).LineCount()
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[pkg+"."+receiverType(fn.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkSizes(t, "lines", lines, maxLines, largePackages)
	checkSizes(t, "methods", methods, maxMethods, largeTypes)
}

// checkSizes checks sizes against limit, except for what large lists.
func checkSizes(t *testing.T, unit string, sizes map[string]int, limit int, large map[string]int) {
	t.Helper()
	for name, size := range sizes {
		if allowed := max(limit, large[name]); size > allowed {
			t.Errorf("%s has %d %s, at most %d: split it", name, size, unit, allowed)
		}
	}
	for name := range large {
		if sizes[name] <= limit {
			t.Errorf("%s has %d %s: remove it from the list of large ones", name, sizes[name], unit)
		}
	}
}

// receiverType returns the name of the type of a receiver.
func receiverType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverType(e.X)
	case *ast.IndexExpr:
		return receiverType(e.X)
	case *ast.IndexListExpr:
		return receiverType(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
