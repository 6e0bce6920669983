package leaktest

import (
	"net/http"
	"slices"
	"strings"
)

// A Kind is what a route brings to its target, and so which walls forbid it.
type Kind string

// The kinds of routes.
const (
	Load     Kind = "load"     // something that a page loads or sends: forbidden by "same", and to private addresses
	Document Kind = "document" // a top document, a popup, or a hop of one: forbidden always
	Name     Kind = "name"     // nothing but the question for a name: forbidden by "same"
)

// A Route is one way from a page to another host.
type Route struct {
	Name string // of the route, in words for a table and a URL: "img-srcset"
	Kind Kind

	head, body string            // of the page, see visit.fill for the places in them
	script     string            // of the page's async function: what it does after it has loaded
	worker     string            // the text of each file that ends in .js
	inner      string            // the page at /inner, to be framed
	next       string            // the page at /next
	headers    map[string]string // of all these
	files      map[string]file   // what is answered otherwise; "" is the page itself
	gesture    bool              // the script runs when the page's button is clicked
	click      string            // what is clicked when the script has run
	sameSite   bool              // the target is on a host below the page's own

	// still names the backends in which the route does not arrive under a wall
	// at an allowed host either.
	still []string
	// stranger is set if the route starts in a frame of a site that the policy does
	// not list. It cannot start if such frames are not loaded.
	stranger bool
	// window is set if the page opens a Document Picture-in-Picture window. A
	// browser has at most one.
	window bool
	// queued is set if the browser requests in its own time: it sends reports in
	// batches, and retries a background fetch that was held for minutes before it
	// starts the next. An allowed request may or may not arrive before the test ends.
	queued bool
	// untried is the reason why no test can take the route.
	untried string
	// open says, for a backend that cannot hold the route, why not.
	open map[string]string
}

// A file answers a request of a visit; n counts those for it.
type file func(v *visit, w http.ResponseWriter, r *http.Request, n int)

// Open returns why a backend cannot hold the route, empty when it can.
func (r *Route) Open(backend string) string { return r.open[backend] }

// Untried returns why no test can take the route, or "" if a test takes it.
func (r *Route) Untried() string { return r.untried }

// Routes returns the table.
func Routes() []Route {
	return slices.Concat(elements, styles, scripts, workers, sockets, leaving, popups, windows, strangers, sameSite)
}

// Few are routes of each kind, for a test that is run often.
var Few = []string{"img", "websocket", "shared-worker-data-fetch", "redirect-twice", "popup-sandboxed-escaped", "picture-in-picture-open", "stranger-open", "stranger-shared-worker", "same-site-location"}

// Named splits a list of routes; an empty one is all.
func Named(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// redirect answers with a redirect of a status.
func redirect(status int, to string) file {
	return func(v *visit, w http.ResponseWriter, r *http.Request, _ int) {
		http.Redirect(w, r, v.fill(to), status)
	}
}

// text answers with a text of a type.
func text(kind, body string) file {
	return func(v *visit, w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", kind)
		w.Write([]byte(v.fill(body)))
	}
}

// tell marks the visit as tried, and then answers.
func tell(next file) file {
	return func(v *visit, w http.ResponseWriter, r *http.Request, n int) {
		v.once.Do(func() { close(v.tried) })
		next(v, w, r, n)
	}
}
