package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/mutation"
)

// A state says what is known of a test.
type state string

// The states.
const (
	passed  state = "passed"
	failed  state = "failed"
	skipped state = "skipped"
	stale   state = "stale" // the inputs have changed
	missing state = "missing"
)

// state returns the state of a test.
func (r *report) state(u *unit, test string) state {
	switch res := r.counting(u, test); {
	case res == nil && r.result(u.name, test) == nil:
		return missing
	case res == nil:
		return stale
	default:
		return map[string]state{pass: passed, fail: failed, skip: skipped}[res.Outcome]
	}
}

// A line is one line of the table: a package, or all units of another kind.
type line struct {
	name   string
	states map[state][]string // tests
	took   time.Duration
}

// table returns the lines of the report.
func table(r *report, units []*unit) (lines []*line) {
	byName := map[string]*line{}
	for _, u := range units {
		name := u.name
		if u.kind != packages {
			name = strings.TrimSuffix(string(u.kind), "/")
		}
		l := byName[name]
		if l == nil {
			l = &line{name: name, states: map[state][]string{}}
			byName[name] = l
			lines = append(lines, l)
		}
		for _, test := range u.tests {
			s := r.state(u, test)
			full := strings.TrimSuffix(u.name+"."+test, "."+single)
			l.states[s] = append(l.states[s], full)
			if res := r.counting(u, test); res != nil && (test == single || test == packageTest) {
				l.took += time.Duration(res.Seconds * float64(time.Second))
			}
		}
	}
	return lines
}

// maxNames is the maximum number of tests that the report names in a list.
const maxNames = 100

// printReport prints which results count. It returns an error if one of them is a failure, or if a
// promise has no mutation that the landing tests detect.
func printReport(out io.Writer, r *report, units []*unit) error {
	lines := table(r, units)
	total := &line{name: "total", states: map[state][]string{}}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	order := []state{passed, failed, skipped, stale, missing}
	fmt.Fprintln(w, "\npassed\tfailed\tskipped\tstale\tmissing\ttime\t unit")
	for _, l := range append(lines, total) {
		for _, s := range order {
			fmt.Fprintf(w, "%d\t", len(l.states[s]))
			if l != total {
				total.states[s] = append(total.states[s], l.states[s]...)
			}
		}
		fmt.Fprintf(w, "%s\t %s\n", l.took.Round(time.Second), l.name)
		total.took += l.took
	}
	w.Flush()
	for _, s := range order[1:] {
		names := total.states[s]
		if len(names) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s:\n", s)
		for _, name := range names[:min(len(names), maxNames)] {
			fmt.Fprintln(out, "   ", name)
		}
		if more := len(names) - maxNames; more > 0 {
			fmt.Fprintf(out, "    and %d more\n", more)
		}
	}
	printFlaky(out, r, units)
	printFigures(out, r, units)
	err := printPromises(out, r, units)
	if n := len(total.states[failed]); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d tests failed", n))
	}
	return err
}

// printFlaky lists the tests that have passed, and failed before with the same inputs.
func printFlaky(out io.Writer, r *report, units []*unit) {
	for _, u := range units {
		for _, test := range u.tests {
			if res := r.counting(u, test); res != nil && res.Outcome == pass && res.Failures > 0 {
				fmt.Fprintf(out, "\nFLAKY: %s.%s passed after %d failures\n", u.name, test, res.Failures)
			}
		}
	}
}

// printFigures prints the results of the benchmarks.
func printFigures(out io.Writer, r *report, units []*unit) {
	for _, u := range units {
		if u.kind != figures {
			continue
		}
		if res := r.counting(u, single); res != nil && res.Outcome == pass {
			fmt.Fprintf(out, "\n%s:\n%s\n", u.name, indent(res.Output))
		}
	}
}

// printPromises prints how many of the mutations that were tried the landing tests detect, and which
// others. It returns an error if all mutations of a promise of SECURITY.md were tried and they detect
// none of them.
func printPromises(out io.Writer, r *report, units []*unit) error {
	type promise struct{ mutations, tried, detected int }
	promises := map[string]*promise{}
	var others []string
	tried := 0
	for _, u := range units {
		if u.kind != mutations {
			continue
		}
		p := promises[u.about]
		if p == nil {
			p = new(promise)
			promises[u.about] = p
		}
		p.mutations++
		res := r.counting(u, single)
		if res == nil {
			continue
		}
		tried++
		if p.tried++; res.DetectedBy == mutation.ByLanding {
			p.detected++
		} else {
			others = append(others, fmt.Sprintf("%s (%s)", u.name, u.about))
		}
	}
	if tried == 0 {
		return nil
	}
	detected := tried - len(others)
	fmt.Fprintf(out, "\nthe landing tests detect %d of the %d mutations that were tried (%.0f %%); not detected:\n", detected, tried, 100*float64(detected)/float64(tried))
	for _, name := range others {
		fmt.Fprintln(out, "   ", name)
	}
	var err error
	for _, about := range slices.Sorted(maps.Keys(promises)) {
		if p := promises[about]; p.detected == 0 && p.tried == p.mutations {
			err = errors.Join(err, fmt.Errorf("the landing tests detect no mutation of the promise %q", about))
		}
	}
	return err
}
