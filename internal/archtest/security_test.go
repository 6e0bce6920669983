package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
)

var (
	// promise is a line of a table of SECURITY.md.
	promise = regexp.MustCompile(`(?m)^\| (.+?) \| (.+) \|$`)
	span    = regexp.MustCompile("`([^`]+)`")
	goTest  = regexp.MustCompile(`^([\w/-]+)\.((?:Test|Fuzz)\w+)(?:/(.+))?$`)
	jsTest  = regexp.MustCompile(`^([\w/-]+\.test\.js)/(.+)$`)
	inSuite = regexp.MustCompile(`^suite/([^/]+)/(.+)$`)
)

// TestPromisesHaveTests checks that each promise in SECURITY.md names a test, and that each named
// test exists.
func TestPromisesHaveTests(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, proofs, ok := strings.Cut(string(text), "\n## Tests\n")
	if !ok {
		t.Fatal("SECURITY.md has no section \"Tests\"")
	}
	promises := 0
	for _, line := range promise.FindAllStringSubmatch(proofs, -1) {
		if line[1] == "promise" || strings.HasPrefix(line[1], "---") {
			continue
		}
		promises++
		tests := span.FindAllStringSubmatch(line[2], -1)
		if len(tests) == 0 {
			t.Errorf("%q names no test", line[1])
		}
		for _, test := range tests {
			if why := missing(t, test[1]); why != "" {
				t.Errorf("%q is said to be proved by %s, which %s", line[1], test[1], why)
			}
		}
	}
	if promises < 30 {
		t.Errorf("%d promises were read", promises)
	}
}

// missing returns the reason why the test is missing, or "".
func missing(t *testing.T, name string) string {
	t.Helper()
	if m := inSuite.FindStringSubmatch(name); m != nil {
		for _, b := range executortest.Cases() {
			if b.Topic == m[1] && b.Case == m[2] {
				return ""
			}
		}
		return "is not a case of the suite"
	}
	if m := jsTest.FindStringSubmatch(name); m != nil {
		if text, err := os.ReadFile(filepath.Join("../..", m[1])); err != nil || !quoted(text, m[2]) {
			return "is not in that file"
		}
		return ""
	}
	m := goTest.FindStringSubmatch(name)
	if m == nil {
		return "is not the name of a test"
	}
	files, _ := filepath.Glob(filepath.Join("../..", m[1], "*_test.go"))
	found, caseFound := false, m[3] == ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+m[2]+"(t *testing.T) {\n\ttier.Exhaustive(t)\n") {
			return "does not run in CI"
		}
		found = found || strings.Contains(string(text), "\nfunc "+m[2]+"(")
		caseFound = caseFound || quoted(text, m[3])
	}
	switch {
	case !found:
		return "is not in that directory"
	case !caseFound:
		return "has no such case"
	}
	return ""
}

// quoted reports whether text has s as a string.
func quoted(text []byte, s string) bool {
	for _, q := range []string{`"`, "`", `'`} {
		if strings.Contains(string(text), q+s+q) {
			return true
		}
	}
	return false
}

func TestMissing(t *testing.T) {
	const none = "no such" + " case"
	for name, ok := range map[string]bool{
		"internal/archtest.TestMissing":                               true,
		"internal/archtest.TestMissing/internal/archtest.TestMissing": true,
		"internal/archtest.TestMissing/" + none:                       false,
		"internal/archtest.TestGone":                                  false,
		"executor/extension.TestExtensionDetailCases":                 false,
		"internal/nowhere.TestMissing":                                false,
		"suite/gate/access":                                           true,
		"suite/gate/" + none:                                          false,
		"extension/test/policy.test.js/documents are allowed and denied as in package policy": true,
		"extension/test/policy.test.js/" + none:                                               false,
		"TestMissing":                                                                         false,
	} {
		if why := missing(t, name); (why == "") != ok {
			t.Errorf("%s: %q", name, why)
		}
	}
}
