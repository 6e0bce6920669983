// Command deeptest runs the deep tests: all tests with the race detector, the mutations, the fuzz
// targets, and the benchmarks whose figures the documents state.
//
//	go run ./internal/deeptest [flags]
//
// The result of each test is written to bin/test-long.json when the test ends. A result counts while
// the inputs of the test are unchanged, and what passed and counts is not run again. A failed test is
// run once in a run; the report has the number of its failures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/mutation"
)

// reportFile is the report of this machine. Reports of other shards next to it are read, but not
// written.
const reportFile = "bin/test-long.json"

// A config says what to run and how. The working directory is the root of the module.
type config struct {
	race      bool
	shard     shard
	limit     time.Duration // 0 means no limit
	only      *regexp.Regexp
	again     bool
	verbose   bool
	fuzztime  string
	mutations []mutation.Mutation
	kinds     []kind // of units; nil means all but intact
	vet       []string
}

func main() {
	c := config{shard: shard{1, 1}, mutations: mutation.List(), vet: []string{"darwin"}}
	var (
		only   = flag.String("only", "", "run only units, or mutations of promises, that match `pattern`")
		report = flag.Bool("report", false, "run nothing; print which results count")
		list   = flag.Bool("list", false, "run nothing; list all tests with tier, package and last duration")
	)
	flag.BoolVar(&c.race, "race", true, "use the race detector")
	flag.Var(&c.shard, "shard", "run part `i/n` of the units")
	flag.DurationVar(&c.limit, "limit", 0, "`duration` after which the run ends; it continues in the next one")
	flag.BoolVar(&c.again, "again", false, "also run what passed and counts")
	flag.BoolVar(&c.verbose, "v", false, "print the output of each test")
	flag.StringVar(&c.fuzztime, "fuzztime", "50000x", "number of executions of each fuzz target")
	for _, f := range []struct {
		name, usage string
		kind        kind
	}{
		{"mutations", "run only mutations", mutations},
		{"intact", "run only the tests of mutations, on the unchanged code, where they must pass", intact},
	} {
		flag.BoolFunc(f.name, f.usage, func(string) error {
			c.kinds = []kind{f.kind}
			return nil
		})
	}
	flag.Parse()
	err := func() (err error) {
		if c.only, err = regexp.Compile(*only); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		switch {
		case *list:
			return listTests(ctx, os.Stdout)
		case *report:
			return c.report(ctx, os.Stdout)
		}
		return c.run(ctx, os.Stdout)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "deeptest:", err)
		os.Exit(1)
	}
}

// report prints which results count. It returns an error if one is a failure, or if some are missing.
func (c config) report(ctx context.Context, out io.Writer) error {
	_, units, err := c.plan(ctx)
	if err != nil {
		return err
	}
	report, err := loadReport(reportFile, units)
	if err != nil {
		return err
	}
	err = printReport(out, report, units)
	n, all := 0, 0
	for _, u := range units {
		for _, test := range u.tests {
			if all++; report.counting(u, test) != nil {
				n++
			}
		}
	}
	if fmt.Fprintf(out, "\n%d of %d results count\n", n, all); n < all {
		err = errors.Join(err, errors.New("the results are not complete"))
	}
	return err
}

// run runs what has no result that counts, and prints the report. It returns an error if a test of the
// shard has failed.
func (c config) run(ctx context.Context, out io.Writer) error {
	if c.limit > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, c.limit, fmt.Errorf("the limit of %s is reached", c.limit))
		defer cancel()
		ctx = limited
	}
	m, units, err := c.plan(ctx)
	if err != nil {
		return err
	}
	report, err := loadReport(reportFile, units)
	if err != nil {
		return err
	}
	if c.again {
		report.forget(units)
	}
	r := &recorder{report: report, file: reportFile, out: out, verbose: c.verbose, module: m}
	for _, u := range units {
		if !report.done(u) {
			r.units++
		}
	}
	fmt.Fprintf(out, "%d of %d units have no results that count\n", r.units, len(units))
	begin := time.Now()
	checkouts := &checkouts{}
	defer checkouts.remove()
	runErr := runLanes(ctx, units, func(u *unit) error {
		if r.locked(func() bool { return report.done(u) }) {
			return nil
		}
		return r.runUnit(ctx, u, checkouts)
	})
	fmt.Fprintf(out, "\nran for %s\n", time.Since(begin).Round(time.Second))
	if ctx.Err() != nil {
		fmt.Fprintf(out, "not complete: %v; the next run continues\n", context.Cause(ctx))
	}
	return errors.Join(runErr, printReport(out, report, units))
}
