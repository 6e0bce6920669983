package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// hidden lists modules whose types must not be in exported declarations: they change often, and the
// API must not.
var hidden = []string{"github.com/chromedp/chromedp", "github.com/chromedp/cdproto", module + "/internal"}

// TestNoProtocolBindingsInAPI reads the exported declarations of every public
// package and follows each qualified name to its import.
func TestNoProtocolBindingsInAPI(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Dir}}", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	public := 0
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.Contains(path, "/internal/") || strings.Contains(path, "/cmd/") || strings.Contains(path, "/examples/") {
			continue
		}
		public++
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range leaks(fset, file) {
				t.Errorf("%s: %s", path, found)
			}
		}
	}
	if public == 0 {
		t.Fatal("no public package found")
	}
}

// leaks lists the uses of hidden modules in the exported declarations of
// file.
func leaks(fset *token.FileSet, file *ast.File) []string {
	names := map[string]string{}
	var found []string
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		for _, module := range hidden {
			if !match(module+"/...", path) {
				continue
			}
			name := path[strings.LastIndex(path, "/")+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if name == "." {
				found = append(found, "dot import of "+path)
			}
			names[name] = path
		}
	}
	if len(names) == 0 {
		return found
	}
	ast.FileExports(file) // leaves exported declarations, fields and methods only
	inspect := func(node ast.Node) {
		ast.Inspect(node, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && names[x.Name] != "" {
					found = append(found, fset.Position(sel.Pos()).String()+": "+x.Name+"."+sel.Sel.Name+" is exported")
				}
			}
			return true
		})
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil || exportedReceiver(decl.Recv.List[0].Type) {
				inspect(decl.Type) // not its body
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					inspect(spec.Type)
				case *ast.ValueSpec:
					if spec.Type != nil {
						inspect(spec.Type)
					} else {
						for _, value := range spec.Values {
							inspect(value) // its type is the variable's
						}
					}
				}
			}
		}
	}
	return found
}

// exportedReceiver reports whether a method of this receiver is a method of an
// exported type.
func exportedReceiver(expr ast.Expr) bool {
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.IsExported()
		default:
			return false
		}
	}
}

func TestAPICheckDetectsViolations(t *testing.T) {
	const head = "package p\n\nimport (\n\t\"github.com/chromedp/cdproto/page\"\n\tdp \"github.com/chromedp/chromedp\"\n)\n\n"
	for body, want := range map[string]int{
		"func F() { page.Enable() }":                        0,
		"type t struct{ F page.FrameID }":                   0,
		"type T struct{ f page.FrameID }":                   0,
		"type T struct{ F page.FrameID }":                   1,
		"type T interface{ M(dp.Action) }":                  1,
		"func F(id page.FrameID) (dp.Action, error)":        2,
		"func (T) M(ids ...*page.FrameID)":                  1,
		"var V = dp.Nodes":                                  1,
		"func (t) M(ids ...*page.FrameID)":                  0,
		"type A = map[string][]dp.Action\nvar b page.Frame": 1,
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "p.go", head+body, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := leaks(fset, file); len(got) != want {
			t.Errorf("%s: %d leaks %v, want %d", body, len(got), got, want)
		}
	}
}
