package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// fake is a package whose first run fails for a reason, and whose later runs pass.
const fake = `package fake

import (
	"fmt"
	"os"
	"testing"
)

func first(t testing.TB) bool {
	f, err := os.OpenFile("ran", os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		f.Close()
	}
	return err == nil
}

`

// TestReruns runs a package that fails only once, for each kind of reason.
func TestReruns(t *testing.T) {
	tier.Slow(t)
	var err error
	if modfile, err = filepath.Abs("../../tools/go.mod"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code  string
		race  bool
		cases []string
		want  string // in the error; empty if the run passes
	}{
		"failure": {code: `func TestIt(t *testing.T) { if first(t) { t.Error("once") } }`},
		"panic":   {code: `func TestIt(t *testing.T) { if first(t) { panic("once") } }`, want: "panic: once"},
		"deadlock": {code: `func TestIt(t *testing.T) { if first(t) { select {} } }`,
			want: "fatal error: all goroutines"},
		"leak": {code: `func TestMain(m *testing.M) { code := m.Run(); if first(nil) { fmt.Println("a file is left"); code = 1 }; os.Exit(code) }
func TestIt(t *testing.T) {}`, want: "fake failed, but none of its tests: a file is left"},
		"failure and leak": {code: `func TestMain(m *testing.M) { code := m.Run(); if code != 0 { fmt.Println("leaked: x") }; os.Exit(code) }
func TestIt(t *testing.T) { if first(t) { t.Error("once") } }`, want: "leaked: x"},
		"data race": {race: true, code: `func TestIt(t *testing.T) {
	if first(t) { n, done := 0, make(chan bool); go func() { n++; close(done) }(); n++; <-done }
}`, want: "WARNING: DATA RACE"},
		"failure each time": {code: `func TestIt(t *testing.T) { first(t); t.Error("each time") }`, want: "the tests failed"},
		"failure and exit": {code: `func TestIt(t *testing.T) { if first(t) { t.Error("once") } }
func TestY(t *testing.T) { if os.Mkdir("exited", 0o700) == nil { os.Exit(1) } }
func TestZ(t *testing.T) { t.Error("has not run") }`, want: "fake ended during TestY"},
		"skip when run again": {code: `func TestIt(t *testing.T) { if first(t) { t.Error("once") } else { t.Skip() } }`, want: "fake.TestIt failed, and did not pass"},
		"not run again":       {code: `func TestIt(t *testing.T) { t.Run(fmt.Sprint(first(t)), func(t *testing.T) { if t.Name() == "TestIt/true" { t.Error("once") } }) }`, want: "fake.TestIt/true failed, and did not pass"},
		"exit code": {code: `func TestMain(m *testing.M) { m.Run(); os.Exit(0) }
func TestIt(t *testing.T) { if first(t) { t.Error("once") } }`, want: "fake passed, but not its tests"},
		"case":         {cases: []string{"it"}, code: `func TestIt(t *testing.T) { if first(t) { t.Error("once") }; t.Run("it", func(t *testing.T) {}) }`},
		"missing case": {cases: []string{"b"}, code: `func TestIt(t *testing.T) { first(t); t.Run("a", func(t *testing.T) {}) }`, want: "no test b has run"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := []string{"-count=1", "-timeout=0"} // with a timer, the runtime reports no deadlock
			if c.race {
				if _, err := exec.LookPath("gcc"); err != nil && os.Getenv("CI") == "" {
					t.Skip("the race detector needs gcc")
				}
				flags = append(flags, "-race")
			}
			t.Chdir(t.TempDir())
			for file, text := range map[string]string{
				"go.mod":       "module fake\n\ngo 1.26\n",
				"fake_test.go": fake + "var _ = fmt.Sprint\n\n" + c.code + "\n",
			} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			s := &summary{}
			err := testRun{flags, []string{"./..."}, c.cases}.run(s, &out, &out)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q\n%s", err, c.want, &out)
			}
			if writeErr := s.write(&out, "."); writeErr != nil {
				t.Error(writeErr)
			}
			flaky, _ := os.ReadFile("flaky.txt")
			if c.want == "" && (string(flaky) != "fake.TestIt: 2 runs, 1 failures\n" || !strings.Contains(out.String(), "FLAKY:\nfake.TestIt")) {
				t.Errorf("flaky tests %q\n%s", flaky, &out)
			}
			if seconds, ok := s.durations["fake"]["TestIt"]; !ok || seconds < 0 {
				t.Errorf("durations %v", s.durations)
			}
		})
	}
}

// TestPlan checks that no result of a test that depends on more than go test sees is taken from its cache.
func TestPlan(t *testing.T) {
	t.Chdir("../..")
	runs, err := plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(browserPackages, buildPackages) {
		i := slices.IndexFunc(runs, func(r testRun) bool { return slices.Contains(r.packages, module+name) })
		if i < 0 || !slices.Contains(runs[i].flags, uncached) {
			t.Errorf("%s is in run %d of %q", name, i, runs)
		}
	}
}

// TestBrowserPackages compares the lists of packages whose landing tests drive browsers with the tests.
func TestBrowserPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}", "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := gotest.NewSource("../..", strings.TrimSuffix(module, "/"))
	listed := slices.Concat(browserPackages, raceBrowserPackages)
	for _, path := range strings.Fields(string(out)) {
		dir := strings.TrimPrefix(path, module)
		tests, err := source.Tests(dir)
		if err != nil {
			t.Fatal(err)
		}
		drives := slices.ContainsFunc(tests, func(test gotest.Test) bool {
			return test.Tier == gotest.Landing && source.Reaches(dir, test.Name, "internal/testing/tier.Browser")
		})
		if drives != slices.Contains(listed, dir) {
			t.Errorf("%s: landing tests drive browsers: %v", dir, drives)
		}
	}
}

// TestDurations checks that a run of some packages keeps the durations of the others.
func TestDurations(t *testing.T) {
	dir := t.TempDir()
	for pkg, test := range map[string]string{"a": "TestA", "b": "TestB"} {
		s := &summary{}
		s.add(pkg, test, 1)
		if err := s.write(io.Discard, dir); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := os.ReadFile(filepath.Join(dir, "test.json"))
	if !strings.Contains(string(text), "TestA") || !strings.Contains(string(text), "TestB") {
		t.Errorf("durations %s", text)
	}
}
