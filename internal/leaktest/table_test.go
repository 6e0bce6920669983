package leaktest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTable checks that each route has a unique name and a row in the published table.
func TestTable(t *testing.T) {
	published, err := PublishedResults()
	if err != nil {
		t.Fatal(err)
	}
	routes := Routes()
	if len(routes) < 40 {
		t.Errorf("%d routes", len(routes))
	}
	names := map[string]bool{}
	for _, r := range routes {
		switch {
		case names[r.Name]:
			t.Errorf("duplicate route %s", r.Name)
		case !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(r.Name):
			t.Errorf("invalid name %q", r.Name)
		case r.Kind != Load && r.Kind != Document && r.Kind != Name:
			t.Errorf("%s is of kind %q", r.Name, r.Kind)
		}
		names[r.Name] = true
		for _, backend := range Backends {
			if cells := published[backend][r.Name]; len(cells) != 4 {
				t.Errorf("%s: no result for %s; run TestLongLeaks of executor/chromium and executor/extension with -update-leaks, and make generate", r.Name, backend)
			}
		}
	}
	for _, name := range QuickRoutes {
		if !names[name] {
			t.Errorf("unknown quick route %s", name)
		}
	}
	for _, backend := range Backends {
		fires := 0
		for name, cells := range published[backend] {
			if !names[name] {
				t.Errorf("results of unknown route %s", name)
			}
			if cells[NoEnforcement] == fired {
				fires++
			}
		}
		if fires < Enough {
			t.Errorf("%s: %d routes fire, want %d", backend, fires, Enough)
		}
	}
}

// TestCells checks the cells of the published table for given counts.
func TestCells(t *testing.T) {
	load, document, name, queued := &Route{Kind: Load}, &Route{Kind: Document}, &Route{Kind: Name}, &Route{Kind: Load, queued: true}
	for _, c := range []struct {
		route          *Route
		hits, requests map[Tier]int
		want           string // off, same, public, private
	}{
		{load, map[Tier]int{NoEnforcement: 2, Public: 1}, nil, "fires 0 loads 0"},
		{load, nil, nil, "not tested 0 0 0"},
		{load, map[Tier]int{Same: 1, Private: 1}, map[Tier]int{Private: 1}, "not tested connects 0 passes"},
		{document, map[Tier]int{NoEnforcement: 1, Public: 1}, map[Tier]int{Public: 1}, "fires 0 passes –"},
		{queued, map[Tier]int{NoEnforcement: 1}, nil, "fires 0 loads 0"},
		{queued, map[Tier]int{NoEnforcement: 1, Same: 1, Public: 1}, map[Tier]int{Same: 1}, "fires passes loads 0"},
		{queued, nil, nil, "not tested 0 0 0"},
		{name, map[Tier]int{NoEnforcement: 1, Same: 1, Public: 1}, nil, "fires passes loads –"},
	} {
		cells := (&Row{Hits: c.hits, Requests: c.requests}).cells(c.route)
		var got []string
		for _, tier := range []Tier{NoEnforcement, Same, Public, Private} {
			got = append(got, cells[tier])
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s %v: %q, want %q", c.route.Kind, slices.Sorted(maps.Keys(c.hits)), s, c.want)
		}
	}
}
