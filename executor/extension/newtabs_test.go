package extension

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/leaktest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestNewTabs opens tabs at a denied site whose opener the browser does not
// report: one from a window of a driven page, which is blocked, and tabs of the
// user, which load.
func TestNewTabs(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{flags: []string{"--disable-popup-blocking"}})
	u := env.u
	s := env.newGuardedSession(policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true})
	var pages atomic.Int32 // requests of the agent's page that reached the denied site
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/agent") {
			pages.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>%s</title>", r.URL.Path)
	}))
	t.Cleanup(denied.Close)
	url := strings.Replace(denied.URL, "127.0.0.1", "localhost", 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>page</title><button id=open>Open</button><button id=lead>Lead</button><script>
			let opened, n = 0;
			document.querySelector('#open').onclick = async () => {
				const w = await documentPictureInPicture.requestWindow();
				opened = w.open('%[1]s/agent');
			};
			document.querySelector('#lead').onclick = () => { opened.location.href = '%[1]s/agent' + ++n };
		</script>`, url)
	}))
	t.Cleanup(site.Close)
	_, tab, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: site.URL})
	if err != nil {
		t.Fatal(err)
	}
	u.worker(`(() => {
		globalThis.denials = [];
		chrome.webNavigation.onErrorOccurred.addListener(({url, frameId, error}) => {
			if (frameId === 0 && error === 'net::ERR_BLOCKED_BY_CLIENT') denials.push(url);
		});
		return 0;
	})()`, nil)
	denials := func(path string) (n int) {
		u.worker(fmt.Sprintf("denials.filter((u) => u === %q).length", url+path), &n)
		return n
	}

	t.Run("from a window of a driven page", func(t *testing.T) {
		for i, path := range []string{"/agent", "/agent1", "/agent2"} {
			button := "#open"
			if i > 0 {
				button = "#lead"
			}
			if _, err := pagetest.Of(s, tab.ID).Click(t.Context(), executor.Target{Selector: button}, nil); err != nil {
				t.Fatal(err)
			}
			await.Until(t, "the denial of "+path, func() bool { return denials(path) > 0 })
		}
		if n := pages.Load(); n != 0 {
			t.Errorf("the denied site received %d requests", n)
		}
	})

	tabs := 3 // which of them are blocked first depends on chance
	if tier.DeepEnabled() {
		tabs = 10
	}
	// The browser does not report that no page opened them.
	t.Run("by URL", func(t *testing.T) {
		refused := 0
		for i := range tabs {
			path := fmt.Sprintf("/user%d", i)
			u.open(url + path)
			n := denials(path)
			if n > 1 {
				t.Errorf("%s was blocked %d times", path, n)
			}
			refused += n
		}
		t.Logf("%d of %d tabs were blocked first and reloaded", refused, tabs)
	})
	t.Run("by a link of the user's page", func(t *testing.T) {
		u.open(url + "/links")
		page := u.target("page", "/links")
		for i := range tabs {
			path := fmt.Sprintf("/linked%d", i)
			u.eval(page, fmt.Sprintf("Object.assign(document.createElement('a'), {href: %q, target: '_blank', rel: 'noopener'}).click()", path), nil)
			await.Until(t, path, func() bool {
				var there bool
				u.worker(fmt.Sprintf("chrome.tabs.query({url: %q}).then(([t]) => t?.title === %q)", url+path, path), &there)
				return there
			})
			if n := denials(path); n != 0 {
				t.Errorf("%s was blocked %d times", path, n)
			}
		}
	})
}

// TestOpener shares a tab that the page of an unshared tab opened. Its page navigates that tab to a denied
// site, which is blocked. After the tab is no longer shared, the same navigation is allowed.
func TestOpener(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{flags: []string{"--disable-popup-blocking", leaktest.MapNames}})
	u := env.u
	s := env.newGuardedSession(policy.Config{AllowDomains: []string{"127.0.0.1"}})
	var arrived atomic.Int32
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/led") {
			arrived.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>%s</title>", r.URL.Path)
	}))
	t.Cleanup(denied.Close)
	url := strings.Replace(denied.URL, "127.0.0.1", "user.test", 1)
	tab := u.open(url + "/user")
	u.eval(u.target("page", "/user"), fmt.Sprintf("window.opened = open(%q); 0", env.site.URL+"/opened"), nil)
	page := u.target("page", "/opened")
	var shared int
	u.worker(fmt.Sprintf("chrome.debugger.getTargets().then((all) => all.find((t) => t.id === %q).tabId)", page), &shared)
	u.waitLoaded(shared, env.site.URL+"/opened")
	u.toggle(shared)
	id := env.waitListed("/opened")
	if _, err := pagetest.Of(s, id).Text(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	u.worker(`(() => {
		globalThis.denials = [];
		chrome.webNavigation.onErrorOccurred.addListener(({tabId, url, error}) => {
			if (error === 'net::ERR_BLOCKED_BY_CLIENT') denials.push(tabId + ' ' + new URL(url).pathname);
		});
		return 0;
	})()`, nil)
	u.eval(page, fmt.Sprintf("opener.location.href = %q; 0", url+"/led"), nil)
	await.Until(t, "the denial or a request", func() bool {
		var there bool
		u.worker(fmt.Sprintf("denials.includes('%d /led')", tab), &there)
		return there || arrived.Load() > 0
	})
	if n := arrived.Load(); n > 0 {
		t.Errorf("the denied site received %d requests", n)
	}
	u.toggle(shared)
	await.Until(t, "the navigation of an unshared tab", func() bool {
		u.eval(page, fmt.Sprintf("opener.location.href = %q; 0", url+"/led"), nil)
		return arrived.Load() > 0
	})
}

// TestNewWindowFrames delays the rules that include a window that a driven page
// opened. No rule covers requests of a frame of a new site in it yet, so the frame
// itself must be blocked, also if a frame without an origin contains it.
func TestNewWindowFrames(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{flags: []string{leaktest.MapNames}})
	s := env.newGuardedSession(policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true, Subresources: policy.SubresourcesPublic})
	var private atomic.Int32
	loaded := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, port, _ := net.SplitHostPort(r.Host)
		switch r.URL.Path {
		case "/private":
			private.Add(1)
		case "/loaded":
			select {
			case loaded <- struct{}{}:
			default:
			}
		case "/frame":
			fmt.Fprintf(w, "<script>fetch('http://localhost:%s/private', {mode: 'no-cors'}).catch(() => 0).then(() => fetch('/loaded'))</script>", port)
		default:
			fmt.Fprintf(w, `<!doctype html><title>page</title><button id=open>Open</button><button id=add>Add</button><script>
				let w;
				const add = () => w.document.body.append(Object.assign(w.document.createElement('iframe'), {src: 'http://new.test:%[1]s/frame'}));
				document.querySelector('#open').onclick = async () => {
					w = await documentPictureInPicture.requestWindow();
					add();
					w.document.body.append(Object.assign(w.document.createElement('iframe'), {src: 'data:text/html,<iframe src=http://new.test:%[1]s/frame></iframe>'}));
				};
				document.querySelector('#add').onclick = add;
			</script>`, port)
		}
	}))
	t.Cleanup(server.Close)
	_, tab, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	env.u.worker(`(() => {
		globalThis.blocked = 0;
		chrome.webNavigation.onErrorOccurred.addListener(({frameId, error}) => { if (frameId !== 0 && error === 'net::ERR_BLOCKED_BY_CLIENT') blocked++; });
		const update = chrome.declarativeNetRequest.updateSessionRules;
		const proceed = new Promise((resolve) => { globalThis.proceed = resolve });
		chrome.declarativeNetRequest.updateSessionRules = async (rules) => {
			await proceed;
			return update.call(chrome.declarativeNetRequest, rules);
		};
		return 0;
	})()`, nil)
	clicked := make(chan error, 1)
	go func() {
		_, err := pagetest.Of(s, tab.ID).Click(t.Context(), executor.Target{Selector: "#open"}, nil)
		clicked <- err
	}()
	await.Until(t, "the denial of both frames", func() bool {
		var blocked int
		env.u.worker("blocked", &blocked)
		return blocked > 1
	})
	env.u.worker("(proceed(), 0)", nil)
	if err := await.Receive(t, "the click", clicked); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "a frame to load, when the window is known", func() bool {
		if _, err := pagetest.Of(s, tab.ID).Click(t.Context(), executor.Target{Selector: "#add"}, nil); err != nil {
			t.Fatal(err)
		}
		return len(loaded) > 0
	})
	if n := private.Load(); n != 0 {
		t.Errorf("frames of a new site sent %d requests to a private address", n)
	}
}
