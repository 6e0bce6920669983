package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
)

// A packageRun is what is known of the run of a package that has not ended.
type packageRun struct {
	failedTests int
	open        map[string]bool // tests that have begun and not ended
	reason      string          // the first line that matches gotest.Unrepeatable
	last        string          // the last line of the package that is not the result
}

// judge reads the events of all runs of a gotestsum, and returns what fails them even if gotestsum
// accepts them: a data race, a panic, a deadlock, and a package that failed although no test of it did,
// as after a leak; a test binary that ended during a test, whose other tests have not run; a failed test
// that did not pass in a later run; and a package that passed although a test of it failed. It adds the
// durations to s.
//
// gotestsum runs a failed test again alone. A test that fails only after others of its package passes
// then, and is reported as flaky.
func judge(r io.Reader, s *summary) (problems []string, err error) {
	running := map[string]*packageRun{}
	failed := map[string]bool{} // tests that have failed and not passed since, with their packages
	for dec := json.NewDecoder(r); ; {
		var e gotest.Event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return problems, fmt.Errorf("events of the tests: %w", err)
		}
		if e.Package == "" {
			continue // of a build
		}
		p := running[e.Package]
		if p == nil {
			p = &packageRun{open: map[string]bool{}}
			running[e.Package] = p
		}
		name := e.Package + "." + e.Test
		switch line := strings.TrimSpace(e.Output); {
		case e.Action == "output":
			if p.reason == "" && gotest.Unrepeatable.MatchString(e.Output) {
				p.reason = line
			}
			if e.Test == "" && line != "" && !strings.HasPrefix(line, "FAIL") && !strings.HasPrefix(line, "exit status") {
				p.last = line
			}
		case e.Test != "" && e.Action == "run":
			p.open[e.Test] = true
		case e.Test != "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"):
			delete(p.open, e.Test)
			switch e.Action {
			case "pass":
				delete(failed, name)
			case "fail":
				failed[name] = true
				p.failedTests++
			}
			if e.Action != "skip" {
				s.add(e.Package, e.Test, e.Elapsed)
			}
		case e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"):
			delete(running, e.Package)
			switch {
			case p.reason != "":
				problems = append(problems, fmt.Sprintf("%s: %s: counts even if the tests passed when they were run again", e.Package, p.reason))
			case len(p.open) > 0:
				problems = append(problems, fmt.Sprintf("%s ended during %s", e.Package, strings.Join(slices.Sorted(maps.Keys(p.open)), ", ")))
			case e.Action == "fail" && p.failedTests == 0:
				problems = append(problems, fmt.Sprintf("%s failed, but none of its tests: %s", e.Package, p.last))
			case e.Action != "fail" && p.failedTests > 0:
				problems = append(problems, fmt.Sprintf("%s passed, but not its tests", e.Package))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(running)) {
		problems = append(problems, name+" has not ended")
	}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		problems = append(problems, name+" failed, and did not pass when it was run again")
	}
	return problems, nil
}
