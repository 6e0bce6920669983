package leaktest

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A Wall is what stands between the pages and a target.
type Wall string

// The walls.
const (
	Off     Wall = "off"     // none: whether the route fires at all
	Same    Wall = "same"    // subresources=same, and a host that is denied
	Public  Wall = "public"  // subresources=public, and a public host that is denied
	Private Wall = "private" // subresources=public, and a private address of what pages load
)

// forbids reports whether a wall is to let nothing of a route through.
func (w Wall) forbids(r *Route) bool {
	switch w {
	case Same:
		return true
	case Public:
		return r.Kind == Document
	case Private:
		return r.Kind == Load
	}
	return false
}

// A Harness gives the runner browsers of a backend.
type Harness struct {
	// Backend is its name in the table.
	Backend string
	// Start starts a browser. The runner closes it.
	Start func(t *testing.T, setup Setup) Browser
	// Routes are the names of the routes to walk; nil means all.
	Routes []string
	// Connects is set for a browser that connects ahead to where a page may
	// go, and cannot be kept from it: then only what is asked for counts.
	Connects bool
	// Passes is how often the walls are walked; 0 means once.
	Passes int
}

// A Setup says what a browser is to be started with.
type Setup struct {
	// Policy is what is in force; nil means that nothing holds.
	Policy *policy.Policy
	// Flags are for its command line. They name what it is to trust and, for
	// a browser that looks up names itself, where those of the test are.
	Flags []string
	// Users returns an address on the denied host that is new each time. It is
	// for tabs that are not an agent's, and which nothing is to hold.
	Users func() string
}

// A Browser is one that was started.
type Browser struct {
	// NewSession returns a session for one visit.
	NewSession func(t *testing.T) executor.Executor
	// Close ends the browser, and returns the names that were looked up since
	// its start, by itself or for it.
	Close func(t *testing.T) (resolved []string)
}

// MapNames has the names of the test's internet be this machine's, to a browser that looks
// them up itself. But names of names.test are nobody's: those are looked up.
const MapNames = "--host-resolver-rules=MAP *.test 127.0.0.1, EXCLUDE *" + dnsSuffix

// atOnce is how many routes are walked at the same time.
const atOnce = 4

// patience bounds each wait: it is for a machine that is busy.
const patience = time.Minute

// firing is how long a route may take to fire where nothing holds it. Those
// that do not fire cost it in whole.
const firing = 8 * time.Second

type runner struct {
	h      Harness
	site   *site
	routes []Route
	slots  chan struct{}

	mu    sync.Mutex // guards what follows
	fires map[string]bool
	seen  []trial
}

// A trial is what came of one visit.
type trial struct {
	route *Route
	wall  Wall
	visit *visit
}

var (
	update = flag.Bool("update-leaks", false, "write what comes of the tests that walk all routes, for docs/security.md")
	routes = flag.String("routes", "", "the routes that are walked, with commas; empty for all")
)

// Full walks the whole table twice, for a test that runs in a folder two below
// the repository's, and holds what comes of it to what docs/security.md says.
func Full(t *testing.T, h Harness) {
	t.Helper()
	h.Passes, h.Routes = 2, Named(*routes)
	Run(t, h).compare(t, "../../policy/leaktest", *update)
}

// Run walks the table through a backend's browser and returns what came of it.
// A hit that a wall forbids fails t.
func Run(t *testing.T, h Harness) Results {
	t.Helper()
	r := &runner{h: h, site: newSite(t), slots: make(chan struct{}, atOnce), fires: map[string]bool{}}
	for _, route := range Routes() {
		if h.Routes == nil || slices.Contains(h.Routes, route.Name) {
			r.routes = append(r.routes, route)
		}
	}
	res := Results{Backend: h.Backend, Rows: make([]Row, len(r.routes))}
	for i, route := range r.routes {
		res.Rows[i] = Row{Route: route.Name, Hits: map[Wall]int{}, Asks: map[Wall]int{}}
	}
	r.phase(t, "off", nil, &res, Off)
	for pass := range max(h.Passes, 1) {
		r.phase(t, fmt.Sprintf("same/%d", pass+1), r.config(policy.SubresourcesSame), &res, Same)
		r.phase(t, fmt.Sprintf("public/%d", pass+1), r.config(policy.SubresourcesPublic), &res, Private, Public)
	}
	r.judge(t, &res)
	return res
}

// config is the policy of a tier: it names the page's host and the ally's.
func (r *runner) config(tier policy.Subresources) *policy.Config {
	return &policy.Config{AllowDomains: []string{r.site.origin(homeHost), "https://" + allyHost + ":*", "http://" + allyHost + ":*"}, Mutations: true, Subresources: tier}
}

// phase walks all routes through one browser.
func (r *runner) phase(t *testing.T, name string, config *policy.Config, res *Results, walls ...Wall) {
	setup := Setup{Users: r.users(t), Flags: []string{"--ignore-certificate-errors-spki-list=" + r.site.key, "--disable-popup-blocking", "--short-reporting-delay"}}
	if config != nil {
		var err error
		if setup.Policy, err = policy.New(*config); err != nil {
			t.Fatal(err)
		}
	}
	b := r.h.Start(t, setup)
	t.Run(name, func(t *testing.T) {
		for i := range r.routes {
			route := &r.routes[i]
			t.Run(route.Name, func(t *testing.T) {
				t.Parallel()
				r.slots <- struct{}{}
				defer func() { <-r.slots }()
				r.walk(t, b, route, walls)
			})
		}
	})
	resolved := b.Close(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tr := range r.seen {
		if tr.route.Kind == Name && slices.Contains(resolved, tr.visit.id+dnsSuffix) {
			tr.visit.target.count()
		}
	}
	if config != nil && config.Subresources == policy.SubresourcesSame {
		for _, name := range resolved {
			if name == deniedHost || name == belowHost {
				t.Errorf("%s was looked up", name)
			}
		}
	}
}

// users serves those who are no agent.
func (r *runner) users(t *testing.T) func() string {
	tg := r.site.newTarget(t, deniedHost)
	var n atomic.Int32
	return func() string { return fmt.Sprintf("https://%s/user%d", tg.addr(), n.Add(1)) }
}

// walk tries a route at each wall, and then, so that all that began before has
// had its time, leads it to where it may go.
func (r *runner) walk(t *testing.T, b Browser, route *Route, walls []Wall) {
	try := func(wall Wall, host string) *target {
		s := b.NewSession(t)
		t.Cleanup(func() { s.Close() })
		v := r.visit(t, s, route, r.site.newTarget(t, host))
		if wall != "" {
			r.mu.Lock()
			r.seen = append(r.seen, trial{route, wall, v})
			r.mu.Unlock()
			t.Cleanup(func() { // late ones are counted at the end
				if why := r.leak(trial{route, wall, v}); why != "" {
					t.Error(why)
				}
			})
		}
		return v.target
	}
	denied := deniedHost
	if route.sameSite {
		denied = belowHost
	}
	if walls[0] == Off {
		if tg := try(Off, denied); route.Kind != Name && arrives(tg, firing) {
			r.mu.Lock()
			r.fires[route.Name] = true
			r.mu.Unlock()
		}
		return
	}
	var last *target
	for _, wall := range walls {
		switch {
		case wall != Private:
			last = try(wall, denied)
			if !wall.forbids(route) {
				continue
			}
			last = nil
		case route.Kind == Load:
			try(wall, privateIP)
			last = nil
		}
	}
	if last == nil {
		last = try("", allyHost)
	}
	r.mu.Lock()
	fires := r.fires[route.Name]
	r.mu.Unlock()
	if fires && !route.queued && !slices.Contains(route.still, r.h.Backend) && !arrives(last, patience) {
		t.Errorf("the way to %s, which is allowed, is held too", last.host)
	}
}

// arrives waits for a target's first hit.
func arrives(tg *target, limit time.Duration) bool {
	select {
	case <-tg.hit:
		return true
	case <-time.After(limit):
		return false
	}
}

// visit opens the page of a route and returns when it has done what it does.
func (r *runner) visit(t *testing.T, s executor.Executor, route *Route, tg *target) *visit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	v := r.site.newVisit(route, tg)
	tab, err := s.NewTab(ctx, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Navigate(ctx, tab.ID, v.url(), &executor.NavigateOptions{Until: executor.UntilCommit})
	if err == nil && route.gesture {
		_, err = s.Click(ctx, tab.ID, executor.Target{Selector: "#go"}, nil)
	}
	select {
	case <-v.tried:
	case <-ctx.Done():
		t.Errorf("the page did not come to its end: %v", err)
	}
	if route.click != "" {
		if _, err := s.Click(ctx, tab.ID, executor.Target{Selector: route.click}, nil); err != nil {
			t.Errorf("clicking %s: %v", route.click, err)
		}
	}
	return v
}

// leak says what came of a trial that should have come to nothing.
func (r *runner) leak(tr trial) string {
	tg := tr.visit.target
	hits, asks := tg.hits.Load(), tg.asks.Load()
	if !tr.wall.forbids(tr.route) || tr.route.Open(r.h.Backend) != "" || hits == 0 || (asks == 0 && r.h.Connects) {
		return ""
	}
	return fmt.Sprintf("%d connections and packets, %d requests at %s, with %s", hits, asks, tg.host, tr.wall)
}

// judge counts what has arrived, now that all browsers have ended.
func (r *runner) judge(t *testing.T, res *Results) {
	t.Helper()
	for _, tr := range r.seen {
		row := &res.Rows[slices.IndexFunc(res.Rows, func(row Row) bool { return row.Route == tr.route.Name })]
		row.Hits[tr.wall] += int(tr.visit.target.hits.Load())
		row.Asks[tr.wall] += int(tr.visit.target.asks.Load())
		if why := r.leak(tr); why != "" {
			t.Errorf("%s: %s", tr.route.Name, why)
		}
	}
	var silent []string
	for _, row := range res.Rows {
		if row.Hits[Off] == 0 {
			silent = append(silent, row.Route)
		}
	}
	t.Logf("%d of %d routes fire without the wall; not tested: %s", len(res.Rows)-len(silent), len(res.Rows), strings.Join(silent, ", "))
}
