package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
)

// A kind is a kind of unit, and the beginning of its name.
type kind string

// The kinds.
const (
	packages  kind = ""
	mutations kind = "mutation/"
	intact    kind = "intact/" // tests of mutations on the unchanged code
	fuzz      kind = "fuzz/"
	figures   kind = "figures/" // benchmarks
	vet       kind = "vet/"
)

// single is the name of the only test of a unit that is not a package. packageTest is that of what a
// package checks outside of its tests, such as leaks.
const (
	single      = "(unit)"
	packageTest = "(package)"
)

// A unit is what one process tests.
type unit struct {
	kind   kind
	name   string // unique, with the kind
	about  string // such as the promise of a mutation
	inputs string // hash, when the run began
	hash   func(*module) string
	tests  []string
	// browser is set if its tests can start browsers.
	browser bool
	// alone is set if its tests measure time: it runs after all others, when no other unit runs.
	alone bool
	size  int // of the test files in bytes
	run   func(ctx context.Context, u *unit, r *recorder, c *checkouts) error
}

// A shard is part i of n of the units.
type shard struct{ i, n int }

func (s *shard) String() string { return fmt.Sprintf("%d/%d", s.i, s.n) }

// Set implements flag.Value.
func (s *shard) Set(text string) error {
	var parsed shard
	if _, err := fmt.Sscanf(text, "%d/%d", &parsed.i, &parsed.n); err != nil || parsed.i < 1 || parsed.i > parsed.n || parsed.String() != text {
		return errors.New("want i/n, such as 1/4")
	}
	*s = parsed
	return nil
}

// of returns the units of the shard. Packages are dealt out by size, so that the large ones are in
// different shards. Other units stay in their shard when units are added.
func (s shard) of(units []*unit) (part []*unit) {
	dealt := 0
	for _, u := range units {
		at := dealt
		if u.kind == packages {
			dealt++
		} else {
			hash := fnv.New32a()
			hash.Write([]byte(u.name))
			at = int(hash.Sum32() % uint32(s.n))
		}
		if at%s.n == s.i-1 {
			part = append(part, u)
		}
	}
	return part
}

// plan returns the module and the units to run, the largest packages first.
func (c config) plan(ctx context.Context) (*module, []*unit, error) {
	m, err := loadModule(ctx, ".", c.raceFlag()...)
	if err != nil {
		return nil, nil, err
	}
	all, err := c.packageUnits(m)
	if err != nil {
		return nil, nil, err
	}
	k := mutations
	if slices.Contains(c.kinds, intact) {
		k = intact
	}
	for _, mut := range c.mutations {
		all = append(all, mutationUnit(m, mut, k))
	}
	for _, system := range c.vet {
		all = append(all, vetUnit(system))
	}
	for _, u := range all {
		u.inputs = u.hash(m)
	}
	return m, slices.DeleteFunc(c.shard.of(all), func(u *unit) bool {
		return c.kinds != nil && !slices.Contains(c.kinds, u.kind) || c.only != nil && !c.only.MatchString(u.name) && !c.only.MatchString(u.about)
	}), nil
}

// packageUnits returns the units of the packages, of their fuzz targets and of their benchmarks.
func (c config) packageUnits(m *module) ([]*unit, error) {
	var all, others []*unit
	for _, p := range m.tested() {
		tests, err := m.tests(p)
		if err != nil {
			return nil, err
		}
		name := m.relative(p.ImportPath)
		others = append(others, c.measuringUnit(m, p, tests.names)...)
		tests.names = slices.DeleteFunc(tests.names, func(test string) bool { return slices.Contains(measuring[name], test) })
		u := unit{kind: packages, name: name, tests: append(tests.names, packageTest), browser: m.drivesBrowser(p), size: m.testSize(p)}
		u.run = runPackage(p.ImportPath, measuring[name], c.flags(name)...)
		u.hash = func(m *module) string { return m.inputs(p, c.flags(name)...) }
		all = append(all, &u)
		if c.race && name == concurrent {
			u := u
			u.name += " -short -race"
			u.run = runPackage(p.ImportPath, measuring[name], "-short", "-race")
			u.hash = func(m *module) string { return m.inputs(p, "-short", "-race") }
			all = append(all, &u)
		}
		if test := contract[name]; test != "" {
			flags := []string{"-run=^" + test + "$", "-exec=env TEST_TIMING=shipped"} // see tier.HangLimitScale
			all = append(all, &unit{
				name: name + " " + strings.Join(flags, " "), tests: []string{test, packageTest}, browser: true,
				hash: func(m *module) string { return m.inputs(p, flags...) },
				run:  runPackage(p.ImportPath, nil, flags...),
			})
		}
		if slices.Contains(tests.names, floods) && len(c.flags(name)) > 0 { // with the race detector it uses short texts
			run := "-run=^" + floods + "$"
			all = append(all, &unit{
				name: name + " " + run, hash: func(m *module) string { return m.inputs(p, run) }, tests: []string{floods, packageTest},
				run: runPackage(p.ImportPath, nil, run),
			})
		}
		for _, target := range tests.fuzz {
			others = append(others, &unit{
				kind: fuzz, name: fmt.Sprintf("%s%s.%s", fuzz, name, target), tests: []string{single},
				hash: func(m *module) string { return m.inputs(p, "fuzz", c.fuzztime) },
				run:  runFuzz(p.ImportPath, target, c.fuzztime),
			})
		}
		if tests.benchmarks {
			others = append(others, &unit{
				kind: figures, name: string(figures) + name, hash: func(m *module) string { return m.inputs(p, "bench") }, tests: []string{single}, browser: u.browser, alone: true,
				run: runBenchmarks(p.ImportPath),
			})
		}
	}
	slices.SortStableFunc(all, func(a, b *unit) int { return b.size - a.size })
	return append(all, others...), nil
}

// contract has the test of each backend that runs the contract suite. It also runs with the shipped hang
// limits, which other tests extend, and without the race detector, for which these are too short.
var contract = map[string]string{"executor/chromium": "TestExecutor", "executor/extension": "TestExtension"}

// measuring has the tests that measure time, or need the machine for themselves, by package.
var measuring = map[string][]string{
	"cmd/chrome-mcp":    {"TestLongExitTime", "TestLongFirstToken", "TestLongHostile", "TestLongHostileSessions", "TestPolicyEnforcementOverhead"},
	"executor/chromium": {"TestAttachedUserTabDelay"},
	"internal/frames":   {"TestManyFrames"},
	"internal/obstacle": {floods},
	"internal/readable": {"TestHuge"},
}

// measuringUnit returns the unit of the measuring tests of a package, if it has some of names.
func (c config) measuringUnit(m *module, p *goPackage, names []string) []*unit {
	name := m.relative(p.ImportPath)
	tests := slices.DeleteFunc(slices.Clone(measuring[name]), func(test string) bool { return !slices.Contains(names, test) })
	if len(tests) == 0 {
		return nil
	}
	flags := append(c.flags(name), "-run=^("+strings.Join(tests, "|")+")$")
	return []*unit{{
		name: name + " " + strings.Join(flags, " "), tests: append(tests, packageTest), browser: m.drivesBrowser(p), alone: true,
		hash: func(m *module) string { return m.inputs(p, flags...) }, run: runPackage(p.ImportPath, nil, flags...),
	}}
}

// floods is the test of parsers with long texts. See package testlog.
const floods = "TestFloods"

// concurrent is a package of gotest.Serial that serves concurrent calls. Its fast tests also run with
// the race detector.
const concurrent = "internal/readable"

// flags returns the flags of go test for a package.
func (c config) flags(name string) []string {
	if slices.Contains(gotest.Serial, name) {
		return nil
	}
	return c.raceFlag()
}

func (c config) raceFlag() []string {
	if c.race {
		return []string{"-race"}
	}
	return nil
}

// runLanes calls run for each unit until ctx ends: one after another for units that can start
// browsers, and at the same time one after another for the others, then for those that run alone.
func runLanes(ctx context.Context, units []*unit, run func(*unit) error) error {
	var (
		lanes sync.WaitGroup
		errs  [2]error
	)
	for lane, browser := range []bool{true, false} {
		lanes.Go(func() {
			for _, u := range units {
				if !u.alone && u.browser == browser && ctx.Err() == nil {
					errs[lane] = errors.Join(errs[lane], run(u))
				}
			}
		})
	}
	lanes.Wait()
	for _, u := range units {
		if u.alone && ctx.Err() == nil {
			errs[0] = errors.Join(errs[0], run(u))
		}
	}
	return errors.Join(errs[:]...)
}
