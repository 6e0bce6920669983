package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// durationsFixture is a package with all kinds of durations in tests.
const durationsFixture = "internal/archtest/testdata/durations"

// TestDurations checks that no result of a test depends on the speed of the machine. In test files
// and in the packages of suites it reports
//
//   - constants of type time.Duration, at their outermost expression, that contain a constant of
//     package time or no named duration (5*time.Second, but not 2*wire.HelloTimeout),
//   - time.Sleep, time.Tick, time.After except with a constant of package await, and uses of time.Since
//     and time.Until other than calls, and
//   - comparisons of a measured time other than a lower bound whose violation is an error:
//     if took < wait { t.Error… }. A time is measured if it comes from time.Since, time.Until or Time.Sub,
//     directly or through variables, fields and results of functions.
//
// All of these are allowed in package await and in functions of fake time, of benchmarks and of
// deep tests:
//
//   - a declared function that calls synctest.Test, and a function literal passed to such a function,
//   - a declared function named Benchmark…,
//   - a function that calls tier.Deep, or another such function, in
//     a statement of its body that is not nested in another one,
//   - what runs only if tier.DeepEnabled returns true: the body of an if statement, and what follows
//     it in a condition,
//   - an argument of a call whose receiver or first argument is the result of a method named Deep, such as a
//     deep case of a suite, and
//   - a function, variable, constant or type that is used, and only in such functions.
//
// A duration is also allowed
//
//   - as an argument of a function or method of the product, and as a field of a struct, element of
//     a slice or value of a variable that the product declares, also in a sum or product, or added to
//     a time,
//   - as the other side of a lower bound,
//   - as a unit: a divisor, and the argument of Round and Truncate, and
//   - as a factor: an integer that a duration is multiplied by.
//
// It does not see limits that are computed at run time, such as a variable passed to context.WithTimeout,
// times compared as Time or as numbers of other programs, nor what JavaScript measures.
func TestDurations(t *testing.T) {
	for _, f := range durations(t) {
		if filepath.ToSlash(filepath.Dir(f.file)) != durationsFixture {
			t.Error(f)
		}
	}
}

// TestDurationsFixture checks the findings in the fixture against its comments "// want TEXT".
func TestDurationsFixture(t *testing.T) {
	got := map[string]string{}
	files := map[string]bool{}
	for _, f := range durations(t) {
		if filepath.ToSlash(filepath.Dir(f.file)) == durationsFixture {
			got[fmt.Sprintf("%s:%d", f.file, f.line)] += f.what
			files[f.file] = true
		}
	}
	for name := range files {
		source, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		line := 0
		for text := range strings.Lines(string(source)) {
			line++
			_, want, _ := strings.Cut(strings.TrimSpace(text), "// want ")
			if at := fmt.Sprintf("%s:%d", name, line); got[at] != want {
				t.Errorf("%s: found %q, want %q", at, got[at], want)
			}
		}
	}
	if len(files) != 1 {
		t.Errorf("findings in %d files of the fixture", len(files))
	}
}

// A durationFinding is a use of time that a test must not contain.
type durationFinding struct {
	file string // relative to the root of the module
	line int
	what string
}

func (f durationFinding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.what) }

// durations returns the findings in all packages of the module and in the fixture.
func durations(t *testing.T) []durationFinding {
	t.Helper()
	found, err := loadDurations()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// loadTests returns a checker with the test files of the module and the fixture. It has found nothing.
var loadTests = sync.OnceValues(func() (*durationChecker, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: root, Fset: fset, Tests: true}, "./...", "./"+durationsFixture)
	if err != nil {
		return nil, err
	}
	c := &durationChecker{fset: fset, root: root, uses: map[string][]*declaration{}, declared: map[string]*declaration{}, measured: map[types.Object]bool{}}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			return nil, e
		}
		for _, file := range p.Syntax {
			if name := c.name(file.Pos()); c.checks(name) && !c.has(name) {
				c.files = append(c.files, &sourceFile{file, name, p.TypesInfo})
			}
		}
	}
	return c, nil
})

var loadDurations = sync.OnceValues(func() ([]durationFinding, error) {
	c, err := loadTests()
	if err != nil {
		return nil, err
	}
	for _, file := range c.files {
		c.index(file)
	}
	c.findExempt()
	for c.findMeasured() {
	}
	for _, file := range c.files {
		c.check(file)
	}
	slices.SortFunc(c.found, func(a, b durationFinding) int {
		return cmp.Or(strings.Compare(a.file, b.file), a.line-b.line, strings.Compare(a.what, b.what))
	})
	return c.found, nil
})

// testPackages matches the directories of packages that are part of tests.
var testPackages = regexp.MustCompile(`^internal/(executortest|leaktest|testing|\w+/\w+suite)(/|$)`)

// awaitDir is the directory of the package that waits for all tests.
const awaitDir = "internal/testing/await"

// testTools is the directory of a package that runs tests, and that none of them uses.
const testTools = "internal/testing/gotest"

// isTest reports whether a file, relative to the root, is part of tests and not of the product or of
// the programs that run tests.
func isTest(name string) bool {
	return strings.HasSuffix(name, "_test.go") || testPackages.MatchString(name) && !strings.HasPrefix(name, testTools+"/")
}

// A sourceFile is a file to check.
type sourceFile struct {
	*ast.File
	name string
	info *types.Info
}

// A durationChecker finds durations in the files of tests.
type durationChecker struct {
	fset     *token.FileSet
	root     string
	files    []*sourceFile
	declared map[string]*declaration   // by name of the object
	uses     map[string][]*declaration // declarations that use an object
	measured map[types.Object]bool     // variables, fields and functions whose values come from time.Since
	found    []durationFinding
}

// name returns the name of the file at pos, relative to the root.
func (c *durationChecker) name(pos token.Pos) string {
	name, err := filepath.Rel(c.root, c.fset.Position(pos).Filename)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(name)
}

func (c *durationChecker) checks(name string) bool {
	return isTest(name) && !strings.HasPrefix(name, "../") && !strings.HasPrefix(name, awaitDir+"/")
}

func (c *durationChecker) has(name string) bool {
	return slices.ContainsFunc(c.files, func(f *sourceFile) bool { return f.name == name })
}

// report adds a finding at node.
func (c *durationChecker) report(file *sourceFile, node ast.Node, what string) {
	c.found = append(c.found, durationFinding{file.name, c.fset.Position(node.Pos()).Line, what})
}

// inProduct reports whether the product declares obj.
func (c *durationChecker) inProduct(obj types.Object) bool {
	return obj != nil && obj.Pkg() != nil && match(module+"/...", strings.TrimSuffix(obj.Pkg().Path(), "_test")) && !isTest(c.name(obj.Pos()))
}

// check adds the findings in a file.
func (c *durationChecker) check(file *sourceFile) {
	v := &durationVisitor{c, file, nil}
	for _, decl := range file.Decls {
		v.check(decl)
	}
}
