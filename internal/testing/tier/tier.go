// Package tier chooses the tests to run. There are four tiers:
//
//   - go test -short runs the tests that need no browser and take less than a few seconds.
//   - go test runs these, slow tests, and the tests that drive a browser. So does CI.
//   - With TEST_LONG=1, go test also runs long tests. With TEST_LONG=i/n, it runs the i-th of n parts
//     of the cases of those that take longest.
//   - With TEST_LONG=all, go test also runs exhaustive tests, which take minutes each on
//     an idle machine.
package tier

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// variable is the environment variable that enables long tests. It has no prefix CHROME_MCP_,
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

// Long skips a long test unless long tests are enabled.
func Long(t testing.TB) {
	t.Helper()
	if !LongEnabled() {
		t.Skipf("takes long; set %s=1", variable)
	}
	Browser(t)
}

// LongCase skips one of many cases of a long test unless long tests are enabled and the case is in
// the part to run.
func LongCase(t testing.TB) {
	t.Helper()
	Long(t)
	if !InPart(t.Name()) {
		t.Skip("in another part of the cases")
	}
}

// InPart reports whether a case with this name is in the part to run. It panics if the part is
// malformed.
func InPart(name string) bool {
	part, parts, ok := strings.Cut(os.Getenv(variable), "/")
	if !ok {
		return true // all of them
	}
	i, err := strconv.ParseUint(part, 10, 32)
	n, err2 := strconv.ParseUint(parts, 10, 32)
	if err := errors.Join(err, err2); err != nil || i < 1 || i > n {
		panic(fmt.Sprintf("%s=%s is not a part such as 1/4", variable, os.Getenv(variable)))
	}
	hash := fnv.New32a()
	hash.Write([]byte(name))
	return uint64(hash.Sum32())%n == i-1
}

// LongEnabled reports whether long tests are enabled, for tests that repeat an attempt fewer times
// otherwise.
func LongEnabled() bool { return os.Getenv(variable) != "" }

// ExhaustiveEnabled reports whether all tests are enabled, for tests that repeat an attempt fewer
// times otherwise.
func ExhaustiveEnabled() bool { return os.Getenv(variable) == "all" }

// Exhaustive skips an exhaustive test unless all tests are enabled.
func Exhaustive(t testing.TB) {
	t.Helper()
	if !ExhaustiveEnabled() {
		t.Skipf("takes minutes; set %s=all", variable)
	}
	Browser(t)
}

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
