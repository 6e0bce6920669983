package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The outcomes of a test.
const (
	pass = "pass"
	fail = "fail"
	skip = "skip"
)

// A result is the last result of a test.
type result struct {
	Outcome  string             `json:"outcome"`
	Seconds  float64            `json:"seconds"`
	Inputs   string             `json:"inputs"`
	Time     time.Time          `json:"time"`               // of its end
	Failures int                `json:"failures,omitempty"` // with these inputs
	Output   string             `json:"output,omitempty"`   // of a failure, the reason of a skip, or figures
	Cases    map[string]float64 `json:"cases,omitempty"`    // seconds of the cases of a suite
}

// A report has results by unit and test.
type report struct {
	Units map[string]map[string]*result `json:"units"`
}

// loadReport reads a report, and the newer results of those next to it whose names begin in the same
// way, such as the reports of other shards.
func loadReport(file string) (*report, error) {
	merged := &report{map[string]map[string]*result{}}
	ext := filepath.Ext(file)
	files, err := filepath.Glob(strings.TrimSuffix(file, ext) + "*" + ext)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var r report
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for unit, tests := range r.Units {
			for test, res := range tests {
				if old := merged.result(unit, test); old == nil || res.Time.After(old.Time) {
					merged.set(unit, test, res)
				}
			}
		}
	}
	return merged, nil
}

// save writes the report in one step, so that an interrupt leaves a complete file.
func (r *report) save(file string) error {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetIndent("", "\t")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", data.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func (r *report) result(unit, test string) *result { return r.Units[unit][test] }

func (r *report) set(unit, test string, res *result) {
	if r.Units[unit] == nil {
		r.Units[unit] = map[string]*result{}
	}
	r.Units[unit][test] = res
}

// counting returns the result of a test if it counts, or nil.
func (r *report) counting(u *unit, test string) *result {
	if res := r.result(u.name, test); res != nil && res.Inputs == u.inputs {
		return res
	}
	return nil
}

// done reports whether each test of a unit has a result that counts and is not a failure.
func (r *report) done(u *unit) bool {
	return !slices.ContainsFunc(u.tests, func(test string) bool {
		res := r.counting(u, test)
		return res == nil || res.Outcome == fail
	})
}

// passed returns the tests of a package that need not run again. If the package failed outside of its
// tests, such as by a leak, it is not known which test failed.
func (r *report) passed(u *unit) (tests []string) {
	if res := r.counting(u, packageTest); res != nil && res.Outcome == fail {
		return nil
	}
	for _, test := range u.tests {
		if res := r.counting(u, test); res != nil && res.Outcome == pass && test != packageTest {
			tests = append(tests, test)
		}
	}
	return tests
}

// forget removes the results of units.
func (r *report) forget(units []*unit) {
	for _, u := range units {
		delete(r.Units, u.name)
	}
}
