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
	Dir        string
	Standard   bool
	Module     *struct {
		Path, Version string
		Main          bool
		Replace       *struct{ Path, Version string }
	}
	GoFiles, CgoFiles, CFiles, HFiles, SFiles, EmbedFiles      []string
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

// loadModule lists the module in a directory.
func loadModule(ctx context.Context, root string) (*module, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	cmd := gotest.Command(ctx, root, "go", "list", "-deps", "-test", "-json=ImportPath,Dir,Standard,Module,GoFiles,CgoFiles,CFiles,HFiles,SFiles,"+
		"EmbedFiles,TestGoFiles,TestEmbedFiles,XTestGoFiles,XTestEmbedFiles,Deps,Error", "./...")
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
	err = filepath.WalkDir(root, m.addFile)
	slices.Sort(m.files)
	return m, err
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
	seen := map[*goPackage]bool{p: true}
	for _, name := range m.packages[p.ImportPath+".test"].Deps {
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

// inputs returns a hash of what the tests of a package depend on: its files, those that it embeds, its
// test data, the same of the packages of the module that it imports, except for their tests, the
// versions of other modules, the files that are named in its tests, and more.
func (m *module) inputs(p *goPackage, more ...string) string {
	lines := slices.Clone(more)
	files := m.packageFiles(p, slices.Concat(p.testFiles(), p.TestEmbedFiles, p.XTestEmbedFiles))
	files = append(files, m.namedFiles(p, p, p.testFiles())...)
	for _, d := range m.deps(p) {
		switch {
		case d.ours():
			files = append(files, m.packageFiles(d, nil)...)
			files = append(files, m.namedFiles(p, d, nil)...)
		case d.Module != nil && d.Module.Replace != nil:
			lines = append(lines, fmt.Sprintf("module %s %s", d.Module.Replace.Path, d.Module.Replace.Version))
		case d.Module != nil:
			lines = append(lines, fmt.Sprintf("module %s %s", d.Module.Path, d.Module.Version))
		}
	}
	return m.hash(lines, files)
}

// packageFiles returns the files of a package and of its test data, and more of its files.
func (m *module) packageFiles(p *goPackage, more []string) (files []string) {
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.CFiles, p.HFiles, p.SFiles, p.EmbedFiles, more) {
		files = append(files, path.Join(m.dir(p), name))
	}
	return append(files, m.tree(path.Join(m.dir(p), "testdata"))...)
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
