// Package tier chooses the tests to run. There are two tiers:
//
//   - The landing tests decide whether a change lands. go test runs them, and so does CI. go test
//     -short runs only those that need no browser and take less than a few seconds.
//   - The deep tests, which call [Deep], take long or prove what depends on chance. With TEST_LONG=1,
//     go test also runs them; make test-long runs all of them with the race detector.
package tier

import (
	"os"
	"os/exec"
	"testing"
)

// variable is the environment variable that enables deep tests. It has no prefix CHROME_MCP_,
// because the program rejects unknown variables with that prefix.
const variable = "TEST_LONG"

// Browser skips a test that drives a browser if the flag -short is set. Otherwise it waits until the
// tests of few enough other processes drive one, until the end of the test.
func Browser(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("drives a browser; run without -short")
	}
	takeSlot(t)
}

// Slow skips a test that takes seconds if the flag -short is set.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds; run without -short")
	}
}

// Deep marks a deep test, and skips it unless deep tests are enabled.
func Deep(t testing.TB) {
	t.Helper()
	if !DeepEnabled() {
		t.Skipf("a deep test; set %s=1", variable)
	}
	Browser(t)
}

// HangLimitScale returns the factor by which a TestMain scales the hang limits of the product. It is 5, and
// 1 in the deep tests that run the contract suite with the shipped values: these set TEST_TIMING=shipped.
func HangLimitScale() int {
	if os.Getenv("TEST_TIMING") == "shipped" {
		return 1
	}
	return 5
}

// DeepEnabled reports whether deep tests are enabled, for landing tests that repeat an attempt more
// often then.
func DeepEnabled() bool { return os.Getenv(variable) != "" }

// Node returns the path of Node. Without it, or without a package in tools/node_modules (make
// setup), the test is skipped, and fails in CI. The test must run in a directory two levels below
// the root of the repository.
func Node(t testing.TB, pkg string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat("../../tools/node_modules/" + pkg)
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI lacks Node or %s: %v", pkg, err)
		}
		t.Skipf("Node or %s not found (make setup): %v", pkg, err)
	}
	return node
}

// FastWindows is a flag for a browser that a test starts itself. Without it, each window loads two
// WebUI pages for the suggestions of the address bar, which take 40 % of the CPU time of a new
// window. Measured on Chromium 156.
const FastWindows = "--disable-features=WebUIOmniboxAimPopup,WebUIOmniboxPopup"
