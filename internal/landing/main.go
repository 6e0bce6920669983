// Command landing runs go test by way of gotestsum, which prints failures when they happen and runs
// failed tests again, and judges the run by its events: what cannot be judged by running a test
// again fails the run even if gotestsum accepts it.
//
//	go run ./internal/landing [-flaky FILE] [go test flags] -- PACKAGE...
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The limits of running failed tests again.
const (
	maxReruns   = 2 // runs of one test after its first
	maxFailures = 5 // with more failed tests, none is run again
)

// slowest is the number of slow tests to list.
const slowest = 20

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "landing:", err)
		os.Exit(1)
	}
}

// run runs the tests. It appends the names of the tests that passed only when run again to the file
// of the flag -flaky.
func run(args []string, stdout, stderr io.Writer) error {
	var flaky string
	if len(args) > 1 && args[0] == "-flaky" {
		flaky, args = args[1], args[2:]
	}
	end := slices.Index(args, "--")
	if end < 0 || end == len(args)-1 {
		return errors.New("no packages; name them after the flags of go test and --")
	}
	flags, packages := args[:end], args[end+1:]
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
		"--packages=" + strings.Join(packages, " "), "--",
	}, flags...))
	if err != nil {
		err = fmt.Errorf("the tests failed: %w", err)
	}
	f, openErr := os.Open(events)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	defer f.Close()
	problems, judgeErr := judge(f)
	if judgeErr != nil {
		return errors.Join(err, judgeErr)
	}
	fmt.Fprintf(stdout, "\nThe slowest %d:\n", slowest)
	if slowErr := gotestsum(stdout, stderr, []string{"tool", "slowest", fmt.Sprintf("--num=%d", slowest), "--jsonfile=" + events}); slowErr != nil {
		return errors.Join(err, slowErr)
	}
	if list, readErr := os.ReadFile(reruns); readErr == nil && len(list) > 0 {
		fmt.Fprintf(stdout, "\nFLAKY:\n%s", list)
		if flaky != "" {
			if err := appendFile(flaky, list); err != nil {
				return err
			}
		}
	}
	for _, p := range problems {
		err = errors.Join(err, errors.New(p))
	}
	return err
}

// modfile is the go.mod file that names gotestsum. The working directory is the root of the
// repository.
var modfile = "tools/go.mod"

// gotestsum runs the gotestsum of modfile.
func gotestsum(stdout, stderr io.Writer, args []string) error {
	cmd := exec.Command("go", append([]string{"tool", "-modfile=" + modfile, "gotestsum"}, args...)...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd.Run()
}

// appendFile appends data to a file.
func appendFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
