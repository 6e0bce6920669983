package archtest

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
)

// TestBrowserTestsAreMarked checks that tests that can create a managed browser are not short tests: they
// call tier.Browser. Tests of executor/chromium create some that they do not start. Browsers that a
// program starts are not seen.
func TestBrowserTestsAreMarked(t *testing.T) {
	source := gotest.NewSource("../..", module)
	for _, p := range list(t, module+"/...") {
		dir := strings.TrimPrefix(p.ImportPath, module+"/")
		tests, err := source.Tests(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range tests {
			if dir != "executor/chromium" && test.Tier == gotest.Short && source.Reaches(dir, test.Name, "executor/chromium.New") {
				t.Errorf("%s.%s starts a browser, and does not call tier.Browser", dir, test.Name)
			}
		}
	}
}
