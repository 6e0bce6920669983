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

// Results are the results of Run, in the order of the routes.
type Results struct {
	Backend  string
	Connects bool // Harness.Preconnects
	Rows     []Row
}

// A Row is the result of one route, by tier.
type Row struct {
	Route    string
	Hits     map[Tier]int // connections and packets
	Requests map[Tier]int // requests and packets
}

// The cells of the published table.
const (
	fired     = "fires"
	notTested = "not tested"
	blocked   = "0"
	through   = "passes"
	connects  = "connects" // without a request
	loads     = "loads"
	nothing   = "–"
)

// cells returns the cells of the published table for a row, by tier.
func (row *Row) cells(r *Route) map[Tier]string {
	cells := map[Tier]string{NoEnforcement: notTested}
	if row.Hits[NoEnforcement] > 0 {
		cells[NoEnforcement] = fired
	}
	for _, tier := range []Tier{Same, Public, Private} {
		switch n := row.Hits[tier]; {
		case !tier.forbids(r) && tier == Private:
			cells[tier] = nothing // a document, which "public" tests
		case !tier.forbids(r) && r.queued && row.Hits[NoEnforcement] > 0:
			cells[tier] = loads
		case n == 0:
			cells[tier] = blocked
		case tier.forbids(r) && row.Requests[tier] == 0 && r.Kind != Name:
			cells[tier] = connects
		case tier.forbids(r):
			cells[tier] = through
		default:
			cells[tier] = loads
		}
	}
	return cells
}

// PublishedResults returns the latest stored results, by backend, route and tier. They are the
// source of the published table.
func PublishedResults() (map[string]map[string]map[Tier]string, error) {
	published := map[string]map[string]map[Tier]string{}
	for _, backend := range Backends {
		data, err := results.ReadFile(stored(backend))
		if err != nil {
			return nil, err
		}
		var rows map[string]map[Tier]string
		if err := json.Unmarshal(data, &rows); err != nil {
			return nil, fmt.Errorf("%s: %w", stored(backend), err)
		}
		published[backend] = rows
	}
	return published, nil
}

// Backends are the backends of the published table.
var Backends = []string{"chromium", "attached", "extension"}

//go:embed testdata/*.json
var results embed.FS

func stored(backend string) string { return "testdata/" + backend + ".json" }

// Enough is the number of routes that must fire without enforcement, so that the results are
// meaningful.
const Enough = 38

// compare compares the results with the published ones and fails t if a forbidden route differs. If
// update is set, it stores the results instead. dir is the directory of this package. Other
// differences, of routes without enforcement and of allowed routes, are only logged, unless too few
// routes fire.
func (res Results) compare(t *testing.T, dir string, update bool) {
	t.Helper()
	routes := map[string]*Route{}
	for _, r := range Routes() {
		routes[r.Name] = &r
	}
	got, fires := map[string]map[Tier]string{}, 0
	for i := range res.Rows {
		cells := res.Rows[i].cells(routes[res.Rows[i].Route])
		got[res.Rows[i].Route] = cells
		if cells[NoEnforcement] == fired {
			fires++
		}
	}
	if len(res.Rows) == len(routes) && fires < Enough {
		t.Errorf("%d routes fire without enforcement, want %d", fires, Enough)
	}
	published, err := PublishedResults()
	if err != nil {
		t.Fatal(err)
	}
	if update {
		for name, cells := range published[res.Backend] { // keep the results of routes that were not tested
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
		for tier, cell := range cells {
			switch was := published[res.Backend][name][tier]; {
			case was == cell:
			case tier == NoEnforcement:
				t.Logf("%s: %s without enforcement, was: %s", name, cell, was)
			case cells[NoEnforcement] == notTested || published[res.Backend][name][NoEnforcement] == notTested,
				!tier.forbids(routes[name]),                       // it may arrive
				routes[name].Open(res.Backend) != "",              // or is not blocked; a slow page can look blocked
				res.Connects && cell != through && was != through: // or the browser preconnects
				t.Logf("%s: %s with %s, was: %s", name, cell, tier, was)
			default:
				t.Errorf("%s: %s with %s, and docs/security.md says %s; run this test with -update-leaks and make generate", name, cell, tier, was)
			}
		}
	}
}
