package leaktest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Results are what came of a run, in the order of the table.
type Results struct {
	Backend  string
	Connects bool // see Harness
	Rows     []Row
}

// A Row is what came of one route, by wall.
type Row struct {
	Route string
	Hits  map[Wall]int // connections and packets that arrived
	Asks  map[Wall]int // requests and packets among them
}

// The words of the published table.
const (
	fired   = "fires"
	untried = "not tested"
	held    = "0"
	through = "passes"
	begun   = "connects" // and asks for nothing
	loads   = "loads"
	nothing = "–"
)

// cells are what the published table says of a row, for each wall.
func (row *Row) cells(r *Route) map[Wall]string {
	cells := map[Wall]string{Off: untried}
	if row.Hits[Off] > 0 {
		cells[Off] = fired
	}
	for _, wall := range []Wall{Same, Public, Private} {
		switch n := row.Hits[wall]; {
		case !wall.forbids(r) && wall == Private:
			cells[wall] = nothing // a document, which "public" answers for
		case !wall.forbids(r) && r.queued && row.Hits[Off] > 0:
			cells[wall] = loads
		case n == 0:
			cells[wall] = held
		case wall.forbids(r) && row.Asks[wall] == 0 && r.Kind != Name:
			cells[wall] = begun
		case wall.forbids(r):
			cells[wall] = through
		default:
			cells[wall] = loads
		}
	}
	return cells
}

// Told are the results that were written last, by backend and route: what the
// published table is made of.
func Told() (map[string]map[string]map[Wall]string, error) {
	told := map[string]map[string]map[Wall]string{}
	for _, backend := range Backends {
		data, err := results.ReadFile(stored(backend))
		if err != nil {
			return nil, err
		}
		var rows map[string]map[Wall]string
		if err := json.Unmarshal(data, &rows); err != nil {
			return nil, fmt.Errorf("%s: %w", stored(backend), err)
		}
		told[backend] = rows
	}
	return told, nil
}

// Backends are those that the table is about.
var Backends = []string{"chromium", "attached", "extension"}

//go:embed testdata/*.json
var results embed.FS

func stored(backend string) string { return "testdata/" + backend + ".json" }

// Enough is how many routes have to fire where nothing holds them, for the
// rest to say anything.
const Enough = 38

// compare fails t where the published table says something else of the walls,
// or writes what it is made of: dir is the directory of this package. Whether a
// route fires without a wall, or arrives where it may, is logged, and fails
// nothing as long as enough fire.
func (res Results) compare(t *testing.T, dir string, update bool) {
	t.Helper()
	routes := map[string]*Route{}
	for _, r := range Routes() {
		routes[r.Name] = &r
	}
	got, fires := map[string]map[Wall]string{}, 0
	for i := range res.Rows {
		cells := res.Rows[i].cells(routes[res.Rows[i].Route])
		got[res.Rows[i].Route] = cells
		if cells[Off] == fired {
			fires++
		}
	}
	if len(res.Rows) == len(routes) && fires < Enough {
		t.Errorf("%d routes fire without the wall, want %d", fires, Enough)
	}
	told, err := Told()
	if err != nil {
		t.Fatal(err)
	}
	if update {
		for name, cells := range told[res.Backend] { // of routes that were not walked
			if _, there := got[name]; !there && routes[name] != nil {
				got[name] = cells
			}
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetIndent("", " ")
		if err := enc.Encode(got); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, stored(res.Backend)), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, cells := range got {
		for wall, cell := range cells {
			switch was := told[res.Backend][name][wall]; {
			case was == cell:
			case wall == Off:
				t.Logf("%s: %s without a wall, was: %s", name, cell, was)
			case cells[Off] == untried || told[res.Backend][name][Off] == untried,
				!wall.forbids(routes[name]),                       // it may arrive
				routes[name].Open(res.Backend) != "",              // or is not blocked, which a slow page can resemble
				res.Connects && cell != through && was != through: // or the browser preconnects
				t.Logf("%s: %s with %s, was: %s", name, cell, wall, was)
			default:
				t.Errorf("%s: %s with %s, and docs/security.md says %s; run this test with -update-leaks and make generate", name, cell, wall, was)
			}
		}
	}
}
