package mutation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
)

// testTimeout limits the tests of one mutation. Without a protection a test may wait forever.
const testTimeout = 2 * time.Minute

// ErrSurvived is the error of a mutation that no test detects.
var ErrSurvived = errors.New("the tests pass without the protection")

// A Detection says which tests detect a mutation.
type Detection string

// The detections.
const (
	ByLanding Detection = "landing tests"
	ByDeep    Detection = "deep tests" // and no landing test
)

// A Checkout is a worktree of the code in which mutations are tried, one at a time.
type Checkout struct{ dir string }

// NewCheckouts creates n worktrees of the repository in the working directory, with uncommitted
// changes of tracked files and the installed Node packages. The caller calls remove.
func NewCheckouts(ctx context.Context, n int) (checkouts []Checkout, remove func(), err error) {
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
		for _, c := range checkouts {
			exec.Command("git", "worktree", "remove", "--force", c.dir).Run()
		}
		os.RemoveAll(parent)
	}
	for i := range n {
		dir := filepath.Join(parent, fmt.Sprint(i))
		if out, err := exec.CommandContext(ctx, "git", "worktree", "add", "--detach", dir, revision).CombinedOutput(); err != nil {
			remove()
			return nil, nil, fmt.Errorf("git worktree add: %w\n%s", err, out)
		}
		checkouts = append(checkouts, Checkout{dir})
		if err := linkPackages(dir); err != nil {
			remove()
			return nil, nil, err
		}
	}
	return checkouts, remove, nil
}

// linkPackages links the Node packages that make setup has installed into a worktree.
func linkPackages(dir string) error {
	found, err := filepath.Glob("tools/*/node_modules")
	if err != nil {
		return err
	}
	for _, name := range append(found, "tools/node_modules") {
		from, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		if _, err := os.Stat(from); err != nil {
			continue // not installed
		}
		if err := os.Symlink(from, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Try applies a mutation, regenerates the files that depend on the changed file, runs its tests and
// restores the files. The deep tests run only if the landing tests do not detect the mutation. Try
// returns an error unless some do, and [ErrSurvived] if all pass.
func (c Checkout) Try(ctx context.Context, m Mutation) (by Detection, output []byte, err error) {
	file := filepath.Join(c.dir, m.File)
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	if n := bytes.Count(text, []byte(m.Old)); n != 1 {
		return "", nil, fmt.Errorf("%q occurs %d times, not once", m.Old, n)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(m.Old), []byte(m.New), 1), 0o644); err != nil {
		return "", nil, err
	}
	defer exec.Command("git", "-C", c.dir, "checkout", "--quiet", "--", ".").Run()
	if output, err := c.generate(ctx, m); err != nil {
		return "", output, err
	}
	for _, by := range []Detection{ByLanding, ByDeep} {
		if output, err = c.detect(ctx, m, by); err == nil {
			return by, output, nil
		}
	}
	return "", output, err
}

// detect runs the tests of a mutation on the changed code, and returns an error unless they detect it.
func (c Checkout) detect(ctx context.Context, m Mutation, by Detection) (output []byte, err error) {
	output, err = c.test(ctx, m, by == ByDeep)
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return output, err
	case matchesNone(output):
		return output, m.errNoTest()
	case err == nil:
		return output, fmt.Errorf("%w: %q of %s", ErrSurvived, m.Test, m.Package)
	case !m.detected(string(output)):
		return output, fmt.Errorf("no test failed that %q names: the changed code does not build or run (git add new files)", m.Test)
	}
	return output, nil
}

// TryIntact runs the tests of a mutation on the unchanged code. It returns an error unless they pass.
func (c Checkout) TryIntact(ctx context.Context, m Mutation) (output []byte, err error) {
	output, err = c.test(ctx, m, true)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return output, errors.New("the tests fail on the unchanged code")
	case err == nil && (matchesNone(output) || bytes.Contains(output, []byte("\n# pass 0\n"))):
		return output, m.errNoTest()
	}
	return output, err
}

// matchesNone reports whether go test has run no test.
func matchesNone(output []byte) bool { return bytes.Contains(output, []byte("no tests to run")) }

func (m Mutation) errNoTest() error {
	return fmt.Errorf("no test matches %q; git add its file if it is new", m.Test)
}

// generate checks the syntax of the changed file if go generate does not, and regenerates the files that
// depend on it.
func (c Checkout) generate(ctx context.Context, m Mutation) (output []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if testsOf(m.File) == jsTests {
		if output, err := gotest.Command(ctx, c.dir, "node", "--check", m.File).CombinedOutput(); err != nil {
			return output, fmt.Errorf("node --check: %w", err)
		}
	}
	if packages := generated(m.File); len(packages) > 0 {
		output, err := gotest.Command(ctx, c.dir, "go", append([]string{"generate"}, packages...)...).CombinedOutput()
		if err != nil {
			return output, fmt.Errorf("go generate: %w", err)
		}
	}
	return nil, nil
}

// test runs the tests of a mutation, with or without the deep ones.
func (c Checkout) test(ctx context.Context, m Mutation, deep bool) (output []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, testTimeout+time.Minute) // also to compile them
	defer cancel()
	cmd := gotest.Command(ctx, c.dir, "go", "test", "-trimpath", "-count=1", "-timeout", testTimeout.String(), "-v", "-run", m.Test, m.Package)
	if m.Package == jsTests {
		files, err := filepath.Glob(filepath.Join(c.dir, m.Package, "*.test.js"))
		if err != nil {
			return nil, err
		}
		args := []string{"--test", "--test-reporter=tap", "--test-name-pattern", m.Test}
		cmd = gotest.Command(ctx, c.dir, "node", append(args, files...)...)
	}
	cmd.Env = append(os.Environ(), "TEST_LONG=")
	if deep {
		cmd.Env = append(os.Environ(), "TEST_LONG=1")
	}
	return cmd.CombinedOutput()
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

var (
	// began and failed match the first and the last line of a test, ended what ends a test binary, and
	// jsFailed the result of a JavaScript test.
	began    = regexp.MustCompile(`(?m)^=== RUN +(\S+)`)
	failed   = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	ended    = regexp.MustCompile(`(?m)^panic: |^fatal error: `)
	jsFailed = regexp.MustCompile(`(?m)^\s*not ok \d+ - (.+)`)
)

// detected reports whether a test that m names failed, or ended the test binary: neither a parent of it,
// nor the initialization of the package. output is that of go test -v or of node --test.
func (m Mutation) detected(output string) bool {
	pattern := jsFailed
	switch {
	case m.Package == jsTests:
	case ended.MatchString(output):
		pattern = began
	default:
		pattern = failed
	}
	name := regexp.MustCompile(m.Test)
	return slices.ContainsFunc(pattern.FindAllStringSubmatch(output, -1), func(match []string) bool {
		if m.Package == jsTests {
			return name.MatchString(match[1])
		}
		return strings.Count(match[1], "/") >= strings.Count(m.Test, "/") // go test runs no others
	})
}
