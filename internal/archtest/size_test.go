package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

const (
	maxLines   = 5000 // of a package, without tests
	maxMethods = 40   // of a type, without those of executor.Page if it implements that
)

// TestSizes checks the sizes of packages and types.
func TestSizes(t *testing.T) {
	lines, methods := make(map[string]int), make(map[string]map[string]bool)
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
				name := pkg + "." + receiverType(fn.Recv.List[0].Type)
				if methods[name] == nil {
					methods[name] = make(map[string]bool)
				}
				methods[name][fn.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkSizes(t, "lines", lines, maxLines)
	counts := make(map[string]int)
	for name, set := range methods {
		counts[name] = countMethods(set)
	}
	checkSizes(t, "methods", counts, maxMethods)
}

// countMethods returns the number of methods of a type. If it implements executor.Page, the methods of
// that interface do not count.
func countMethods(names map[string]bool) int {
	page := reflect.TypeFor[executor.Page]()
	for m := range page.Methods() {
		if !names[m.Name] {
			return len(names)
		}
	}
	return len(names) - page.NumMethod()
}

// checkSizes checks sizes against limit.
func checkSizes(t *testing.T, unit string, sizes map[string]int, limit int) {
	t.Helper()
	for name, size := range sizes {
		if size > limit {
			t.Errorf("%s has %d %s, at most %d: split it", name, size, unit, limit)
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
