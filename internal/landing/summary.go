package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// writeDurations writes the durations to a file. It keeps those of packages that were not tested.
func (s *summary) writeDurations(file string) error {
	all := map[string]map[string]float64{}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	maps.Copy(all, s.durations)
	if data, err = json.MarshalIndent(all, "", "\t"); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
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
	err := s.writeDurations(filepath.Join(dir, "test.json"))
	if err == nil && len(s.flaky) > 0 {
		fmt.Fprintf(w, "\nFLAKY:\n%s", s.flaky)
		err = os.WriteFile(filepath.Join(dir, "flaky.txt"), s.flaky, 0o644)
	}
	return err
}
