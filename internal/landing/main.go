// Command landing runs the landing tests by way of gotestsum, which prints failures when they happen
// and runs failed tests again, and judges the run by its events: what cannot be judged by running a
// test again fails the run even if gotestsum accepts it.
//
//	go run ./internal/landing [PACKAGE...]
//
// It writes the tests that passed only when they were run again to bin/flaky.txt, the duration of each
// test to bin/test.json, and adds its times to bin/times.txt.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The limits of running failed tests again.
const (
	maxReruns   = 2 // runs of one test after its first
	maxFailures = 5 // with more failed tests in one run, none is run again
)

// slowest is the number of slow tests to list.
const slowest = 20

func main() {
	if err := landing(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "landing:", err)
		os.Exit(1)
	}
}

// landing runs the landing tests of packages, by default of all. The working directory is the root of
// the repository.
func landing(patterns []string) error {
	start := time.Now()
	runs, err := plan(patterns)
	if err != nil {
		return err
	}
	if err := os.MkdirAll("bin", 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll("bin/flaky.txt"); err != nil {
		return err
	}
	for _, r := range runs {
		if err := r.compile(os.Stderr); err != nil {
			return fmt.Errorf("compiling: %w", err)
		}
	}
	compiled := time.Now()
	s := &summary{}
	var failed []error
	for _, r := range runs {
		if err := r.run(s, os.Stdout, os.Stderr); err != nil {
			failed = append(failed, err)
		}
	}
	err = s.write(os.Stdout, "bin")
	times := fmt.Sprintf("compile %.0f s\ntest %.0f s\n", compiled.Sub(start).Seconds(), time.Since(compiled).Seconds())
	return errors.Join(append(failed, err, appendFile("bin/times.txt", times))...)
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// A testRun is one run of go test.
type testRun struct {
	flags    []string
	packages []string
	cases    []string // subtests that must run, by the last part of their names
}

// compile compiles the packages and their tests, so that no test competes with a compiler. A test
// binary is linked when its package is tested.
func (r testRun) compile(stderr io.Writer) error {
	args := []string{"list", "-export", "-test"}
	for _, f := range r.flags {
		if f == "-race" {
			args = append(args, f)
		}
	}
	cmd := exec.Command("go", append(args, r.packages...)...)
	cmd.Stderr = stderr
	return cmd.Run()
}

// run runs the tests, and adds what there is to report to s.
func (r testRun) run(s *summary, stdout, stderr io.Writer) error {
	dir, err := os.MkdirTemp("", "landing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	events, reruns := filepath.Join(dir, "events.json"), filepath.Join(dir, "reruns.txt")
	err = gotestsum(stdout, stderr, append([]string{
		"--format=pkgname-and-test-fails", "--format-hide-empty-pkg", "--hide-summary=skipped",
		"--jsonfile=" + events,
		fmt.Sprintf("--rerun-fails=%d", maxReruns), fmt.Sprintf("--rerun-fails-max-failures=%d", maxFailures),
		"--rerun-fails-abort-on-data-race", "--rerun-fails-report=" + reruns,
		"--packages=" + strings.Join(r.packages, " "), "--",
	}, r.flags...)...)
	if err != nil {
		err = fmt.Errorf("the tests failed: %w", err)
	}
	f, openErr := os.Open(events)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	defer f.Close()
	var ran summary
	problems, judgeErr := judge(f, &ran)
	for _, c := range r.cases {
		// Without a browser all are skipped, except in CI.
		if !ran.has("/"+c) && (len(ran.durations) > 0 || os.Getenv("CI") != "") {
			problems = append(problems, "no test "+c+" has run")
		}
	}
	for _, p := range problems {
		err = errors.Join(err, errors.New(p))
	}
	s.addAll(ran.durations)
	flaky, readErr := os.ReadFile(reruns)
	if readErr != nil && !os.IsNotExist(readErr) {
		return errors.Join(err, judgeErr, readErr)
	}
	s.flaky = append(s.flaky, flaky...)
	return errors.Join(err, judgeErr)
}

// modfile is the go.mod file that names gotestsum.
var modfile = "tools/go.mod"

// gotestsum runs the gotestsum of modfile.
func gotestsum(stdout, stderr io.Writer, args ...string) error {
	cmd := exec.Command("go", append([]string{"tool", "-modfile=" + modfile, "gotestsum"}, args...)...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	// By default, the race detector waits a second at the end of each process.
	cmd.Env = append([]string{"GORACE=atexit_sleep_ms=50"}, os.Environ()...)
	return cmd.Run()
}
