package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/mutation"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// fakeModule are the files of a module. Each of its tests appends its name to the file "ran" in the
// root.
var fakeModule = map[string]string{
	"go.mod":         "module fake\n\ngo 1.26\n",
	"lib/lib.go":     "package lib\n\nconst N = 1\n",
	"lib/unused.txt": "",
	"ran/ran.go": `package ran

import (
	"os"
	"testing"
)

func Ran(t testing.TB) {
	f, _ := os.OpenFile(os.Getenv("RAN"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	f.WriteString(t.Name() + "\n")
	f.Close()
}
`,
	"a/a.go":            "package a\n\nimport _ \"fake/lib\"\n",
	"a/testdata/in.txt": "1",
	"a/a_test.go": `package a

import (
	"fake/ran"
	"os"
	"testing"
)

func TestOne(t *testing.T) { ran.Ran(t) }
func TestTwo(t *testing.T) { ran.Ran(t); if os.Getenv("FAIL") != "" { t.Error("wrong") } }
func TestSkips(t *testing.T) { ran.Ran(t); t.Skip("no such thing here") }
`,
	"b/b.go": "package b\n",
	"b/b_test.go": `package b

import (
	"fake/ran"
	"testing"
)

func TestIn(t *testing.T) { ran.Ran(t) }
func FuzzIt(f *testing.F) { ran.Ran(f); f.Fuzz(func(t *testing.T, b []byte) {}) }
func BenchmarkIt(b *testing.B) { for b.Loop() {} }
`,
}

// A fake is a copy of fakeModule, which is the working directory.
type fake struct {
	t   *testing.T
	out strings.Builder // of the last run
}

// newFake creates a fake with more files.
func newFake(t *testing.T, files map[string]string) *fake {
	t.Helper()
	tier.Slow(t)
	t.Chdir(filepath.Join(mkdir(t, filepath.Join(t.TempDir(), "fake"))))
	f := &fake{t: t}
	for _, all := range []map[string]string{fakeModule, files} {
		for name, text := range all {
			f.write(name, text)
		}
	}
	t.Setenv("RAN", filepath.Join(mkdir(t, "bin"), "ran"))
	return f
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (f *fake) write(name, text string) {
	f.t.Helper()
	mkdir(f.t, filepath.Dir(name))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// ran returns the names of the tests that have run since the last call, sorted.
func (f *fake) ran() string {
	f.t.Helper()
	data, _ := os.ReadFile("bin/ran")
	os.Remove("bin/ran")
	names := strings.Fields(string(data))
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// run runs the tests, and checks which ran and whether an error contains a text.
func (f *fake) run(c config, wantRan, wantErr string) {
	f.t.Helper()
	f.out.Reset()
	if c.shard.n == 0 {
		c.shard = shard{1, 1}
	}
	if c.kinds == nil {
		c.kinds = []kind{packages}
	}
	c.fuzztime = "10x"
	err := c.run(f.t.Context(), &f.out)
	if wantErr == "" && err != nil || wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)) {
		f.t.Errorf("error %v, want %q\n%s", err, wantErr, &f.out)
	}
	if ran := f.ran(); ran != wantRan {
		f.t.Errorf("ran %q, want %q\n%s", ran, wantRan, &f.out)
	}
}

// TestResumption checks that a run continues where the last one stopped, and runs failed tests again.
func TestResumption(t *testing.T) {
	tier.Deep(t)
	f := newFake(t, nil)
	t.Setenv("FAIL", "1")
	f.run(config{}, "FuzzIt TestIn TestOne TestSkips TestTwo", "1 tests failed")
	if out := f.out.String(); strings.Count(out, "FAIL  a.TestTwo") != 1 || !strings.Contains(out, "wrong") || !strings.Contains(out, "a.TestSkips") {
		t.Errorf("output\n%s", out)
	}
	f.run(config{}, "TestSkips TestTwo", "1 tests failed")
	t.Setenv("FAIL", "")
	f.run(config{}, "TestSkips TestTwo", "")
	if !strings.Contains(f.out.String(), "FLAKY: a.TestTwo passed after 2 failures") {
		t.Errorf("output\n%s", &f.out)
	}
	f.run(config{}, "", "")
	for _, c := range []struct {
		kinds         []kind
		counts, error string
	}{{[]kind{packages}, "7 of 7 results count\n", ""}, {nil, "7 of 9 results count\n", "not complete"}} {
		var out strings.Builder
		err := config{shard: shard{1, 1}, kinds: c.kinds, fuzztime: "10x"}.report(t.Context(), &out)
		if !strings.HasSuffix(out.String(), "\n"+c.counts) || (err == nil) != (c.error == "") {
			t.Errorf("report of %q: error %v, want %q after\n%s", c.kinds, err, c.counts, &out)
		}
	}
	f.run(config{again: true}, "FuzzIt TestIn TestOne TestSkips TestTwo", "")
	f.run(config{kinds: []kind{fuzz, figures}}, "FuzzIt", "")
	if !strings.Contains(f.out.String(), "BenchmarkIt") {
		t.Errorf("output\n%s", &f.out)
	}
	f.run(config{kinds: []kind{fuzz, figures}}, "", "")

	// A report of another shard counts too.
	if err := os.Rename("bin/test-long.json", "bin/test-long-2.json"); err != nil {
		t.Fatal(err)
	}
	f.run(config{}, "", "")
}

// TestStaleness checks which changes make results stale.
func TestStaleness(t *testing.T) {
	tier.Deep(t)
	f := newFake(t, map[string]string{
		"b/program_test.go": "package b\n\nconst program = \"../program\"\n", "program/main.go": "package main\n\nimport _ \"fake/part\"\n\nfunc main() {}\n",
		"part/part.go": "package part\n",
	})
	const a, b = "TestOne TestSkips TestTwo", "FuzzIt TestIn"
	f.run(config{}, b+" "+a, "")
	for _, c := range []struct{ name, text, want string }{
		{"lib/unused.txt", "changed", ""},
		{"lib/lib_test.go", "package lib\n", ""},
		{"a/new.txt", "", ""},
		{"a/testdata/in.txt", "2", a},
		{"a/testdata/deep/more.txt", "", a},
		{"lib/lib.go", "package lib\n\nconst N = 2\n", a},
		{"b/b.go", "package b\n\nconst N = 1\n", b},
		{"doc.txt", "changed", ""},
		{"lib/race.go", "//go:build race\n\npackage lib\n", a},
		{"part/part.go", "package part\n\nconst N = 1\n", b},
		{"go.mod", "module fake\n\ngo 1.25\n", b + " " + a},
	} {
		f.write(c.name, c.text)
		f.run(config{}, c.want, "")
		if t.Failed() {
			t.Fatalf("after a change of %s", c.name)
		}
	}
}

// TestEdit checks that results do not count if the inputs have changed while the tests ran.
func TestEdit(t *testing.T) {
	f := newFake(t, map[string]string{"a/edit_test.go": `package a

import (
	"os"
	"testing"
)

func TestEdit(t *testing.T) { os.WriteFile("testdata/in.txt", []byte(os.Getenv("EDIT")), 0o600) }
`})
	t.Setenv("EDIT", "2")
	f.run(config{}, "FuzzIt TestIn TestOne TestSkips TestTwo", "")
	if out := f.out.String(); !strings.Contains(out, "edited  a:") {
		t.Errorf("output\n%s", out)
	}
	t.Setenv("EDIT", "3")
	t.Setenv("FAIL", "1")
	f.run(config{}, "TestOne TestSkips TestTwo", "1 tests failed")
	t.Setenv("FAIL", "")
	f.run(config{}, "TestOne TestSkips TestTwo", "")
	f.run(config{}, "", "")
}

// TestReport checks that results of other runs are kept, and that those that count are preferred.
func TestReport(t *testing.T) {
	t.Chdir(t.TempDir())
	units := []*unit{{name: "a", inputs: "now", tests: []string{"TestOne"}}}
	at := func(inputs string, minute int) *result {
		return &result{Outcome: pass, Inputs: inputs, Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)}
	}
	save := func(file, unit string, res *result) {
		r, err := loadReport("none.json", units)
		if err == nil {
			r.set(unit, "TestOne", res)
			err = r.save(file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	save("report.json", "a", at("now", 1))
	save("report.json", "a", at("old", 2))
	save("report.json", "b", at("other", 1))
	save("report-2.json", "a", at("old", 3))
	save("report-2.json", "b", at("other", 2))
	r, err := loadReport("report.json", units)
	if err != nil {
		t.Fatal(err)
	}
	if res := r.counting(units[0], "TestOne"); res == nil {
		t.Errorf("result %+v, want the one that counts", r.result("a", "TestOne"))
	}
	if res := r.result("b", "TestOne"); res == nil || res.Time.Minute() != 2 {
		t.Errorf("result %+v, want the newer one", res)
	}
}

// TestNamedFiles checks which files count as inputs because tests name them.
func TestNamedFiles(t *testing.T) {
	newFake(t, map[string]string{
		"doc.txt": "", "docs/x/y.md": "", "tools/package-lock.json": "", "a/deep/deep.go": "package deep\n\nconst Shared = \"../../docs\"\n\nconst up = \"..\"\n",
		"a/deep/deep_test.go": `package deep

import "path/filepath"

const module = "../../tools/node_modules/x"

var _ = filepath.Join("..", "..", "doc.txt")
var _ = []string{"..", "../..", "x"}
`,
		"b/deep/deep.go":      "package deep\n\nimport _ \"fake/a/deep\"\n",
		"b/deep/deep_test.go": "package deep\n\nconst root = \"../..\"\n",
	})
	m, err := loadModule(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	named := func(path string) []string {
		p := m.packages[path]
		found := m.namedFiles(p, p, p.testFiles())
		for _, d := range m.deps(p) {
			found = append(found, m.namedFiles(p, d, nil)...)
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	if got, want := fmt.Sprint(named("fake/a/deep")), "[doc.txt docs/x/y.md tools/package-lock.json]"; got != want {
		t.Errorf("named files %s, want %s", got, want)
	}
	if got := named("fake/b/deep"); !slices.Equal(got, m.files) {
		t.Errorf("named files %q, want all: %q", got, m.files)
	}
}

// TestLimit checks that a run ends at its limit, and that what has ended until then counts.
func TestLimit(t *testing.T) {
	const hangs = "import (\n\"fake/ran\"\n\"os\"\n\"testing\"\n)\n\nfunc TestEnds(t *testing.T) { ran.Ran(t) }\n" +
		"func TestHangs(t *testing.T) { ran.Ran(t); if os.Getenv(\"HANG\") != \"\" { select {} } }\n"
	f := newFake(t, map[string]string{"z/z.go": "package z\n", "z/z_test.go": "package z\n\n" + hangs})
	for _, dir := range []string{"a", "b"} {
		os.RemoveAll(dir)
	}
	t.Setenv("HANG", "1")
	// The limit is reached when TestHangs has begun.
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		for ctx.Err() == nil && !await.Poll(func() bool {
			data, _ := os.ReadFile("bin/ran")
			return strings.Contains(string(data), "TestHangs") || ctx.Err() != nil
		}) {
		}
		cancel(fmt.Errorf("the limit is reached"))
	}()
	c := config{shard: shard{1, 1}}
	if err := c.run(ctx, &f.out); err != nil {
		t.Errorf("error %v\n%s", err, &f.out)
	}
	f.ran()
	if out := f.out.String(); !strings.Contains(out, "not complete: the limit is reached") || strings.Contains(out, "FAIL") {
		t.Errorf("output\n%s", out)
	}
	report, err := loadReport(reportFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	if results := slices.Collect(maps.Keys(report.Units["z"])); !slices.Equal(results, []string{"TestEnds"}) {
		t.Errorf("results of %q", results)
	}
	t.Setenv("HANG", "")
	f.run(config{}, "TestHangs", "")
	// What is checked after all tests was not checked in a process that ran all.
	f.run(config{}, "TestEnds TestHangs", "")
	f.run(config{}, "", "")

	f.run(config{again: true, limit: time.Nanosecond}, "", "deadline")
}

// TestLeak checks that a leak that TestMain finds is a failure of the package, for which all of its
// tests run again.
func TestLeak(t *testing.T) {
	tier.Deep(t)
	f := newFake(t, map[string]string{"a/main_test.go": `package a

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("LEAK") != "" {
		fmt.Println("leaked: a process")
		code = 1
	}
	os.Exit(code)
}
`})
	c := config{kinds: []kind{packages}}
	f.run(c, "FuzzIt TestIn TestOne TestSkips TestTwo", "")
	f.write("a/testdata/in.txt", "2")
	t.Setenv("LEAK", "1")
	f.run(c, "TestOne TestSkips TestTwo", "1 tests failed")
	if out := f.out.String(); !strings.Contains(out, "FAIL  a.(package)") || !strings.Contains(out, "leaked: a process") {
		t.Errorf("output\n%s", out)
	}
	f.run(c, "TestOne TestSkips TestTwo", "1 tests failed")
	t.Setenv("FAIL", "1")
	f.run(c, "TestOne TestSkips TestTwo", "2 tests failed")
	t.Setenv("LEAK", "")
	t.Setenv("FAIL", "")
	f.run(c, "TestOne TestSkips TestTwo", "")
	f.run(c, "", "")
}

// TestBuildError checks that a package that does not build has failed.
func TestBuildError(t *testing.T) {
	f := newFake(t, map[string]string{"a/bad_test.go": "package a\n\nvar _ int = \"\"\n"})
	f.run(config{}, "FuzzIt TestIn", "1 tests failed")
	if out := f.out.String(); !strings.Contains(out, "FAIL  a.(package)") || !strings.Contains(out, "cannot use") {
		t.Errorf("output\n%s", out)
	}
}

// TestShippedTiming checks that the contract suite runs with the shipped hang limits on each backend.
func TestShippedTiming(t *testing.T) {
	tier.Deep(t)
	t.Chdir("../..")
	_, units, err := config{shard: shard{1, 1}}.plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range contract {
		all := slices.IndexFunc(units, func(u *unit) bool { return u.name == name && slices.Contains(u.tests, test) })
		shipped := slices.IndexFunc(units, func(u *unit) bool {
			return u.browser && u.tests[0] == test && u.name == name+" -run=^"+test+"$ -exec=env TEST_TIMING=shipped"
		})
		if all < 0 || shipped < 0 || units[all].inputs == units[shipped].inputs {
			t.Errorf("%s.%s: units %d and %d", name, test, all, shipped)
		}
	}
	for name, tests := range measuring {
		want := append(slices.Clone(tests), packageTest)
		if !slices.ContainsFunc(units, func(u *unit) bool {
			return u.alone && strings.HasPrefix(u.name, name+" ") && slices.Equal(u.tests, want)
		}) {
			t.Errorf("%s has not all of %s", name, tests)
		}
	}
}

// TestMeasuring checks that tests that measure time run once, after all others.
func TestMeasuring(t *testing.T) {
	f := newFake(t, nil)
	before := measuring
	measuring = map[string][]string{"a": {"TestTwo"}}
	t.Cleanup(func() { measuring = before })
	f.run(config{}, "FuzzIt TestIn TestOne TestSkips TestTwo", "")
	out := f.out.String()
	at := strings.Index(out, "run   a -run=^(TestTwo)$")
	if n := strings.Count(out[max(at, 0):], "run   "); at < 0 || n != 1 {
		t.Errorf("TestTwo does not run last:\n%s", out)
	}
	f.run(config{again: true, only: regexp.MustCompile(`^a$`)}, "TestOne TestSkips", "")
}

// TestMutations checks that the deep tests run for a mutation that the landing tests do not detect, and
// that the report names it.
func TestMutations(t *testing.T) {
	f := newFake(t, map[string]string{
		"m/m.go": "package m\n\nconst Landing, Deep, None = true, true, true\n",
		"m/m_test.go": `package m

import (
	"fake/ran"
	"os"
	"testing"
)

func TestLanding(t *testing.T) { ran.Ran(t); if !Landing { t.Error("wrong") } }
func TestDeep(t *testing.T) { if os.Getenv("TEST_LONG") == "" { t.Skip() }; ran.Ran(t); if !Deep { t.Error("wrong") } }
`,
	})
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q", "-m", "fake"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	mutate := func(promise, from, to string) mutation.Mutation {
		return mutation.Mutation{Promise: promise, File: "m/m.go", Old: from, New: to, Package: "./m", Test: "^(TestLanding|TestDeep)$"}
	}
	c := config{kinds: []kind{mutations}, mutations: []mutation.Mutation{
		mutate("first promise", "= true, true, true", "= false, true, true"), mutate("second promise", "= true, true, true", "= true, false, true"),
	}}
	f.run(c, "TestDeep TestLanding", `the landing tests detect no mutation of the promise "second promise"`)
	out := f.out.String()
	if want := "detect 1 of the 2 mutations that were tried (50 %); not detected:\n    mutation/m/m.go"; !strings.Contains(out, want) || strings.Contains(out, "FAIL") {
		t.Errorf("the report does not contain %q, or a failure:\n%s", want, out)
	}
	c.mutations = []mutation.Mutation{mutate("third promise", "= true, true, true", "= true, true, false")}
	f.run(c, "TestDeep TestLanding", "1 tests failed")
	c.mutations = append(c.mutations, mutate("third promise", "Landing, Deep", "Landing , Deep"))
	c.kinds = []kind{intact}
	f.run(c, "TestDeep TestLanding", "")
}

// TestShards checks that each unit is in one shard, and that large packages are in different ones.
func TestShards(t *testing.T) {
	var units []*unit
	for i := range 10 {
		units = append(units, &unit{kind: packages, name: fmt.Sprint("p", i), size: 10 - i})
	}
	for i := range 400 {
		units = append(units, &unit{kind: mutations, name: fmt.Sprint(mutations, i)})
	}
	const n = 4
	in := map[string]int{}
	for i := range n {
		part := shard{i + 1, n}.of(units)
		if part[0] != units[i] {
			t.Errorf("shard %d begins with %s, want %s", i+1, part[0].name, units[i].name)
		}
		if len(part) < len(units)/n/2 {
			t.Errorf("shard %d has %d of %d units", i+1, len(part), len(units))
		}
		for _, u := range part {
			in[u.name]++
		}
	}
	for _, u := range units {
		if in[u.name] != 1 {
			t.Errorf("%s is in %d shards", u.name, in[u.name])
		}
	}
	for _, malformed := range []string{"0/6", "7/6", "x/6", "1/", "1/2x", ""} {
		if s := (&shard{}); s.Set(malformed) == nil {
			t.Errorf("shard %q is accepted", malformed)
		}
	}
}
