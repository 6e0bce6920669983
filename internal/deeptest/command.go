package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/mutation"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
)

// timeout ends a test binary that hangs, with the stacks of its goroutines.
const timeout = "-timeout=3h"

// deepCommand returns a go command that runs deep tests.
func deepCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := gotest.Command(ctx, "", "go", args...)
	cmd.Env = append(os.Environ(), "TEST_LONG=1")
	return cmd
}

// runPackage returns the run of the tests of a package that have not passed, see report.passed, without
// those of skip.
func runPackage(importPath string, skip []string, flags ...string) func(context.Context, *unit, *recorder, *checkouts) error {
	return func(ctx context.Context, u *unit, r *recorder, _ *checkouts) error {
		args := append([]string{"test", "-json", "-count=1", timeout}, flags...)
		partial := r.locked(func() bool {
			passed := r.report.passed(u)
			if skip := slices.Concat(skip, passed); len(skip) > 0 {
				args = append(args, "-skip=^("+strings.Join(skip, "|")+")$")
			}
			return len(passed) > 0
		})
		cmd := deepCommand(ctx, append(args, importPath)...)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		cmd.Stderr = cmd.Stdout
		if err := cmd.Start(); err != nil {
			return err
		}
		p := packageRun{u: u, r: r, partial: partial, outputs: map[string]*strings.Builder{}, cases: map[string]map[string]float64{}}
		lines := bufio.NewReader(stdout)
		for {
			line, readErr := lines.ReadBytes('\n')
			if err == nil && len(line) > 0 {
				err = p.line(ctx, line)
			}
			if readErr != nil {
				break
			}
		}
		waitErr := cmd.Wait()
		if err != nil || ctx.Err() != nil {
			return err
		}
		return p.end(waitErr)
	}
}

// A packageRun is the run of the tests of a package.
type packageRun struct {
	u       *unit
	r       *recorder
	partial bool                          // it skips tests that have passed
	outputs map[string]*strings.Builder   // by top-level test; "" is that of the package
	cases   map[string]map[string]float64 // seconds by top-level test and case
	failed  int
	ended   bool // all tests have run, and one has failed
	leak    bool
	seconds float64
}

// line handles a line of the output: usually an event.
func (p *packageRun) line(ctx context.Context, line []byte) error {
	var e gotest.Event
	if json.Unmarshal(line, &e) != nil {
		p.output("").Write(line)
		return nil
	}
	test, _, isCase := strings.Cut(e.Test, "/")
	switch e.Action {
	case "output", "build-output":
		if gotest.Unrepeatable.MatchString(e.Output) && test == "" {
			p.leak = true
		}
		if test == "" && e.Output == "FAIL\n" { // printed by testing.M.Run
			p.ended = true
		}
		p.output(test).WriteString(e.Output)
	case pass, fail, skip:
		switch {
		case test == "":
			p.seconds = e.Elapsed
		case isCase:
			if e.Action == pass && strings.Contains(e.Test, "/backend=") {
				if p.cases[test] == nil {
					p.cases[test] = map[string]float64{}
				}
				p.cases[test][e.Test] = e.Elapsed
			}
		case ctx.Err() != nil && e.Action == fail: // interrupted
		default:
			if e.Action == fail {
				p.failed++
			}
			res := result{Outcome: e.Action, Seconds: e.Elapsed, Output: tail(p.output(test).String()), Cases: p.cases[test]}
			delete(p.outputs, test)
			return p.r.record(p.u, test, res)
		}
	}
	return nil
}

func (p *packageRun) output(test string) *strings.Builder {
	if p.outputs[test] == nil {
		p.outputs[test] = new(strings.Builder)
	}
	return p.outputs[test]
}

// end records the result of the package itself. It is a pass if all tests have run in this process, and
// at most tests have failed: what is checked after them found nothing. A run that does not fail and
// skipped tests says nothing about them.
func (p *packageRun) end(err error) error {
	res := result{Outcome: pass, Seconds: p.seconds}
	switch testFailed := p.failed > 0 && !p.leak; {
	case p.partial && (err == nil || testFailed), testFailed && !p.ended:
		return nil
	case err != nil && !testFailed:
		res.Outcome = fail
		for test, output := range p.outputs { // of tests that have not ended too, such as after a panic
			if test != "" {
				res.Output += tail(output.String())
			}
		}
		res.Output = tail(fmt.Sprintf("%s%s%v", res.Output, p.output(""), err))
	}
	return p.r.record(p.u, packageTest, res)
}

// runFuzz returns the run of a fuzz target.
func runFuzz(importPath, target, executions string) func(context.Context, *unit, *recorder, *checkouts) error {
	return runSingle(func(ctx context.Context, _ *checkouts, _ *result) ([]byte, error) {
		return deepCommand(ctx, "test", "-run=^$", "-fuzz=^"+target+"$", "-fuzztime="+executions, "-parallel=1", importPath).CombinedOutput()
	})
}

// runBenchmarks returns the run of the benchmarks of a package.
func runBenchmarks(importPath string) func(context.Context, *unit, *recorder, *checkouts) error {
	return runSingle(func(ctx context.Context, _ *checkouts, _ *result) ([]byte, error) {
		output, err := deepCommand(ctx, "test", "-run=^$", "-bench=.", "-benchmem", timeout, importPath).CombinedOutput()
		if err != nil {
			return output, err
		}
		var lines []byte
		for line := range bytes.Lines(output) {
			if bytes.HasPrefix(line, []byte("Benchmark")) {
				lines = append(lines, line...)
			}
		}
		return lines, nil
	})
}

// vetUnit returns the unit of go vet for another operating system.
func vetUnit(system string) *unit {
	return &unit{
		kind: vet, name: string(vet) + system, hash: func(m *module) string { return m.hash(nil, m.goFiles()) }, tests: []string{single},
		run: runSingle(func(ctx context.Context, _ *checkouts, _ *result) ([]byte, error) {
			cmd := deepCommand(ctx, "vet", "./...")
			cmd.Env = append(cmd.Env, "GOOS="+system)
			return cmd.CombinedOutput()
		}),
	}
}

// mutationUnit returns the unit of a mutation, or of its tests on the unchanged code.
func mutationUnit(m *module, mut mutation.Mutation, k kind) *unit {
	u := &unit{kind: k, name: string(k) + mut.Name(), about: mut.Promise, tests: []string{single}}
	p := m.packages[m.path+strings.TrimPrefix(mut.Package, ".")]
	u.browser = p != nil && m.drivesBrowser(p)
	u.hash = func(m *module) string {
		more := []string{mut.Name(), m.hash(nil, []string{mut.File})}
		if p != nil {
			return m.inputs(p, more...)
		}
		// Tests of the extension, in JavaScript.
		return m.hash(more, append(slices.Clone(m.tree(path.Dir(mut.Package))), "tools/package-lock.json"))
	}
	u.run = runSingle(func(ctx context.Context, c *checkouts, res *result) (output []byte, err error) {
		err = c.use(ctx, func(one mutation.Checkout) error {
			if k == intact {
				output, err = one.TryIntact(ctx, mut)
			} else {
				res.DetectedBy, output, err = one.Try(ctx, mut)
			}
			return err
		})
		return output, err
	})
	return u
}
