package leaktest

import (
	"net/http"
	"slices"
	"strings"
)

// A Kind is what a route sends to its target. It determines which tiers forbid the route.
type Kind string

// The kinds of routes.
const (
	Load     Kind = "load"     // a subresource or sent data: forbidden by "same", and to private addresses
	Document Kind = "document" // a top document, a popup window, or a redirect hop of one: always forbidden
	Name     Kind = "name"     // only a DNS query: forbidden by "same"
)

// A Route is one route from a page to another host.
type Route struct {
	Name string // for the table and for URLs, such as "img-srcset"
	Kind Kind

	head, body string            // HTML of the page; visit.fill describes the placeholders
	script     string            // body of an async function that the page runs after it has loaded
	worker     string            // content of each file that ends in .js
	inner      string            // HTML of /inner, for frames
	next       string            // HTML of /next
	headers    map[string]string // headers of all these responses
	files      map[string]file   // handlers of other files; "" is the page itself
	gesture    bool              // script runs when the page's button is clicked
	click      string            // selector to click after script has run
	sameSite   bool              // the target is on a subdomain of the page's host

	// blockedWhenAllowed names the backends in which enforcement also blocks the route to an
	// allowed host.
	blockedWhenAllowed []string
	// stranger is set if the route starts in a frame of a site that the policy does not list. The
	// route cannot start if such frames are not loaded.
	stranger bool
	// window is set if the page opens a Document Picture-in-Picture window. A
	// browser has at most one.
	window bool
	// queued is set if the browser delays the request: it sends reports in batches, and retries a
	// blocked background fetch for minutes before it starts the next one. An allowed request may or
	// may not arrive before the test ends.
	queued bool
	// untried is the reason why the route cannot be tested.
	untried string
	// knownLeaks maps the backends that cannot block the route to the reasons.
	knownLeaks map[string]string
}

// A file handles the requests of a visit for one file. n is the number of the request, from 1.
type file func(v *visit, w http.ResponseWriter, r *http.Request, n int)

// Open returns why a backend cannot block the route, or "" if it can.
func (r *Route) Open(backend string) string { return r.knownLeaks[backend] }

// Untried returns why the route cannot be tested, or "" if it is tested.
func (r *Route) Untried() string { return r.untried }

// opensTab reports whether a page may open a tab by the route: it needs a click.
func (r *Route) opensTab() bool { return r.gesture || r.stranger }

// Routes returns all routes.
func Routes() []Route {
	return slices.Concat(elements, styles, scripts, workers, sockets, navigations, popups, windows, strangers, sameSite)
}

// QuickRoutes are routes of each kind, for a frequent test.
var QuickRoutes = []string{"img", "websocket", "shared-worker-data-fetch", "redirect-twice", "popup-sandboxed-escaped", "picture-in-picture-open", "stranger-open", "stranger-shared-worker", "same-site-location"}

// Named splits a comma-separated list of routes. It returns nil, which means all, for an empty
// list.
func Named(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// redirect responds with a redirect.
func redirect(status int, to string) file {
	return func(v *visit, w http.ResponseWriter, r *http.Request, _ int) {
		http.Redirect(w, r, v.fill(to), status)
	}
}

// text responds with body. kind is the Content-Type.
func text(kind, body string) file {
	return func(v *visit, w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", kind)
		w.Write([]byte(v.fill(body)))
	}
}

// reportTried marks the visit as tried, and then calls next.
func reportTried(next file) file {
	return func(v *visit, w http.ResponseWriter, r *http.Request, n int) {
		v.once.Do(func() { close(v.tried) })
		next(v, w, r, n)
	}
}
