package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/filelock"
	"github.com/chrome-mcp/chrome-mcp/internal/mutation"
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

	DetectedBy mutation.Detection `json:"detectedBy,omitempty"` // of a mutation that is detected
}

// A report has results by unit and test.
type report struct {
	Units  map[string]map[string]*result `json:"units"`
	inputs map[string]string             // of the units now
}

// loadReport reads a report, and the results of those next to it whose names begin in the same way, such
// as the reports of other shards. Of several results, it takes one that counts for units, then the newest.
func loadReport(file string, units []*unit) (*report, error) {
	merged := &report{map[string]map[string]*result{}, map[string]string{}}
	for _, u := range units {
		merged.inputs[u.name] = u.inputs
	}
	ext := filepath.Ext(file)
	files, err := filepath.Glob(strings.TrimSuffix(file, ext) + "*" + ext)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if err := merged.merge(name); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

// merge adds the results of a file that are better than those of r. The file need not exist.
func (r *report) merge(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var other report
	if err == nil {
		err = json.Unmarshal(data, &other)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for unit, tests := range other.Units {
		for test, res := range tests {
			old := r.result(unit, test)
			better := old == nil || res.Time.After(old.Time)
			if old != nil && (old.Inputs == r.inputs[unit]) != (res.Inputs == r.inputs[unit]) {
				better = res.Inputs == r.inputs[unit]
			}
			if better {
				r.set(unit, test, res)
			}
		}
	}
	return nil
}

// save writes the report in one step, so that an interrupt leaves a complete file. What another run has
// written to the file stays in it.
func (r *report) save(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	unlock, err := filelock.Lock(context.Background(), file+".lock", nil)
	if err != nil {
		return err
	}
	defer unlock()
	all := &report{map[string]map[string]*result{}, r.inputs}
	for unit, tests := range r.Units {
		all.Units[unit] = maps.Clone(tests)
	}
	if err := all.merge(file); err != nil {
		return err
	}
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetIndent("", "\t")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all); err != nil {
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
// tests, such as by a leak, it is not known which test failed, and all run. So they do if nothing but the
// result of the package is missing, because they have passed in different runs.
func (r *report) passed(u *unit) (tests []string) {
	if res := r.counting(u, packageTest); res != nil && res.Outcome == fail || res == nil && r.done(&unit{name: u.name, inputs: u.inputs, tests: u.tests[:len(u.tests)-1]}) {
		return nil
	}
	for _, test := range u.tests {
		if res := r.counting(u, test); res != nil && res.Outcome == pass && test != packageTest {
			tests = append(tests, test)
		}
	}
	return tests
}

// drop makes the results of a unit stale, whose inputs have changed while it ran, except for failures: a
// fuzz target that fails adds a file to its inputs.
func (r *report) drop(u *unit) {
	r.inputs[u.name] = ""
	for _, res := range r.Units[u.name] {
		if res.Outcome != fail {
			res.Inputs = "changed"
		}
	}
}

// forget removes the results of units.
func (r *report) forget(units []*unit) {
	for _, u := range units {
		delete(r.Units, u.name)
	}
}
