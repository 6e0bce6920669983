package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
)

// A packageRun is what is known of the run of a package that has not ended.
type packageRun struct {
	failedTests int
	reason      string // the first line that matches gotest.Unrepeatable
	last        string // the last line of the package that is not the result
}

// judge reads the events of all runs of a gotestsum, and returns what fails them even if the tests
// passed when they were run again: a data race, a panic, a deadlock, and a package that failed
// although no test of it did, as after a leak. It adds the durations to s.
func judge(r io.Reader, s *summary) (problems []string, err error) {
	running := map[string]*packageRun{}
	for dec := json.NewDecoder(r); ; {
		var e gotest.Event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			return problems, nil
		} else if err != nil {
			return problems, fmt.Errorf("events of the tests: %w", err)
		}
		if e.Package == "" {
			continue // of a build
		}
		p := running[e.Package]
		if p == nil {
			p = &packageRun{}
			running[e.Package] = p
		}
		switch line := strings.TrimSpace(e.Output); {
		case e.Action == "output":
			if p.reason == "" && gotest.Unrepeatable.MatchString(e.Output) {
				p.reason = line
			}
			if e.Test == "" && line != "" && !strings.HasPrefix(line, "FAIL") && !strings.HasPrefix(line, "exit status") {
				p.last = line
			}
		case e.Test != "":
			if e.Action == "fail" {
				p.failedTests++
			}
			if e.Action == "fail" || e.Action == "pass" {
				s.add(e.Package, e.Test, e.Elapsed)
			}
		case e.Action == "pass", e.Action == "skip", e.Action == "fail":
			delete(running, e.Package)
			switch {
			case p.reason != "":
				problems = append(problems, fmt.Sprintf("%s: %s: not run again", e.Package, p.reason))
			case e.Action == "fail" && p.failedTests == 0:
				problems = append(problems, fmt.Sprintf("%s failed, but none of its tests: %s", e.Package, p.last))
			}
		}
	}
}
