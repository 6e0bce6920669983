package leaktest

import (
	"context"
	"errors"
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

// atOnce is the number of routes that are tested concurrently. A visit mostly
// waits.
const atOnce = 6

// patience bounds each wait: it is for a machine that is busy.
const patience = time.Minute

// firing is how long a route may take to fire where nothing holds it. Those
// that do not fire cost it in whole.
const firing = 8 * time.Second

type runner struct {
	h      Harness
	site   *site
	routes []Route
	stages []*stage

	mu   sync.Mutex // guards the fields below
	seen []trial
}

// A stage is a browser under one policy, with the walls that are tested in it.
type stage struct {
	name    string
	config  *policy.Config // nil means no policy
	walls   []Wall
	browser Browser
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
	passes = flag.Int("leak-passes", 1, "number of attempts per route and wall")
)

// Full walks the whole table, for a test that runs in a directory two below
// the repository's, and compares what comes of it with what docs/security.md says.
func Full(t *testing.T, h Harness) {
	t.Helper()
	h.Routes = Named(*routes)
	Run(t, h).compare(t, "../../policy/leaktest", *update)
}

// Run walks the table through a backend's browsers and returns what came of it.
// A hit that a wall forbids fails t.
//
// The browsers of all stages run concurrently. Each route visits them one after
// another, first the one without a wall, to find out whether the route fires.
func Run(t *testing.T, h Harness) Results {
	t.Helper()
	r := &runner{h: h, site: newSite(t)}
	for _, route := range Routes() {
		if h.Routes == nil || slices.Contains(h.Routes, route.Name) {
			r.routes = append(r.routes, route)
		}
	}
	r.stages = []*stage{
		{name: "off", walls: []Wall{Off}},
		{name: "same", walls: []Wall{Same}, config: r.config(policy.SubresourcesSame)},
		{name: "public", walls: []Wall{Private, Public}, config: r.config(policy.SubresourcesPublic)},
	}
	for _, s := range r.stages {
		r.start(t, s)
	}
	t.Run("routes", func(t *testing.T) {
		// A browser has one picture-in-picture window: one walker takes all routes
		// that open it.
		next, windows := make(chan *Route, len(r.routes)), make(chan *Route, len(r.routes))
		for i := range r.routes {
			if route := &r.routes[i]; route.window {
				windows <- route
			} else {
				next <- route
			}
		}
		close(next)
		close(windows)
		walk := func(routes <-chan *Route) {
			for route := range routes {
				t.Run(route.Name, func(t *testing.T) { r.walkAll(t, route) })
			}
		}
		var walkers sync.WaitGroup
		for i := range atOnce { // t.Parallel would allow no more than there are processors
			walkers.Go(func() {
				if i == 0 {
					walk(windows)
				}
				walk(next)
			})
		}
		walkers.Wait()
	})
	for _, s := range r.stages {
		r.end(t, s)
	}
	return r.judge(t)
}

// config is the policy of a tier: it names the page's host and the ally's.
func (r *runner) config(tier policy.Subresources) *policy.Config {
	return &policy.Config{AllowDomains: []string{r.site.origin(homeHost), "https://" + allyHost + ":*", "http://" + allyHost + ":*"}, Mutations: true, Subresources: tier}
}

// start starts the browser of a stage.
func (r *runner) start(t *testing.T, s *stage) {
	t.Helper()
	setup := Setup{Users: r.users(t), Flags: []string{"--ignore-certificate-errors-spki-list=" + r.site.key, "--disable-popup-blocking", "--short-reporting-delay"}}
	if s.config != nil {
		var err error
		if setup.Policy, err = policy.New(*s.config); err != nil {
			t.Fatal(err)
		}
	}
	s.browser = r.h.Start(t, setup)
}

// end closes the browser of a stage, and counts the names that were resolved.
func (r *runner) end(t *testing.T, s *stage) {
	t.Helper()
	resolved := s.browser.Close(t)
	for _, tr := range r.seen {
		if tr.route.Kind == Name && slices.Contains(resolved, tr.visit.id+dnsSuffix) {
			tr.visit.target.count()
		}
	}
	if s.config != nil && s.config.Subresources == policy.SubresourcesSame {
		for _, name := range resolved {
			if name == deniedHost || name == belowHost {
				t.Errorf("%s was looked up", name)
			}
		}
	}
}

// walkAll tests a route in all stages.
func (r *runner) walkAll(t *testing.T, route *Route) {
	fires := false
	for _, s := range r.stages {
		times := *passes
		if s.config == nil {
			times = 1
		}
		for range times {
			t.Run(s.name, func(t *testing.T) {
				if s.config == nil {
					fires = r.fires(t, s.browser, route)
				} else {
					r.walk(t, s, route, fires)
				}
			})
		}
	}
}

// users serves those who are no agent.
func (r *runner) users(t *testing.T) func() string {
	tg := r.site.newTarget(t, deniedHost)
	var n atomic.Int32
	return func() string { return fmt.Sprintf("https://%s/user%d", tg.addr(), n.Add(1)) }
}

// try visits a route to a host. It counts the result for wall, unless wall is
// empty.
func (r *runner) try(t *testing.T, b Browser, route *Route, wall Wall, host string) *target {
	s := b.NewSession(t)
	t.Cleanup(func() { s.Close() })
	v := r.visit(t, s, route, r.site.newTarget(t, host))
	if wall != "" {
		r.mu.Lock()
		r.seen = append(r.seen, trial{route, wall, v})
		r.mu.Unlock()
		t.Cleanup(func() { // late requests are counted at the end
			if why := r.leak(trial{route, wall, v}); why != "" {
				t.Error(why)
			}
		})
	}
	return v.target
}

// denied returns the denied host of a route.
func (route *Route) denied() string {
	if route.sameSite {
		return belowHost
	}
	return deniedHost
}

// fires reports whether a route arrives without a wall.
func (r *runner) fires(t *testing.T, b Browser, route *Route) bool {
	tg := r.try(t, b, route, Off, route.denied())
	return route.Kind != Name && arrives(tg, firing)
}

// walk tests a route at each wall of a stage, and then with an allowed host, so
// that earlier requests have time to arrive.
func (r *runner) walk(t *testing.T, s *stage, route *Route, fires bool) {
	var last *target
	for _, wall := range s.walls {
		switch {
		case wall != Private:
			last = r.try(t, s.browser, route, wall, route.denied())
			if !wall.forbids(route) {
				continue
			}
			last = nil
		case route.Kind == Load:
			r.try(t, s.browser, route, wall, privateIP)
			last = nil
		}
	}
	if last == nil {
		last = r.try(t, s.browser, route, "", allyHost)
	}
	if fires && !route.queued && !(route.stranger && s.walls[0] == Same) && !slices.Contains(route.still, r.h.Backend) && !arrives(last, patience) {
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
		if err = press(ctx, s, tab.ID, "#go"); err != nil {
			t.Errorf("clicking #go: %v", err)
			return v // nothing comes of it
		}
	}
	select {
	case <-v.tried:
	case <-ctx.Done():
		t.Errorf("the page did not come to its end: %v", err)
	}
	if route.click != "" {
		if err := press(ctx, s, tab.ID, route.click); err != nil {
			t.Errorf("clicking %s: %v", route.click, err)
		}
	}
	return v
}

// press clicks, and once more as long as the error says that nothing was pressed
// and that the call may be made again: so it is on a machine that is busy.
func press(ctx context.Context, s executor.Executor, tab executor.TabID, selector string) error {
	for {
		_, err := s.Click(ctx, tab, executor.Target{Selector: selector}, nil)
		if e := (*executor.Error)(nil); !errors.As(err, &e) || !e.Retryable || ctx.Err() != nil {
			return err
		}
	}
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
func (r *runner) judge(t *testing.T) Results {
	t.Helper()
	res := Results{Backend: r.h.Backend, Connects: r.h.Connects, Rows: make([]Row, len(r.routes))}
	for i, route := range r.routes {
		res.Rows[i] = Row{Route: route.Name, Hits: map[Wall]int{}, Asks: map[Wall]int{}}
	}
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
	return res
}
