package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/mutation"
)

// slow is the duration of a test above which its end is printed.
const slow = 20 * time.Second

// A recorder writes the results of a run, and prints its progress.
type recorder struct {
	file    string
	out     io.Writer
	verbose bool
	units   int // to run
	module  *module

	mu     sync.Mutex // guards the fields below, and out
	report *report
	ended  int // units
}

// locked calls f while no result is recorded.
func (r *recorder) locked(f func() bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f()
}

// record records the result of a test, whose output is complete.
func (r *recorder) record(u *unit, test string, res result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	res.Inputs, res.Time = u.inputs, time.Now().UTC().Truncate(time.Second)
	if old := r.report.counting(u, test); old != nil {
		res.Failures = old.Failures
	}
	name := strings.TrimSuffix(u.name+"."+test, "."+single)
	switch took := time.Duration(res.Seconds * float64(time.Second)); {
	case res.Outcome == fail:
		res.Failures++
		fmt.Fprintf(r.out, "FAIL  %s (%.1f s)\n%s\n", name, res.Seconds, indent(res.Output))
	case r.verbose:
		fmt.Fprintf(r.out, "%s  %s (%.1f s)\n%s\n", res.Outcome, name, res.Seconds, indent(res.Output))
	case took >= slow && test != packageTest && test != single:
		fmt.Fprintf(r.out, "%s  %s (%.1f s)\n", res.Outcome, name, res.Seconds)
	}
	if res.Outcome == pass && u.kind != figures {
		res.Output = ""
	}
	r.report.set(u.name, test, &res)
	return r.report.save(r.file)
}

// indent indents the lines of a test's output.
func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// runUnit runs a unit. What ctx interrupts has no result.
func (r *recorder) runUnit(ctx context.Context, u *unit, c *checkouts) error {
	begin := time.Now()
	r.mu.Lock()
	fmt.Fprintf(r.out, "run   %s\n", u.name)
	r.mu.Unlock()
	err := u.run(ctx, u, r, c)
	now, moduleErr := r.module.now()
	changed := moduleErr == nil && u.hash(now) != u.inputs
	r.mu.Lock()
	defer r.mu.Unlock()
	if err = errors.Join(err, moduleErr); changed {
		fmt.Fprintf(r.out, "edited  %s: what passed does not count\n", u.name)
		r.report.drop(u)
		err = errors.Join(err, r.report.save(r.file))
	}
	if ctx.Err() != nil {
		fmt.Fprintf(r.out, "stop  %s\n", u.name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", u.name, err)
	}
	r.ended++
	fmt.Fprintf(r.out, "end   %s (%.1f s) [%d/%d]\n", u.name, time.Since(begin).Seconds(), r.ended, r.units)
	return nil
}

// checkouts are the worktrees in which mutations are tried, one for each lane. They are created when
// the first is needed. The zero value has none.
type checkouts struct {
	create    sync.Once
	free      chan mutation.Checkout
	removeAll func()
	err       error
}

// use calls f with a free checkout.
func (c *checkouts) use(ctx context.Context, f func(mutation.Checkout) error) error {
	c.create.Do(func() {
		var all []mutation.Checkout
		all, c.removeAll, c.err = mutation.NewCheckouts(ctx, 2)
		c.free = make(chan mutation.Checkout, len(all))
		for _, one := range all {
			c.free <- one
		}
	})
	if c.err != nil {
		return c.err
	}
	one := <-c.free
	defer func() { c.free <- one }()
	return f(one)
}

// remove removes the checkouts.
func (c *checkouts) remove() {
	if c.removeAll != nil {
		c.removeAll()
	}
}

// runSingle returns the run of a unit whose only test is f. f may set fields of the result that are only
// of its kind.
func runSingle(f func(ctx context.Context, c *checkouts, res *result) (output []byte, err error)) func(context.Context, *unit, *recorder, *checkouts) error {
	return func(ctx context.Context, u *unit, r *recorder, c *checkouts) error {
		begin := time.Now()
		var res result
		output, err := f(ctx, c, &res)
		if ctx.Err() != nil {
			return nil
		}
		res.Outcome, res.Seconds, res.Output = pass, time.Since(begin).Seconds(), tail(string(output))
		if err != nil {
			res.Outcome, res.Output = fail, tail(fmt.Sprintf("%s\n%v", output, err))
		}
		return r.record(u, single, res)
	}
}

// maxOutput is the maximum size in bytes of the output that a report has of a test.
const maxOutput = 8 << 10

// tail returns the end of a text.
func tail(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-maxOutput:], "")
}
