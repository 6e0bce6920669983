package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
)

// A goPackage is a package as go list prints it.
type goPackage struct {
	ImportPath string
	Name       string
	Dir        string
	Standard   bool
	Module     *struct {
		Path, Version string
		Main          bool
		Replace       *struct{ Path, Version string }
	}
	GoFiles, CFiles, HFiles, SFiles, EmbedFiles                []string
	TestGoFiles, TestEmbedFiles, XTestGoFiles, XTestEmbedFiles []string
	Deps                                                       []string
	Error                                                      *struct{ Err string }
}

// testFiles returns the files with tests.
func (p *goPackage) testFiles() []string { return slices.Concat(p.TestGoFiles, p.XTestGoFiles) }

// A module has the packages of a module and what they depend on.
type module struct {
	root     string
	path     string
	packages map[string]*goPackage // by import path; a test binary is that of the package with ".test"
	files    []string              // of the module, relative to the root, sorted
	hashes   map[string]string     // of files
	named    map[string][]string   // see paths
	source   *gotest.Source
}

// loadModule lists the module in a directory, with flags of go build.
func loadModule(ctx context.Context, root string, flags ...string) (*module, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	cmd := gotest.Command(ctx, root, "go", slices.Concat([]string{"list", "-deps", "-test", "-json=ImportPath,Name,Dir,Standard,Module,GoFiles,CFiles,HFiles,SFiles," +
		"EmbedFiles,TestGoFiles,TestEmbedFiles,XTestGoFiles,XTestEmbedFiles,Deps,Error"}, flags, []string{"./..."})...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	m := &module{root: root, packages: map[string]*goPackage{}, hashes: map[string]string{}, named: map[string][]string{}}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(goPackage)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if p.Error != nil {
			return nil, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		m.packages[p.ImportPath] = p
		if p.Module != nil && p.Module.Main {
			m.path = p.Module.Path
		}
	}
	m.source = gotest.NewSource(root, m.path)
	return m, m.walk()
}

// now returns the module with the files that it has now. The packages are those that were listed.
func (m *module) now() (*module, error) {
	n := &module{root: m.root, path: m.path, packages: m.packages, hashes: map[string]string{}, named: map[string][]string{}}
	return n, n.walk()
}

// walk finds the files.
func (m *module) walk() error {
	err := filepath.WalkDir(m.root, m.addFile)
	slices.Sort(m.files)
	return err
}

// addFile records a file of the module. What is installed or built is not part of it.
func (m *module) addFile(file string, e fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	name, err := filepath.Rel(m.root, file)
	if err != nil {
		return err
	}
	name = filepath.ToSlash(name)
	if e.IsDir() {
		if slices.Contains([]string{".git", ".cache", "bin", "dist"}, name) || e.Name() == "node_modules" {
			return filepath.SkipDir
		}
		return nil
	}
	if name != ".git" { // of a worktree
		m.files = append(m.files, name)
	}
	return nil
}

// ours reports whether a package belongs to the module.
func (p *goPackage) ours() bool { return p.Module != nil && p.Module.Main }

// relative returns an import path without that of the module.
func (m *module) relative(importPath string) string {
	return strings.TrimPrefix(importPath, m.path+"/")
}

// dir returns the directory of a package, relative to the root.
func (m *module) dir(p *goPackage) string {
	if p.ImportPath == m.path {
		return "."
	}
	return m.relative(p.ImportPath)
}

// tested returns the packages of the module that have tests, by import path.
func (m *module) tested() (tested []*goPackage) {
	for name, p := range m.packages {
		if p.ours() && len(p.testFiles()) > 0 && !strings.Contains(name, " [") && m.packages[name+".test"] != nil {
			tested = append(tested, p)
		}
	}
	slices.SortFunc(tested, func(a, b *goPackage) int { return cmp.Compare(a.ImportPath, b.ImportPath) })
	return tested
}

// deps returns what the test binary of a package consists of.
func (m *module) deps(p *goPackage) (deps []*goPackage) {
	return m.depsOf(p, m.packages[p.ImportPath+".test"].Deps)
}

// depsOf returns the packages of a list that are not part of the standard library, without p.
func (m *module) depsOf(p *goPackage, names []string) (deps []*goPackage) {
	seen := map[*goPackage]bool{p: true}
	for _, name := range names {
		name, _, _ := strings.Cut(name, " [") // recompiled for the test
		if d := m.packages[strings.TrimSuffix(name, "_test")]; d != nil && !d.Standard && !seen[d] {
			seen[d] = true
			deps = append(deps, d)
		}
	}
	return deps
}

// drivesBrowser reports whether the tests of a package can start a browser.
func (m *module) drivesBrowser(p *goPackage) bool {
	return slices.ContainsFunc(append(m.deps(p), p), func(d *goPackage) bool {
		name := m.relative(d.ImportPath)
		return name == "executor/chromium" || name == "internal/testing/userbrowser" || name == "internal/testing/cdptest"
	})
}

// inputs returns a hash of what the tests of a package depend on: go.mod, its files, those that it
// embeds, its test data, the same of the packages of the module that it imports, except for their tests,
// the versions of other modules, the files that are named in its tests, programs that are named there
// with what they import, and more.
func (m *module) inputs(p *goPackage, more ...string) string {
	lines := slices.Clone(more)
	files := append(m.packageFiles(p, true, slices.Concat(p.TestEmbedFiles, p.XTestEmbedFiles)), "go.mod")
	files = append(files, m.namedFiles(p, p, p.testFiles())...)
	deps := m.deps(p)
	for _, program := range m.namedPrograms(p) {
		deps = append(deps, m.depsOf(program, program.Deps)...)
		files = append(files, m.packageFiles(program, false, nil)...)
	}
	for _, d := range deps {
		switch {
		case d.ours():
			files = append(files, m.packageFiles(d, false, nil)...)
			files = append(files, m.namedFiles(p, d, nil)...)
		case d.Module != nil && d.Module.Replace != nil:
			lines = append(lines, fmt.Sprintf("module %s %s", d.Module.Replace.Path, d.Module.Replace.Version))
		case d.Module != nil:
			lines = append(lines, fmt.Sprintf("module %s %s", d.Module.Path, d.Module.Version))
		}
	}
	return m.hash(lines, files)
}

// packageFiles returns the files of a package, with or without its tests, and of its test data, and more
// of its files. Go files count for all build constraints.
func (m *module) packageFiles(p *goPackage, tests bool, more []string) (files []string) {
	for _, name := range slices.Concat(p.CFiles, p.HFiles, p.SFiles, p.EmbedFiles, more) {
		files = append(files, path.Join(m.dir(p), name))
	}
	for _, name := range m.tree(m.dir(p)) {
		if path.Dir(name) == m.dir(p) && path.Ext(name) == ".go" && (tests || !strings.HasSuffix(name, "_test.go")) {
			files = append(files, name)
		}
	}
	return append(files, m.tree(path.Join(m.dir(p), "testdata"))...)
}

// goFiles returns all Go files, and go.mod files.
func (m *module) goFiles() (files []string) {
	for _, name := range m.files {
		if path.Ext(name) == ".go" || path.Base(name) == "go.mod" {
			files = append(files, name)
		}
	}
	return files
}

// tree returns a file, or the files below a directory.
func (m *module) tree(name string) []string {
	if name == "." {
		return m.files
	}
	from, _ := slices.BinarySearch(m.files, name)
	if from < len(m.files) && m.files[from] == name {
		return m.files[from : from+1]
	}
	from, _ = slices.BinarySearch(m.files, name+"/")
	to, _ := slices.BinarySearch(m.files, name+"0") // "0" follows "/"
	return m.files[from:to]
}

// hash returns a hash of lines and of the content of files.
func (m *module) hash(lines, files []string) string {
	lines = slices.Clone(lines)
	for _, name := range files {
		sum, ok := m.hashes[name]
		if !ok {
			data, err := os.ReadFile(filepath.Join(m.root, name))
			sum = fmt.Sprintf("%x", sha256.Sum256(data))
			if err != nil {
				sum = "unreadable"
			}
			m.hashes[name] = sum
		}
		lines = append(lines, name+" "+sum)
	}
	slices.Sort(lines)
	return fmt.Sprintf("%.12x", sha256.Sum256([]byte(strings.Join(slices.Compact(lines), "\n"))))
}

// testSize returns the size of the test files of a package in bytes.
func (m *module) testSize(p *goPackage) (size int) {
	for _, name := range p.testFiles() {
		if info, err := os.Stat(filepath.Join(m.root, m.dir(p), name)); err == nil {
			size += int(info.Size())
		}
	}
	return size
}
