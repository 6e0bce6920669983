package main

import (
	"fmt"
	"io"
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
	if i := slices.IndexFunc(units, func(u *unit) bool { return u.kind == mutations }); i >= 0 && strings.HasSuffix(units[i].name, " "+modeNames[mutation.Landing]) {
		return printPromises(out, r, units)
	}
	if n := len(total.states[failed]); n > 0 {
		return fmt.Errorf("%d tests failed", n)
	}
	return nil
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

// printPromises prints for each promise of SECURITY.md how many of its mutations fail the landing
// tests. It returns an error if all mutations of a promise were tried and none does.
func printPromises(out io.Writer, r *report, units []*unit) error {
	detected, tried, all, order := map[string]int{}, map[string]int{}, map[string]int{}, []string{}
	total, found := 0, 0
	for _, u := range units {
		if all[u.about]++; all[u.about] == 1 {
			order = append(order, u.about)
		}
		switch r.state(u, single) {
		case passed:
			detected[u.about]++
			found++
		case failed:
		default:
			continue
		}
		tried[u.about]++
		total++
	}
	unproved := 0
	fmt.Fprintln(out, "\nmutations of each promise that the landing tests detect:")
	for _, promise := range order {
		fmt.Fprintf(out, "%3d of %-3d %s\n", detected[promise], all[promise], promise)
		if detected[promise] == 0 && tried[promise] == all[promise] {
			unproved++
		}
	}
	fmt.Fprintf(out, "%d of %d mutations that were tried are detected (%.0f %%)\n", found, total, 100*float64(found)/float64(max(total, 1)))
	if unproved > 0 {
		return fmt.Errorf("no landing test detects the mutations of %d promises", unproved)
	}
	return nil
}
