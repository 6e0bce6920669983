package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suites"
)

var (
	// promise is a line of a table of SECURITY.md.
	promise = regexp.MustCompile(`(?m)^\| (.+?) \| (.+) \|$`)
	span    = regexp.MustCompile("`([^`]+)`")
	goTest  = regexp.MustCompile(`^([\w/-]+)\.((?:Test|Fuzz)\w+)(?:/(.+))?$`)
	jsTest  = regexp.MustCompile(`^([\w/-]+\.test\.js)/(.+)$`)
	// jsComment matches a line of JavaScript that begins with a comment.
	jsComment = regexp.MustCompile(`(?m)^\s*(//|/?\*).*$`)
	inSuite   = regexp.MustCompile(`^suite/([^/]+)/(.+)$`)
)

// TestPromisesHaveTests checks that each promise in SECURITY.md names a landing test, and that each
// named test exists.
func TestPromisesHaveTests(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, proofs, ok := strings.Cut(string(text), "\n## Tests\n")
	if !ok {
		t.Fatal("SECURITY.md has no section \"Tests\"")
	}
	promises, source := 0, gotest.NewSource("../..", module)
	for _, line := range promise.FindAllStringSubmatch(proofs, -1) {
		if line[1] == "promise" || strings.HasPrefix(line[1], "---") {
			continue
		}
		promises++
		landing := false
		for _, test := range span.FindAllStringSubmatch(line[2], -1) {
			if why := missing(t, source, test[1]); why != "" {
				t.Errorf("%q is said to be proved by %s, which %s", line[1], test[1], why)
			}
			landing = landing || !deep(t, source, test[1])
		}
		if !landing {
			t.Errorf("%q names no landing test", line[1])
		}
	}
	if promises < 30 {
		t.Errorf("%d promises were read", promises)
	}
}

// missing returns the reason why the test is missing, or "".
func missing(t *testing.T, source *gotest.Source, name string) string {
	t.Helper()
	if m := inSuite.FindStringSubmatch(name); m != nil {
		for _, b := range suites.Cases() {
			if b.Topic == m[1] && b.Case == m[2] {
				return ""
			}
		}
		return "is not a case of the suite"
	}
	if m := jsTest.FindStringSubmatch(name); m != nil {
		text, err := os.ReadFile(filepath.Join("../..", m[1]))
		if code := jsComment.ReplaceAllString(string(text), ""); err != nil || !strings.Contains(code, "test('"+m[2]+"'") && !strings.Contains(code, `test("`+m[2]+`"`) {
			return "is not in that file"
		}
		return ""
	}
	m := goTest.FindStringSubmatch(name)
	if m == nil {
		return "is not the name of a test"
	}
	tests, err := source.Tests(m[1])
	if err != nil || !slices.ContainsFunc(tests, func(test gotest.Test) bool { return test.Name == m[2] }) {
		return "is not in that directory"
	}
	files, _ := filepath.Glob(filepath.Join("../..", m[1], "*_test.go"))
	caseFound := m[3] == ""
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				caseFound = caseFound || text == m[3]
			}
			return !caseFound
		})
	}
	if !caseFound {
		return "has no such case"
	}
	return ""
}

// deep reports whether a test that exists is a deep test. The JavaScript tests run with make check,
// and fuzz targets run on their seeds as landing tests.
func deep(t *testing.T, source *gotest.Source, name string) bool {
	t.Helper()
	if m := inSuite.FindStringSubmatch(name); m != nil {
		for _, c := range suites.Cases() {
			if c.Topic == m[1] && c.Case == m[2] {
				return c.Deep
			}
		}
	}
	m := goTest.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	tests, err := source.Tests(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(tests, func(test gotest.Test) bool { return test.Name == m[2] && test.Tier == gotest.Deep })
}

// TestMissing checks which names are those of tests. It has no "a case of a comment".
func TestMissing(t *testing.T) {
	const none = "no such" + " case"
	source := gotest.NewSource("../..", module)
	for name, ok := range map[string]bool{
		"internal/archtest.TestMissing":                               true,
		"internal/archtest.TestMissing/internal/archtest.TestMissing": true,
		"internal/archtest.TestMissing/" + none:                       false,
		"internal/archtest.TestMissing/a case" + " of a comment":      false,
		"internal/archtest.TestGone":                                  false,
		"internal/nowhere.TestMissing":                                false,
		"suite/gate/access":                                           true,
		"suite/gate/" + none:                                          false,
		"extension/test/policy.test.js/documents are allowed and denied as in package policy": true,
		"extension/test/policy.test.js/" + none:                                               false,
		"TestMissing":                                                                         false,
	} {
		if why := missing(t, source, name); (why == "") != ok {
			t.Errorf("%s: %q", name, why)
		}
	}
}

func TestDeep(t *testing.T) {
	source := gotest.NewSource("../..", module)
	for name, want := range map[string]bool{
		"internal/archtest.TestDeep":                     false,
		"policy.TestLongURLsByNavigation":                true,
		"policy.FuzzURL":                                 false,
		"executor/chromium.TestLeaks/pool":               false,
		"suite/gate/access":                              false,
		"suite/denied_pixels/by tasks":                   true,
		"suite/covered/clipped away":                     true,
		"extension/test/policy.test.js/one of that file": false,
		"executor/extension.TestLongExtension/any":       true,
	} {
		if deep(t, source, name) != want {
			t.Errorf("%s: want deep %v", name, want)
		}
	}
}
