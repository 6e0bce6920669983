package gotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Tier says when a test runs.
type Tier int

// The tiers. See package tier.
const (
	Short   Tier = iota // a landing test that go test -short also runs
	Landing             // another landing test
	Deep
)

func (t Tier) String() string { return [...]string{"short", "landing", "deep"}[t] }

// A Test is a top-level test.
type Test struct {
	Name string
	File string // base name
	Tier Tier
}

// A Source finds the tests of a module in its source files. It must not be used concurrently.
type Source struct {
	root, module string
	packages     map[string]*sourcePackage // by directory, relative to the root
}

// NewSource returns a Source for the module with that path, whose root is a directory.
func NewSource(root, module string) *Source {
	return &Source{root, module, map[string]*sourcePackage{}}
}

// A sourcePackage has the functions of all packages in a directory. Files with other build
// constraints can declare a function again.
type sourcePackage struct {
	functions map[string][]function // methods of all types begin with a period
	tests     []Test
	tiers     map[string]Tier
}

type function struct {
	body    *ast.BlockStmt
	imports map[string]string // paths by name
	test    bool              // in a test file
}

// Tests returns the tests and fuzz targets in a directory, relative to the root.
//
// A test is deep if it calls tier.Deep, or skips itself, unconditionally or unless tier.DeepEnabled
// returns true, in its own body or in the body of a function of this module that it calls. A call in
// another condition or in a function literal, such as a subtest, does not count: a landing test can have
// deep cases. A test that can call package tier in another way does not run completely with -short, and
// is a landing test.
func (s *Source) Tests(dir string) ([]Test, error) {
	p, err := s.load(dir)
	if err != nil {
		return nil, err
	}
	tests := slices.Clone(p.tests)
	for i := range tests {
		tests[i].Tier = s.tier(dir, tests[i].Name)
	}
	return tests, nil
}

// load parses the Go files of a directory.
func (s *Source) load(dir string) (*sourcePackage, error) {
	dir = path.Clean(filepath.ToSlash(dir))
	if p := s.packages[dir]; p != nil {
		return p, nil
	}
	p := &sourcePackage{functions: map[string][]function{}, tiers: map[string]Tier{}}
	s.packages[dir] = p
	entries, err := os.ReadDir(filepath.Join(s.root, dir))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".go" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(s.root, dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		imports := map[string]string{}
		for _, spec := range f.Imports {
			from, _ := strconv.Unquote(spec.Path.Value)
			name := path.Base(from)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imports[name] = from
		}
		for _, decl := range f.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || d.Body == nil {
				continue
			}
			name := d.Name.Name
			if d.Recv != nil {
				name = "." + name
			}
			p.functions[name] = append(p.functions[name], function{d.Body, imports, strings.HasSuffix(e.Name(), "_test.go")})
			if strings.HasSuffix(e.Name(), "_test.go") && isTest(name) {
				p.tests = append(p.tests, Test{Name: d.Name.Name, File: e.Name()})
			}
		}
	}
	return p, nil
}

// isTest reports whether go test runs the function with that name as a test.
func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && name != "TestMain" {
			r, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(r)
		}
	}
	return false
}

// tier returns the tier that a function in a directory enters.
func (s *Source) tier(dir, name string) Tier {
	p, err := s.load(dir)
	if err != nil {
		return Short
	}
	if t, ok := p.tiers[name]; ok {
		return t
	}
	p.tiers[name] = Short // of a recursive call
	t := Short
	for _, f := range p.functions[name] {
		returns := false // before the statement
		for _, statement := range f.body.List {
			for _, call := range calls(statement) {
				if isSkip(call) && !returns {
					t = Deep
				}
				t = max(t, s.tierOfCall(dir, f, call))
			}
			ast.Inspect(statement, func(n ast.Node) bool {
				_, isReturn := n.(*ast.ReturnStmt)
				returns = returns || isReturn
				return !returns
			})
		}
		ast.Inspect(f.body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && t == Short {
				t = min(Landing, s.tierOfCall(dir, f, call))
			}
			return t == Short
		})
	}
	p.tiers[name] = t
	return t
}

// tierOfCall returns the tier that a call in f enters.
func (s *Source) tierOfCall(dir string, f function, call *ast.CallExpr) Tier {
	switch from, name := s.callee(dir, f, call); {
	case from == "testing" && name == "Short":
		return Landing
	case from == tierDir && name == "Deep":
		return Deep
	case from == tierDir && (name == "Slow" || name == "Browser"):
		return Landing
	case from == tierDir, from == "":
		return Short
	case strings.HasPrefix(name, "."):
		return min(Landing, s.tier(from, name))
	default:
		return s.tier(from, name)
	}
}

// tierDir is the directory of package tier.
const tierDir = "internal/testing/tier"

// callee returns the directory and the name of the function of the module, or of package testing, that a
// call in f calls. A method is one of any type of the package in dir, and its name begins with a period.
func (s *Source) callee(dir string, f function, call *ast.CallExpr) (from, name string) {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return dir, fun.Name
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok && f.imports[x.Name] != "" {
			from, ours := strings.CutPrefix(f.imports[x.Name], s.module+"/")
			if !ours && from != "testing" {
				return "", ""
			}
			return from, fun.Sel.Name
		}
		return dir, "." + fun.Sel.Name
	}
	return "", ""
}

// Reaches reports whether a function in a directory can call another function, directly or by way of
// others of the module. Both are named by directory and name, such as internal/testing/tier.Browser.
func (s *Source) Reaches(dir, name, function string) bool {
	seen := map[string]bool{}
	var reaches func(dir, name string) bool
	reaches = func(in, name string) bool {
		id := in + "." + name
		if id == function || in == "" || in == "testing" || seen[id] {
			return id == function
		}
		seen[id] = true
		p, err := s.load(in)
		if err != nil {
			return false
		}
		found := false
		for _, f := range p.functions[name] {
			ast.Inspect(f.body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && (in == dir || !f.test) {
					found = found || reaches(s.callee(in, f, call))
				}
				return !found
			})
		}
		return found
	}
	return reaches(dir, name)
}

// isSkip reports whether a call skips a test.
func isSkip(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name)
}

// calls returns the calls that a statement makes in any case, or unless tier.DeepEnabled returns true.
func calls(statement ast.Stmt) (found []*ast.CallExpr) {
	switch s := statement.(type) {
	case *ast.ExprStmt, *ast.AssignStmt, *ast.DeclStmt, *ast.ReturnStmt:
	case *ast.BlockStmt:
		for _, inner := range s.List {
			found = append(found, calls(inner)...)
		}
		return found
	case *ast.LabeledStmt:
		return calls(s.Stmt)
	case *ast.RangeStmt:
		return calls(&ast.ExprStmt{X: s.X})
	case *ast.IfStmt:
		if s.Init != nil {
			found = calls(s.Init)
		}
		if isNotDeep(s.Cond) {
			found = append(found, calls(s.Body)...)
		}
		return found
	default:
		return nil
	}
	ast.Inspect(statement, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			found = append(found, call)
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return found
}

// isNotDeep reports whether a condition is !tier.DeepEnabled().
func isNotDeep(cond ast.Expr) bool {
	not, ok := ast.Unparen(cond).(*ast.UnaryExpr)
	if !ok || not.Op != token.NOT {
		return false
	}
	call, ok := ast.Unparen(not.X).(*ast.CallExpr)
	if !ok {
		return false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && method.Sel.Name == "DeepEnabled"
}
