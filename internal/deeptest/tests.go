package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suites"
)

// packageTests are the tests of a package that are built on this system.
type packageTests struct {
	names      []string // of tests, fuzz targets and examples
	tiers      map[string]gotest.Tier
	fuzz       []string
	benchmarks bool
}

// tests returns the tests of a package.
func (m *module) tests(p *goPackage) (packageTests, error) {
	found := packageTests{tiers: map[string]gotest.Tier{}}
	all, err := m.source.Tests(m.dir(p))
	if err != nil {
		return found, err
	}
	for _, t := range all {
		if !slices.Contains(p.testFiles(), t.File) {
			continue
		}
		found.names = append(found.names, t.Name)
		found.tiers[t.Name] = t.Tier
		if strings.HasPrefix(t.Name, "Fuzz") {
			found.fuzz = append(found.fuzz, t.Name)
		}
	}
	var files []*ast.File
	for _, name := range p.testFiles() {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(m.root, m.dir(p), name), nil, parser.ParseComments)
		if err != nil {
			return found, err
		}
		files = append(files, f)
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Benchmark") {
				found.benchmarks = true
			}
		}
	}
	for _, example := range doc.Examples(files...) {
		if example.Output != "" || example.EmptyOutput { // others are only compiled
			found.names = append(found.names, "Example"+example.Name)
		}
	}
	return found, nil
}

// listTests prints the tier, the package and the last duration of each test and of each case of the
// suites.
func listTests(ctx context.Context, out io.Writer) error {
	m, err := loadModule(ctx, ".")
	if err != nil {
		return err
	}
	d, err := loadDurations(m)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range m.tested() {
		tests, err := m.tests(p)
		if err != nil {
			return err
		}
		name := m.relative(p.ImportPath)
		for _, test := range tests.names {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", tests.tiers[test], name, d.of(name, test), test)
		}
	}
	for _, c := range suites.Cases() {
		tier := gotest.Landing
		if c.Deep {
			tier = gotest.Deep
		}
		fmt.Fprintf(w, "%s\tsuite\t%s\t%s/%s\n", tier, d.ofCase(c), c.Topic, c.Case)
	}
	return w.Flush()
}

// durations are the last durations of tests and cases in seconds, by package and test.
type durations map[string]map[string]float64

// loadDurations reads the durations of the last landing and deep tests. The former have no race
// detector, and are those of tests that both have run.
func loadDurations(m *module) (durations, error) {
	d := durations{}
	r, err := loadReport(reportFile, nil)
	if err != nil {
		return nil, err
	}
	for unit, tests := range r.Units {
		d[unit] = map[string]float64{}
		for test, res := range tests {
			d[unit][test] = res.Seconds
			for name, seconds := range res.Cases {
				d[unit][name] = seconds
			}
		}
	}
	data, err := os.ReadFile("bin/test.json")
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	} else if err != nil {
		return nil, err
	}
	var landing durations
	if err := json.Unmarshal(data, &landing); err != nil {
		return nil, fmt.Errorf("bin/test.json: %w", err)
	}
	for importPath, tests := range landing {
		name := m.relative(importPath)
		if d[name] == nil {
			d[name] = map[string]float64{}
		}
		for test, seconds := range tests {
			d[name][test] = seconds
		}
	}
	return d, nil
}

// of returns the duration of a test as text.
func (d durations) of(unit, test string) string {
	seconds, ok := d[unit][test]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.1fs", seconds)
}

// ofCase returns the duration of a case of the suite in the test that ran it first by name.
func (d durations) ofCase(c suite.Info) string {
	type found struct{ unit, test string }
	var all []found
	suffix := "/" + c.Topic + "/" + strings.ReplaceAll(c.Case, " ", "_")
	for unit, tests := range d {
		for test := range tests {
			if strings.Contains(test, "/backend=") && strings.HasSuffix(test, suffix) {
				all = append(all, found{unit, test})
			}
		}
	}
	if len(all) == 0 {
		return "-"
	}
	first := slices.MinFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.unit, b.unit), cmp.Compare(a.test, b.test)) })
	return d.of(first.unit, first.test)
}
