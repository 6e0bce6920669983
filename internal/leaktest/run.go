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

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A Tier is an enforcement level under which routes are tested.
type Tier string

// The tiers.
const (
	NoEnforcement Tier = "off"     // no policy: the positive control
	Same          Tier = "same"    // subresources=same and a denied host
	Public        Tier = "public"  // subresources=public and a denied public host
	Private       Tier = "private" // subresources=public and a private address for loads
)

// forbids reports whether a tier must block a route.
func (t Tier) forbids(r *Route) bool {
	switch t {
	case Same:
		return true
	case Public:
		return r.Kind == Document
	case Private:
		return r.Kind == Load
	}
	return false
}

// A Harness provides browsers of a backend.
type Harness struct {
	// Backend is the name of the backend in the published table.
	Backend string
	// Start starts a browser. The runner closes it.
	Start func(t *testing.T, setup Setup) Browser
	// Routes are the names of the routes to test; nil means all.
	Routes []string
	// Preconnects is set for a browser whose network prediction cannot be disabled. Then only
	// requests count, not connections.
	Preconnects bool
	// Resumed is set for a browser that another client also controls, which may resume a new tab
	// before we have checked its URL. Then only its proxy decides about the first document of a tab
	// that a page opens, and [Public] forbids none. Frames of other sites do not always load there, with
	// or without a policy, so that a blocked visit to an allowed host means nothing.
	Resumed bool
}

// A Setup describes how to start a browser.
type Setup struct {
	// Policy is the policy to enforce; nil means no enforcement.
	Policy *policy.Policy
	// Flags are command line flags. They name the certificate to trust and, for a browser that
	// resolves names itself, the addresses of the test's names.
	Flags []string
	// UnmanagedVisits returns a new URL on the denied host at each call. It is for tabs of the
	// user, which must not be blocked.
	UnmanagedVisits func() string
}

// A Browser is a running browser.
type Browser struct {
	// NewSession returns a session for one visit.
	NewSession func(t *testing.T) executor.Executor
	// NewTab returns a tab for one visit, and closes it when t ends. If it is nil, the tab is that
	// of a new session.
	NewTab func(t *testing.T) Tab
	// Close closes the browser, and returns the names that it or its proxy resolved.
	Close func(t *testing.T) (resolved []string)
}

// MapNames is the flag that maps the names of the test sites to this machine, for a browser that
// resolves names itself. Names below names.test are not mapped, so the browser queries DNS for
// them.
const MapNames = "--host-resolver-rules=MAP *.test 127.0.0.1, EXCLUDE *" + dnsSuffix

// parallelRoutes is the number of routes that are tested concurrently. A visit mainly waits.
const parallelRoutes = 6

// controlTimeout bounds the wait for a route to fire without enforcement, unless the published results
// say that it does. A route that does not fire takes the full time.
const controlTimeout = await.HangLimit / 8

type runner struct {
	h      Harness
	site   *site
	routes []Route
	stages []*stage
	// published are the published results of the backend, by route and tier.
	published map[string]map[Tier]string

	mu   sync.Mutex // guards the fields below
	seen []trial
}

// A stage is a browser with one policy, and the tiers that are tested in it.
type stage struct {
	name    string
	config  *policy.Config // nil means no policy
	tiers   []Tier
	browser Browser
}

// A trial is one visit and the route and tier that it tests.
type trial struct {
	route *Route
	tier  Tier
	visit *visit
}

var (
	update = flag.Bool("update-leaks", false, "write the results of the tests of all routes, for docs/security.md")
	routes = flag.String("routes", "", "comma-separated `names` of the routes to test; empty means all")
	passes = flag.Int("leak-passes", 1, "number of attempts per route and tier")
)

// Full tests all routes, and compares the results with those in docs/security.md. The test must run
// in a directory two levels below the root of the repository.
func Full(t *testing.T, h Harness) {
	t.Helper()
	tier.Deep(t)
	h.Routes = Named(*routes)
	Run(t, h).compare(t, "../../internal/leaktest", *update)
}

// Run tests the routes in browsers of a backend and returns the results. A hit that a tier forbids
// fails t.
//
// The browsers of all stages run concurrently. Each route visits them one after another. In the deep
// tests the first has no enforcement, to find out whether the route fires. The landing tests take that
// from the published results, and their control is the visit to an allowed host.
func Run(t *testing.T, h Harness) Results {
	t.Helper()
	tier.Browser(t)
	r := newRunner(t, h)
	if tier.DeepEnabled() {
		r.stages = []*stage{{name: "off", tiers: []Tier{NoEnforcement}}}
	}
	r.stages = append(r.stages,
		&stage{name: "same", tiers: []Tier{Same}, config: r.config(policy.SubresourcesSame)},
		&stage{name: "public", tiers: []Tier{Private, Public}, config: r.config(policy.SubresourcesPublic)},
	)
	for _, s := range r.stages {
		r.start(t, s)
	}
	r.walkRoutes(t, r.walkAll)
	for _, s := range r.stages {
		r.end(t, s)
	}
	return r.countHits(t)
}

// newRunner returns a runner for the routes of h.
func newRunner(t *testing.T, h Harness) *runner {
	t.Helper()
	published, err := PublishedResults()
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{h: h, site: newSite(t), published: published[h.Backend]}
	for _, route := range Routes() {
		if h.Routes == nil || slices.Contains(h.Routes, route.Name) {
			r.routes = append(r.routes, route)
		}
	}
	return r
}

// walkRoutes calls walk for each route, several at the same time.
func (r *runner) walkRoutes(t *testing.T, walk func(t *testing.T, route *Route)) {
	t.Run("routes", func(t *testing.T) {
		// A browser has one picture-in-picture window, so one goroutine tests all routes that open
		// it.
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
		walkOneByOne := func(routes <-chan *Route) {
			for route := range routes {
				t.Run(route.Name, func(t *testing.T) { walk(t, route) })
			}
		}
		var walkers sync.WaitGroup
		for i := range parallelRoutes { // t.Parallel would limit the number to that of the CPUs
			walkers.Go(func() {
				if i == 0 {
					walkOneByOne(windows)
				}
				walkOneByOne(next)
			})
		}
		walkers.Wait()
	})
}

// config returns the policy of a subresource tier. It allows homeHost and allyHost.
func (r *runner) config(tier policy.Subresources) *policy.Config {
	return &policy.Config{AllowDomains: []string{r.site.origin(homeHost), "https://" + allyHost + ":*", "http://" + allyHost + ":*"}, Mutations: true, Subresources: tier}
}

// start starts the browser of a stage.
func (r *runner) start(t *testing.T, s *stage) {
	t.Helper()
	setup := Setup{UnmanagedVisits: r.users(t), Flags: []string{"--ignore-certificate-errors-spki-list=" + r.site.key, "--disable-popup-blocking", "--short-reporting-delay"}}
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
				t.Errorf("%s was resolved", name)
			}
		}
	}
}

// walkAll tests a route in all stages.
func (r *runner) walkAll(t *testing.T, route *Route) {
	known, reached := false, r.published[route.Name][NoEnforcement] == fired
	fires := func(t *testing.T) bool { // also if only the subtest of another stage runs
		if control := r.stages[0]; !known && control.config == nil {
			known, reached = true, r.fires(t, control.browser, route)
		}
		return reached
	}
	for _, s := range r.stages {
		if s.config == nil {
			t.Run(s.name, func(t *testing.T) { fires(t) })
			continue
		}
		if route.Kind == Document && s.tiers[0] == Same && !tier.DeepEnabled() {
			continue // the tier Public denies the same documents, although it allows loads of their host
		}
		for range *passes {
			t.Run(s.name, func(t *testing.T) { r.walk(t, s, route, fires(t)) })
		}
	}
}

// users returns a function for Setup.UnmanagedVisits.
func (r *runner) users(t *testing.T) func() string {
	tg := r.site.newTarget(t, deniedHost)
	var n atomic.Int32
	return func() string { return fmt.Sprintf("https://%s/user%d", tg.addr(), n.Add(1)) }
}

// try visits a route to a host. Unless tier is empty, it counts the result for tier.
func (r *runner) try(t *testing.T, b Browser, route *Route, tier Tier, host string) *target {
	v := r.visit(t, b.newTab(t), route, r.site.newTarget(t, host))
	if tier != "" {
		r.mu.Lock()
		r.seen = append(r.seen, trial{route, tier, v})
		r.mu.Unlock()
		t.Cleanup(func() { // late requests are counted at the end
			if why := r.leak(trial{route, tier, v}); why != "" {
				t.Error(why)
			}
		})
	}
	return v.target
}

// denied returns the denied host of a route.
func (r *Route) denied() string {
	if r.sameSite {
		return belowHost
	}
	return deniedHost
}

// fires reports whether a route reaches its target without enforcement.
func (r *runner) fires(t *testing.T, b Browser, route *Route) bool {
	tg := r.try(t, b, route, NoEnforcement, route.denied())
	limit := controlTimeout
	if r.published[route.Name][NoEnforcement] == fired {
		limit = await.HangLimit
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return route.Kind != Name && arrives(ctx, tg)
}

// walk tests a route with each tier of a stage, and then with an allowed host, so that earlier
// requests have time to arrive.
func (r *runner) walk(t *testing.T, s *stage, route *Route, fires bool) {
	var last *target
	for _, tier := range s.tiers {
		switch {
		case tier != Private:
			last = r.try(t, s.browser, route, tier, route.denied())
			if !tier.forbids(route) {
				continue
			}
			last = nil
		case route.Kind == Load:
			r.try(t, s.browser, route, tier, privateIP)
			last = nil
		}
	}
	if last == nil {
		last = r.try(t, s.browser, route, "", allyHost)
	}
	if fires && !r.h.Resumed && !route.queued && !(route.stranger && s.tiers[0] == Same) && !slices.Contains(route.blockedWhenAllowed, r.h.Backend) && !arrives(await.Context(t), last) {
		t.Errorf("the route to %s, which is allowed, is blocked", last.host)
	}
}

// arrives waits for a target's first hit until ctx is done.
func arrives(ctx context.Context, tg *target) bool {
	select {
	case <-tg.hit:
		return true
	case <-ctx.Done():
		return false
	}
}

// visit opens the page of a route and returns when the page has tried the route.
func (r *runner) visit(t *testing.T, tab Tab, route *Route, tg *target) *visit {
	t.Helper()
	ctx := await.Context(t)
	v := r.site.newVisit(route, tg)
	err := tab.Navigate(ctx, v.url())
	if err == nil && route.gesture {
		if err = tab.Click(ctx, "#go"); err != nil {
			t.Errorf("clicking #go: %v", err)
			return v // the page does not try the route
		}
	}
	select {
	case <-v.tried:
	case <-ctx.Done():
		t.Errorf("the page did not finish: %v", err)
	}
	if route.click != "" {
		if err := tab.Click(ctx, route.click); err != nil {
			t.Errorf("clicking %s: %v", route.click, err)
		}
	}
	return v
}

// leak describes the hits of a trial that must have none, or returns "".
func (r *runner) leak(tr trial) string {
	tg := tr.visit.target
	hits, requests := tg.hits.Load(), tg.requests.Load()
	if tr.tier == Public && r.h.Resumed && tr.route.opensTab() {
		return ""
	}
	if !tr.tier.forbids(tr.route) || tr.route.Open(r.h.Backend) != "" || hits == 0 || (requests == 0 && r.h.Preconnects) {
		return ""
	}
	return fmt.Sprintf("%d connections and packets, %d requests at %s, tier %s", hits, requests, tg.host, tr.tier)
}

// countHits counts the hits of all trials. All browsers must have exited.
func (r *runner) countHits(t *testing.T) Results {
	t.Helper()
	res := Results{Backend: r.h.Backend, Connects: r.h.Preconnects, Rows: make([]Row, len(r.routes))}
	for i, route := range r.routes {
		res.Rows[i] = Row{Route: route.Name, Hits: map[Tier]int{}, Requests: map[Tier]int{}}
	}
	for _, tr := range r.seen {
		row := &res.Rows[slices.IndexFunc(res.Rows, func(row Row) bool { return row.Route == tr.route.Name })]
		row.Hits[tr.tier] += int(tr.visit.target.hits.Load())
		row.Requests[tr.tier] += int(tr.visit.target.requests.Load())
		if why := r.leak(tr); why != "" {
			t.Errorf("%s: %s", tr.route.Name, why)
		}
	}
	if r.stages[0].config != nil {
		return res
	}
	var notFiring []string
	for _, row := range res.Rows {
		if row.Hits[NoEnforcement] == 0 {
			notFiring = append(notFiring, row.Route)
		}
	}
	t.Logf("%d of %d routes fire without enforcement; not tested: %s", len(res.Rows)-len(notFiring), len(res.Rows), strings.Join(notFiring, ", "))
	return res
}
