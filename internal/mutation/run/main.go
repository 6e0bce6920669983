// Command run removes one protection after another from a copy of the code, and
// checks that the tests of the protection then fail.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/mutation"
)

// testTimeout limits the tests of one mutation. Without a protection a test may
// wait forever.
const testTimeout = 2 * time.Minute

func main() {
	var (
		shard   = flag.String("shard", "1/1", "run part `i/n` of the mutations")
		workers = flag.Int("workers", 2, "number of mutations that run at the same time")
		only    = flag.String("only", "", "run the mutations whose file or promise matches this `pattern`")
		intact  = flag.Bool("intact", false, "run the tests on the unchanged code, where they must pass")
		verbose = flag.Bool("v", false, "print the output of the tests")
	)
	flag.Parse()
	if err := run(*shard, *only, *workers, *intact, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

func run(shard, only string, workers int, intact, verbose bool) error {
	list, err := choose(shard, only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dirs, remove, err := checkouts(ctx, min(workers, len(list)))
	if err != nil {
		return err
	}
	defer remove()

	jobs := make(chan mutation.Mutation)
	go func() {
		defer close(jobs)
		for _, m := range list {
			select {
			case jobs <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex // guards errs and standard output
		errs   []error
		start  = time.Now()
		passed int
	)
	for _, dir := range dirs {
		wg.Go(func() {
			for m := range jobs {
				began := time.Now()
				output, err := try(ctx, dir, m, intact)
				mu.Lock()
				if verbose || err != nil {
					fmt.Printf("%s\n", output)
				}
				if err != nil {
					err = fmt.Errorf("%s: %q: %w", m.File, m.Promise, err)
					errs = append(errs, err)
					fmt.Println("error:", err)
				} else {
					passed++
					fmt.Printf("ok   %5.1fs %s: %s\n", time.Since(began).Seconds(), m.File, m.Promise)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil && len(errs) == 0 {
		return err
	}
	fmt.Printf("mutations: %d passed, %d failed in %s\n", passed, len(errs), time.Since(start).Round(time.Second))
	return errors.Join(errs...)
}

// choose returns the mutations of a shard whose file or promise matches only.
func choose(shard, only string) ([]mutation.Mutation, error) {
	var i, n int
	if _, err := fmt.Sscanf(shard, "%d/%d", &i, &n); err != nil || i < 1 || i > n {
		return nil, fmt.Errorf("invalid shard %q; want i/n, such as 1/6", shard)
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	var list []mutation.Mutation
	for k, m := range mutation.All() {
		if k%n == i-1 && (pattern.MatchString(m.File) || pattern.MatchString(m.Promise)) {
			list = append(list, m)
		}
	}
	return list, nil
}

// checkouts creates n worktrees of the code, including uncommitted changes of
// tracked files.
func checkouts(ctx context.Context, n int) (dirs []string, remove func(), err error) {
	commit, err := exec.CommandContext(ctx, "git", "stash", "create").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("git stash create: %w", err)
	}
	revision := strings.TrimSpace(string(commit))
	if revision == "" {
		revision = "HEAD"
	}
	parent, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() {
		for _, dir := range dirs {
			exec.Command("git", "worktree", "remove", "--force", dir).Run()
		}
		os.RemoveAll(parent)
	}
	for i := range n {
		dir := filepath.Join(parent, fmt.Sprint(i))
		if out, err := exec.CommandContext(ctx, "git", "worktree", "add", "--detach", dir, revision).CombinedOutput(); err != nil {
			remove()
			return nil, nil, fmt.Errorf("git worktree add: %w\n%s", err, out)
		}
		dirs = append(dirs, dir)
	}
	return dirs, remove, nil
}

// try applies a mutation in dir, regenerates the files that depend on the changed file, runs the
// tests and restores the files. It returns an error unless the tests fail; with intact, unless they
// pass on the unchanged code.
func try(ctx context.Context, dir string, m mutation.Mutation, intact bool) (output []byte, err error) {
	file := filepath.Join(dir, m.File)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if !intact {
		if n := bytes.Count(text, []byte(m.Old)); n != 1 {
			return nil, fmt.Errorf("%q occurs %d times, not once", m.Old, n)
		}
		if err := os.WriteFile(file, bytes.Replace(text, []byte(m.Old), []byte(m.New), 1), 0o644); err != nil {
			return nil, err
		}
		defer exec.Command("git", "-C", dir, "checkout", "--quiet", "--", ".").Run()
	}
	ctx, cancel := context.WithTimeout(ctx, testTimeout+time.Minute)
	defer cancel()
	if packages := generated(m.File); !intact && len(packages) > 0 {
		generate := exec.CommandContext(ctx, "go", append([]string{"generate"}, packages...)...)
		generate.Dir = dir
		if output, err := generate.CombinedOutput(); err != nil {
			return output, fmt.Errorf("go generate: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-trimpath", "-count=1", "-timeout", testTimeout.String(), "-run", m.Test, m.Package)
	if m.Package == "extension/test" {
		files, err := filepath.Glob(filepath.Join(dir, m.Package, "*.test.js"))
		if err != nil {
			return nil, err
		}
		args := []string{"--test", "--test-reporter=tap", "--test-name-pattern", m.Test}
		cmd = exec.CommandContext(ctx, "node", append(args, files...)...)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TEST_LONG=1")
	output, err = cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return output, err
	case intact && err != nil:
		return output, errors.New("the tests fail on the unchanged code")
	case bytes.Contains(output, []byte("no tests to run")), bytes.Contains(output, []byte("\n# pass 0\n")) && intact:
		return output, fmt.Errorf("no test matches %q", m.Test)
	case intact:
		return nil, nil
	case err == nil:
		return output, fmt.Errorf("the tests %q of %s pass without the protection", m.Test, m.Package)
	case !failed.Match(output):
		return output, errors.New("no test ran: the changed code does not build")
	}
	return output, nil
}

// generated returns the packages whose generated files depend on file.
func generated(file string) []string {
	switch {
	case strings.HasPrefix(file, "internal/page/js/"):
		return []string{"./internal/page", "./internal/outline"} // the bundles, and their digests in the extension
	case file == "internal/page/page_scripts.go":
		return []string{"./internal/page"}
	case strings.HasPrefix(file, "internal/wire/"):
		return []string{"./internal/wire"} // the extension's copy
	}
	return nil
}

// failed matches what a failing test prints.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: |^panic: |^not ok |test timed out`)
