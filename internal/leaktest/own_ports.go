package leaktest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// OwnPorts opens a page of an allowed host of this machine that tries to reach two servers on other
// ports of the same host. One port belongs to the program: no connection to it may arrive. The other is
// the positive control, which every route must reach.
func OwnPorts(t *testing.T, h Harness) {
	tier.Browser(t)
	own, control := newPortServer(t), newPortServer(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/to":
			http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
		case "/routes":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, ownPortRoutes, control.port, own.port)
		default:
			respond(w, r)
		}
	}))
	t.Cleanup(site.Close)
	at := strings.Replace(site.URL, "127.0.0.1", "localhost", 1)
	p, err := policy.New(policy.Config{AllowDomains: []string{"localhost", "127.0.0.1"}, Mutations: true, OwnPorts: []int{own.number}})
	if err != nil {
		t.Fatal(err)
	}
	b := h.Start(t, Setup{Policy: p, UnmanagedVisits: func() string { return at + "/user" }})
	closeBrowser := sync.OnceFunc(func() { b.Close(t) })
	t.Cleanup(closeBrowser)
	s := b.NewSession(t)
	t.Cleanup(func() { s.Close() })
	ctx := await.Context(t)
	if _, _, err := s.NewPage(ctx, &executor.NewPageOptions{URL: at + "/routes"}); err != nil {
		t.Fatal(err)
	}
	if res, err := pagetest.Of(s, "").WaitFor(ctx, &executor.WaitCondition{Text: "all tried"}); err != nil || !res.Matched {
		t.Fatalf("the page with the routes: %+v, %v", res, err)
	}
	text, err := pagetest.Of(s, "").Text(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, routes, _ := strings.Cut(text.Content, "all tried:")
	routes, _, _ = strings.Cut(routes, "\n") // the text of the frames follows
	for route := range strings.FieldsSeq(routes) {
		await.Until(t, "the route "+route+" to an allowed port", func() bool { return control.received(route) })
	}
	for _, host := range []string{"localhost", "127.0.0.1"} {
		address := "http://" + host + ":" + own.port + "/navigate"
		if _, err := s.Navigate(ctx, address, nil); executor.CodeOf(err) != executor.ErrPolicyDenied {
			t.Errorf("navigate to %s: %v, want %s", address, err, executor.ErrPolicyDenied)
		}
		if nav, err := s.Navigate(ctx, at+"/to?url="+url.QueryEscape(address), nil); err == nil {
			t.Errorf("navigate by a redirect to %s: %+v", address, nav)
		}
	}
	closeBrowser() // no request is under way afterwards
	if list := own.list(); len(list) > 0 {
		t.Errorf("the program's port received %q", list)
	}
}

// A portServer records what arrives at a port.
type portServer struct {
	*httptest.Server
	port   string
	number int

	mu      sync.Mutex
	arrived []string // the paths of requests, without the slash
}

func newPortServer(t *testing.T) *portServer {
	s := &portServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.arrived = append(s.arrived, strings.TrimPrefix(r.URL.Path, "/"))
		s.mu.Unlock()
		respond(w, r)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.port = u.Port()
	if _, err := fmt.Sscan(s.port, &s.number); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *portServer) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.arrived...)
}

// received reports whether a request for the path of a route has arrived.
func (s *portServer) received(route string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range s.arrived {
		if path == route {
			return true
		}
	}
	return false
}

// ownPortRoutes is a page that tries to reach two ports of this machine, and then lists the routes.
const ownPortRoutes = `<!doctype html><title>routes</title><p id=said></p><script type=module>
	const add = (tag, set) => document.body.append(Object.assign(document.createElement(tag), set));
	const routes = {
		img: (url) => add('img', {src: url}),
		script: (url) => add('script', {src: url}),
		style: (url) => add('link', {rel: 'stylesheet', href: url}),
		iframe: (url) => add('iframe', {src: url}),
		fetch: (url) => void fetch(url, {mode: 'no-cors'}).catch(() => 0),
		redirect: (url) => void fetch('/to?url=' + encodeURIComponent(url), {mode: 'no-cors'}).catch(() => 0),
		'iframe-redirect': (url) => add('iframe', {src: '/to?url=' + encodeURIComponent(url)}),
		beacon: (url) => navigator.sendBeacon(url, 'x'),
		events: (url) => new EventSource(url),
		socket: (url) => new WebSocket(url.replace('http', 'ws')),
		form: (url) => { add('iframe', {name: url}); const f = document.createElement('form'); f.action = url; f.method = 'post'; f.target = url; document.body.append(f); f.submit(); },
	};
	const names = [];
	for (const [name, go] of Object.entries(routes)) for (const host of ['localhost', '127.0.0.1']) {
		const path = name + '-' + host;
		names.push(path);
		for (const port of ['%[2]s', '%[1]s']) go('http://' + host + ':' + port + '/' + path);
	}
	said.textContent = 'all tried: ' + names.join(' ');
</script>`
