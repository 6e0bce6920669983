package mutation

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/suites"
)

const root = "../.."

// TestMutationsApply checks that each mutation applies to the code.
func TestMutationsApply(t *testing.T) {
	names := map[string]bool{}
	for _, m := range List() {
		if names[m.Name()] {
			t.Errorf("two mutations have the name %s", m.Name())
		}
		names[m.Name()] = true
		text, err := os.ReadFile(filepath.Join(root, m.File))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(string(text), m.Old); m.Old == "" || n != 1 {
			t.Errorf("%s: %q occurs %d times, want once", m.File, m.Old, n)
		}
		if m.Old == m.New {
			t.Errorf("%s: %q is not changed", m.File, m.Old)
		}
		if _, err := os.Stat(filepath.Join(root, m.Package)); err != nil {
			t.Error(err)
		}
	}
}

// TestMutationsNameTests checks that the tests of each mutation exist. A subtest exists if a string
// literal of its package or of a suite matches, or begins the name and ends with a space.
func TestMutationsNameTests(t *testing.T) {
	type search struct {
		pattern *regexp.Regexp
		files   string
	}
	found := map[search][]string{}
	for _, m := range List() {
		tests, patterns := jsTest, []string{m.Test}
		files := []string{filepath.Join(root, m.Package, "*.test.js")}
		if m.Package != jsTests {
			tests, patterns = goTest, strings.Split(m.Test, "/")
			files = []string{filepath.Join(root, m.Package, "*_test.go")}
			for _, dir := range suites.Dirs {
				files = append(files, filepath.Join(root, dir, "*.go"))
			}
		}
		for _, pattern := range patterns {
			matches, err := regexp.Compile(pattern)
			if err != nil {
				t.Errorf("%s: %v", m.File, err)
				continue
			}
			exists := func(name string) bool {
				return matches.MatchString(name) || strings.HasSuffix(name, "_") && len(name) > 10 && strings.Contains(pattern, name)
			}
			one := search{tests, strings.Join(files, " ")}
			if found[one] == nil {
				found[one] = find(t, tests, files...)
			}
			if !slices.ContainsFunc(found[one], exists) {
				t.Errorf("%s: no test of %s matches %q", m.File, m.Package, pattern)
			}
			tests = literal
		}
	}
}

// TestDetected checks that only a failure of the named test counts as detection of a mutation.
func TestDetected(t *testing.T) {
	for output, want := range map[string]bool{
		"=== RUN   TestA\n=== RUN   TestA/b\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n": true,
		"=== RUN   TestA\n--- FAIL: TestA (0.00s)\nFAIL\n":                                                   false,
		"=== RUN   TestA\n=== RUN   TestA/b\npanic: in a goroutine\n":                                        true,
		"=== RUN   TestA\n=== RUN   TestA/b\npanic: test timed out after 2m0s\n":                             true,
		"panic: in init\n":                false,
		"FAIL\tfake [build failed]\n":     false,
		"=== RUN   TestA\nleaked: x\n":    false,
		"not ok 1 - b is denied\n":        false,
		"=== RUN   TestA\npanic: early\n": false,
	} {
		if m := (Mutation{Package: "./fake", Test: "^TestA$/^b"}); m.detected(output) != want {
			t.Errorf("want detected %v for\n%s", want, output)
		}
	}
	for output, want := range map[string]bool{
		"ok 1 - other\nnot ok 2 - b is denied\n":              true,
		"# Subtest: x\n    not ok 1 - b is denied # time 1\n": true,
		"not ok 1 - /tmp/extension/test/a.test.js\n":          false,
		"ok 1 - b is denied\nnot ok 2 - other\n":              false,
	} {
		if m := (Mutation{Package: jsTests, Test: "b is denied"}); m.detected(output) != want {
			t.Errorf("want detected %v for\n%s", want, output)
		}
	}
}

// goTest, jsTest and literal match the names of tests and subtests.
var (
	goTest  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	jsTest  = regexp.MustCompile(`\btest\((?:'([^']+)'|"([^"]+)")`)
	literal = regexp.MustCompile("\"((?:[^\"\\\\\n]|\\\\.)+)\"|`([^`\n]+)`")
)

// find returns the texts in the groups of pattern in the files that match globs, with spaces
// replaced as go test does.
func find(t *testing.T, pattern *regexp.Regexp, globs ...string) []string {
	t.Helper()
	var found []string
	for _, glob := range globs {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range pattern.FindAllSubmatch(text, -1) {
				name := string(slices.Concat(match[1:]...))
				if pattern == literal {
					name = strings.ReplaceAll(name, " ", "_")
				}
				found = append(found, name)
			}
		}
	}
	return found
}

// promise matches a row of the tables under "Tests" in SECURITY.md.
var promise = regexp.MustCompile(`(?m)^\| (.+?) \| .+ \|$`)

// TestEveryPromiseHasAMutation compares the mutations with the promises of
// SECURITY.md.
func TestEveryPromiseHasAMutation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, proofs, ok := strings.Cut(string(text), "\n## Tests\n")
	if !ok {
		t.Fatal("SECURITY.md has no section \"Tests\"")
	}
	rows := map[string]int{}
	for _, row := range promise.FindAllStringSubmatch(proofs, -1) {
		if row[1] != "promise" && !strings.HasPrefix(row[1], "---") {
			rows[row[1]] = 0
		}
	}
	for _, m := range List() {
		matches := 0
		for row := range rows {
			if strings.HasPrefix(row, m.Promise) {
				rows[row]++
				matches++
			}
		}
		if matches != 1 {
			t.Errorf("%s: %d promises of SECURITY.md begin with %q, want 1", m.File, matches, m.Promise)
		}
	}
	for row, n := range rows {
		if n == 0 {
			t.Errorf("no mutation removes the protection %q", row)
		}
	}
}
