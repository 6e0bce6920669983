package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A summary is what all runs have to report.
type summary struct {
	durations map[string]map[string]float64 // seconds by package and test
	flaky     []byte
}

// add records the duration of a test.
func (s *summary) add(pkg, test string, seconds float64) {
	if s.durations == nil {
		s.durations = map[string]map[string]float64{}
	}
	if s.durations[pkg] == nil {
		s.durations[pkg] = map[string]float64{}
	}
	s.durations[pkg][test] = seconds
}

// addAll records the durations of tests by package.
func (s *summary) addAll(durations map[string]map[string]float64) {
	for pkg, tests := range durations {
		for test, seconds := range tests {
			s.add(pkg, test, seconds)
		}
	}
}

// has reports whether a test has run whose name ends with suffix.
func (s *summary) has(suffix string) bool {
	for _, tests := range s.durations {
		for test := range tests {
			if strings.HasSuffix(test, suffix) {
				return true
			}
		}
	}
	return false
}

// write prints the packages and tests that took longest and those that were run again, and writes both
// lists to dir.
func (s *summary) write(w io.Writer, dir string) error {
	type test struct {
		name    string
		seconds float64
	}
	var tests []test
	for pkg, all := range s.durations {
		for name, seconds := range all {
			// A parent ends with its cases. Parallel cases count from their start, which includes
			// waiting for their turn.
			tests = append(tests, test{strings.TrimPrefix(pkg, module) + "." + name, seconds})
		}
	}
	slices.SortFunc(tests, func(a, b test) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintf(w, "\nThe slowest %d tests:\n", slowest)
	for _, t := range tests[:min(slowest, len(tests))] {
		fmt.Fprintf(w, "%7.1f s  %s\n", t.seconds, t.name)
	}
	data, err := json.MarshalIndent(s.durations, "", "\t")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "test.json"), data, 0o644)
	}
	if err == nil && len(s.flaky) > 0 {
		fmt.Fprintf(w, "\nFLAKY:\n%s", s.flaky)
		err = os.WriteFile(filepath.Join(dir, "flaky.txt"), s.flaky, 0o644)
	}
	return err
}
