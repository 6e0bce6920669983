package leaktest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each route has a name of its own, and a row of its own in what is published.
func TestTable(t *testing.T) {
	told, err := Told()
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
			t.Errorf("%s is there twice", r.Name)
		case !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(r.Name):
			t.Errorf("%q is no name", r.Name)
		case r.Kind != Load && r.Kind != Document && r.Kind != Name:
			t.Errorf("%s is of kind %q", r.Name, r.Kind)
		}
		names[r.Name] = true
		for _, backend := range Backends {
			if cells := told[backend][r.Name]; len(cells) != 4 {
				t.Errorf("%s: no result for %s; run TestLongLeaks of executor/chromium and executor/extension with -update-leaks, and make generate", r.Name, backend)
			}
		}
	}
	for _, name := range Few {
		if !names[name] {
			t.Errorf("there is no %s", name)
		}
	}
	for _, backend := range Backends {
		fires := 0
		for name, cells := range told[backend] {
			if !names[name] {
				t.Errorf("%s is told of, and is no route", name)
			}
			if cells[Off] == fired {
				fires++
			}
		}
		if fires < Enough {
			t.Errorf("%s: %d routes fire, want %d", backend, fires, Enough)
		}
	}
}

// What the table says of a wall is what was counted, and no more.
func TestCells(t *testing.T) {
	load, document, name, queued := &Route{Kind: Load}, &Route{Kind: Document}, &Route{Kind: Name}, &Route{Kind: Load, queued: true}
	for _, c := range []struct {
		route      *Route
		hits, asks map[Wall]int
		want       string // off, same, public, private
	}{
		{load, map[Wall]int{Off: 2, Public: 1}, nil, "fires 0 loads 0"},
		{load, nil, nil, "not tested 0 0 0"},
		{load, map[Wall]int{Same: 1, Private: 1}, map[Wall]int{Private: 1}, "not tested connects 0 passes"},
		{document, map[Wall]int{Off: 1, Public: 1}, map[Wall]int{Public: 1}, "fires 0 passes –"},
		{queued, map[Wall]int{Off: 1}, nil, "fires 0 loads 0"},
		{queued, map[Wall]int{Off: 1, Same: 1, Public: 1}, map[Wall]int{Same: 1}, "fires passes loads 0"},
		{queued, nil, nil, "not tested 0 0 0"},
		{name, map[Wall]int{Off: 1, Same: 1, Public: 1}, nil, "fires passes loads –"},
	} {
		cells := (&Row{Hits: c.hits, Asks: c.asks}).cells(c.route)
		var got []string
		for _, wall := range []Wall{Off, Same, Public, Private} {
			got = append(got, cells[wall])
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s %v: %q, want %q", c.route.Kind, slices.Sorted(maps.Keys(c.hits)), s, c.want)
		}
	}
}
