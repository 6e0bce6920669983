// Package tier chooses the tests to run. There are four tiers:
//
//   - go test -short runs the tests that need no browser and take less than a few seconds.
//   - go test runs these, slow tests, and the tests that drive a browser.
//   - With TEST_LONG=1, go test also runs long tests, as CI does.
//   - With TEST_LONG=all, go test also runs exhaustive tests, which take minutes each on
//     an idle machine and do not run in CI.
package tier

import (
	"os"
	"testing"
)

// variable is the environment variable that enables long tests. It has no prefix CHROME_MCP_, because
// the program rejects unknown variables with that prefix.
const variable = "TEST_LONG"

// Browser skips a test that drives a browser if the flag -short is set.
func Browser(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("drives a browser; run without -short")
	}
}

// Slow skips a test that takes seconds if the flag -short is set.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds; run without -short")
	}
}

// Long skips a long test unless long tests are enabled.
func Long(t testing.TB) {
	t.Helper()
	Browser(t)
	if !LongEnabled() {
		t.Skipf("takes long; set %s=1", variable)
	}
}

// LongEnabled reports whether long tests are enabled, for tests that repeat an attempt fewer times
// otherwise.
func LongEnabled() bool { return os.Getenv(variable) != "" }

// Exhaustive skips an exhaustive test unless all tests are enabled.
func Exhaustive(t testing.TB) {
	t.Helper()
	Browser(t)
	if os.Getenv(variable) != "all" {
		t.Skipf("takes minutes; set %s=all", variable)
	}
}

// FastWindows is a flag for a browser that a test starts itself. Without it, each window loads two
// WebUI pages for the suggestions of the address bar, which take 40 % of the CPU time of a new
// window. Measured on Chromium 156.
const FastWindows = "--disable-features=WebUIOmniboxAimPopup,WebUIOmniboxPopup"
