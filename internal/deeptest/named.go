package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// namedFiles returns the files of the module that files of package d name with a path relative to the
// directory of package p, in which its tests run: every path in its test files, and every path that
// leads out of the directory in the other files. Installed Node packages are represented by the lock
// file next to them.
func (m *module) namedFiles(p, d *goPackage, testFiles []string) (found []string) {
	add := func(name string) {
		before, _, installed := strings.Cut(name, "node_modules")
		if installed {
			name = before + "package-lock.json"
		}
		if i := strings.IndexAny(name, "*?["); i >= 0 { // a pattern
			name = path.Dir(name[:i] + "x")
		}
		if name != "." && !strings.HasPrefix(name, "/") {
			found = append(found, m.tree(path.Join(m.dir(p), name))...)
		}
	}
	for _, name := range testFiles {
		for _, p := range m.paths(path.Join(m.dir(d), name)) {
			add(p)
		}
	}
	for _, name := range d.GoFiles {
		for _, p := range m.paths(path.Join(m.dir(d), name)) {
			if strings.HasPrefix(p, "../../") { // all packages whose tests use another are two levels deep
				add(p)
			}
		}
	}
	return found
}

// namedPrograms returns the main packages that test files of a package name with a path relative to its
// directory, such as programs that they build.
func (m *module) namedPrograms(p *goPackage) (programs []*goPackage) {
	for _, name := range p.testFiles() {
		for _, named := range m.paths(path.Join(m.dir(p), name)) {
			d := m.packages[path.Join(p.ImportPath, named)]
			if d != nil && d != p && d.Name == "main" {
				programs = append(programs, d)
			}
		}
	}
	return programs
}

// paths returns the string literals of a Go file that can be paths of files: those in a call of Join
// together, and others, except for "..", which is one only as a constant.
func (m *module) paths(file string) (paths []string) {
	if paths, ok := m.named[file]; ok {
		return paths
	}
	defer func() { m.named[file] = paths }()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(m.root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				if values, ok := spec.(*ast.ValueSpec); ok && n.Tok == token.CONST {
					for _, value := range values.Values {
						paths = append(paths, literals([]ast.Expr{value})...)
					}
				}
			}
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "Join" {
				paths = append(paths, path.Join(literals(n.Args)...))
			}
		case *ast.BasicLit:
			for _, name := range literals([]ast.Expr{n}) {
				if clean := path.Clean(name); strings.Trim(clean, "./") != "" && len(name) < 200 {
					paths = append(paths, name)
				}
			}
		}
		return true
	})
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == "" || path.Clean(p) == "." })
	return paths
}

// literals returns the values of the string literals with which a list begins.
func literals(list []ast.Expr) (values []string) {
	for _, e := range list {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			break
		}
		value, err := strconv.Unquote(lit.Value)
		if err != nil {
			break
		}
		values = append(values, filepath.ToSlash(value))
	}
	return values
}
