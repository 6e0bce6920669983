package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

const module = "github.com/chrome-mcp/chrome-mcp/"

// browserPackages are the packages whose landing tests drive browsers, those that take longest first.
// They run without the race detector, which makes them several times slower; the deep tests use it
// everywhere.
var browserPackages = []string{
	"cmd/chrome-mcp", "executor/extension", "executor/chromium", "internal/input/inputsuite", "internal/reading/readingsuite", "extension",
	"internal/dashboard", "internal/page/pagesuite", "internal/launch",
	"extension/store", "examples/ci", "examples/demo", "examples/docker", "examples/embed", "examples/managed", "examples/policy",
	"relay",
}

// buildPackages are the packages without a browser whose tests build programs. go test does not see the
// files of these, and would take results for valid that are not. They run with browserPackages.
var buildPackages = []string{"npm"}

// raceBrowserPackages are the packages with few landing tests that drive browsers. They keep the race
// detector.
var raceBrowserPackages = []string{"internal/outline", "policy"}

// slowPackages are the packages without a browser whose tests take longest. They start first, so that
// none of them runs alone at the end.
var slowPackages = []string{"mcp", "internal/chat", "internal/outline"}

// raceCases are the cases of the contract suite in which calls run at the same time.
var raceCases = []string{"concurrency", "dialogs"}

// timeout ends a test binary that hangs, with the stacks of its goroutines.
const timeout = "-timeout=30m"

// uncached also runs tests that have passed: the browser, or what they build, may have changed.
const uncached = "-count=1"

// unvetted does not vet the packages again: make check does.
const unvetted = "-vet=off"

// plan divides the packages that match the patterns into runs. As many packages that drive browsers run at
// a time as may have browsers (see package tier): none waits for its turn in the middle of a test.
func plan(patterns []string) ([]testRun, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	cmd := exec.Command("go", append([]string{"list"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := strings.Fields(string(bytes.TrimSpace(out)))
	pick := func(names []string) (found []string) {
		for _, name := range names {
			if i := slices.Index(all, module+name); i >= 0 {
				found = append(found, all[i])
				all = slices.Delete(all, i, i+1)
			}
		}
		return found
	}
	if slices.Equal(patterns, []string{"./..."}) {
		pick([]string{"internal/archtest"}) // make check runs it
	}
	browsers, serial, slow := pick(slices.Concat(browserPackages, buildPackages)), pick(gotest.Serial), pick(slowPackages)
	runs := []testRun{
		{flags: []string{timeout, unvetted, "-p=2"}, packages: serial},
		{flags: []string{timeout, unvetted, "-p=2"}, packages: append(slow, all...)},
		{flags: []string{timeout, unvetted, fmt.Sprint("-p=", tier.MaxProcesses()), uncached}, packages: browsers},
	}
	if hasCompiler() {
		runs[1].flags = append(runs[1].flags, "-race")
		if slices.Contains(browsers, module+"executor/chromium") {
			run := "-run=^TestExecutor$/./^(" + strings.Join(raceCases, "|") + ")$"
			runs = append(runs, testRun{[]string{timeout, unvetted, uncached, "-race", run}, []string{module + "executor/chromium"}, raceCases})
		}
	}
	return slices.DeleteFunc(runs, func(r testRun) bool { return len(r.packages) == 0 }), nil
}

// hasCompiler reports whether a C compiler for the race detector is installed. CI has one; elsewhere
// the tests run without it.
func hasCompiler() bool {
	return os.Getenv("CI") != "" || slices.ContainsFunc([]string{"gcc", "cc", "clang"}, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
}
