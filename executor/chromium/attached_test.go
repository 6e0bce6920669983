package chromium

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// documents is a NetworkPolicy that lets pages load subresources from any host, but allows
// documents only of some hosts.
type documents struct{ hosts }

func (documents) CheckHost(string, string, int) error { return nil }

// TestAttachedPopups opens popup windows, with and without an opener, at a host
// that the policy denies for documents and allows for subresources. Their first
// document is blocked. An allowed popup window loads.
func TestAttachedPopups(t *testing.T) {
	var hits atomic.Int32
	denied := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(denied.Close)
	deniedURL := strings.Replace(denied.URL, "127.0.0.1", "localhost", 1)
	loaded := make(chan string, 8)
	allowed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/leaves" {
			fmt.Fprintf(w, `<link rel=icon href=data:,><script>location.href = "%s/later"</script>`, deniedURL)
			return
		}
		if r.URL.Path != "/" {
			loaded <- r.URL.Path
			fmt.Fprint(w, "<title>popup</title><link rel=icon href=data:,>")
			return
		}
		fmt.Fprintf(w, `<title>opener</title><link rel=icon href=data:,><button onclick="
			window.open('%[1]s/opener'); window.open('%[1]s/noopener', '', 'noopener'); window.open('%[1]s/window', '', 'noopener,width=300');
			window.open('/allowed', '', 'noopener')">Open</button><a href="/leaves">Leave</a>`, deniedURL)
	}))
	t.Cleanup(allowed.Close)
	_, address := startForeignShell(t, t.TempDir(), "--disable-popup-blocking")
	for name, userTabs := range map[string]bool{"own context": false, "default context": true} {
		t.Run(name, func(t *testing.T) {
			ctx := await.Context(t)
			hits.Store(0)
			o := fullOptions(t)
			o.CDPEndpoint, o.AttachDefaultContext, o.Network = address, userTabs, documents{hosts{"127.0.0.1"}}
			log := &testlog.Buffer{}
			o.Logger = slog.New(slog.NewJSONHandler(log, nil))
			b := newBrowser(t, o)
			s := newSession(t, b)
			_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: allowed.URL + "/"})
			if err != nil {
				t.Fatal(err)
			}
			if d := b.Status(ctx).Detail; !strings.Contains(d, "WebRTC") || strings.Contains(d, "not filtered") != userTabs {
				t.Errorf("status %q does not name the limits of the policy", d)
			} else if _, limits, _ := strings.Cut(d, "; "); !strings.Contains(log.String(), `"level":"WARN","msg":"policy is only partly enforced in the browser","limits":"`+limits+`"`) {
				t.Errorf("the log does not warn of the limits %q: %s", limits, log)
			}
			if _, err := pagetest.Of(s, tab.ID).Click(ctx, executor.Target{Selector: "button"}, nil); err != nil {
				t.Fatal(err)
			}
			select {
			case <-loaded: // opened last
			case <-ctx.Done():
				t.Fatal("allowed popup window does not load")
			}
			if !userTabs {
				// The browser reports no opener for this tab, and no call uses it.
				if _, err := pagetest.Of(s, tab.ID).Click(ctx, executor.Target{Selector: "a"}, &executor.ClickOptions{Button: executor.ButtonMiddle}); err != nil {
					t.Fatal(err)
				}
				await.Until(t, "the tab to navigate to the denied host", func() bool {
					return strings.Contains(titles(t, httpAddress(t, address)), deniedURL+"/later")
				})
			}
			if n := hits.Load(); n != 0 {
				t.Errorf("the denied host received %d requests", n)
			}
		})
	}
}

// httpAddress returns the HTTP endpoint of the browser with WebSocket URL ws.
func httpAddress(t *testing.T, ws string) string {
	t.Helper()
	u, err := url.Parse(ws)
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + u.Host
}

// userPages opens tabs as the user of the browser, and reports when their scripts run. A paused tab
// may request its document, but runs no scripts.
type userPages struct {
	t       *testing.T
	address string // HTTP address of the browser
	site    string
	loaded  chan string
	openNow chan struct{} // closed when the page /opener opens its popup window
}

// popupScripts are the scripts with which the page /opener opens a popup window
// or a tab. The browser needs --disable-popup-blocking.
var popupScripts = map[string]string{
	"window.open":             `open("/popup")`,
	"window.open, noopener":   `open("/popup", "", "noopener")`,
	"window.open with a size": `open("/popup", "", "width=300")`,
	"link with an opener":     `a.rel = "opener"; a.click()`,
	"link without an opener":  `a.click()`,
	"link with Ctrl+click":    `a.target = ""; a.dispatchEvent(new MouseEvent("click", {ctrlKey: true, bubbles: true, cancelable: true}))`,
}

func newUserPages(t *testing.T, ws string) *userPages {
	t.Helper()
	c := &userPages{t: t, address: httpAddress(t, ws), loaded: make(chan string, 8), openNow: make(chan struct{})}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			c.loaded <- r.URL.Path
			return
		}
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/wait":
			select {
			case <-c.openNow:
			case <-r.Context().Done():
			}
		case "/opener":
			fmt.Fprintf(w, `<link rel=icon href=data:,><a id=a target=_blank href=/popup></a><script>(async () => {
				await fetch("/ready", {method: "POST"}); await fetch("/wait");
				await fetch("/opens", {method: "POST"}); %s; fetch("/opened", {method: "POST"}); })()</script>`, popupScripts[r.URL.Query().Get("way")])
		default:
			fmt.Fprint(w, "<link rel=icon href=data:,><script>fetch('', {method: 'POST'});</script>")
		}
	}))
	t.Cleanup(srv.Close)
	c.site = srv.URL
	return c
}

// open opens a tab without waiting for it to load. end closes the tab.
func (c *userPages) open(path string) (end func()) {
	c.t.Helper()
	req, err := http.NewRequest(http.MethodPut, c.address+"/json/new?"+url.QueryEscape(c.site+path), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var tab struct {
		ID string `json:"id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&tab); err != nil {
		c.t.Fatal(err)
	}
	return func() {
		res, err := http.Get(c.address + "/json/close/" + tab.ID)
		if err != nil {
			c.t.Fatal(err)
		}
		res.Body.Close()
	}
}

// count returns the number of tabs of the browser.
func (c *userPages) count() int {
	c.t.Helper()
	res, err := http.Get(c.address + "/json/list")
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var tabs []struct{ Type string }
	if err := json.NewDecoder(res.Body).Decode(&tabs); err != nil {
		c.t.Fatal(err)
	}
	n := 0
	for _, tab := range tabs {
		if tab.Type == "page" {
			n++
		}
	}
	return n
}

func (c *userPages) await(ctx context.Context) {
	c.t.Helper()
	select {
	case <-c.loaded:
	case <-ctx.Done():
		c.t.Fatal("the user's tab does not load")
	}
}

// openOpener opens a page of the user that opens a popup window with the given script after openNow
// is closed.
func (c *userPages) openOpener(ctx context.Context, way string) {
	c.t.Helper()
	c.open("/opener?way=" + url.QueryEscape(way))
	c.awaitPaths(ctx, "/ready")
}

// awaitPaths waits until scripts have reported these paths, in any order.
func (c *userPages) awaitPaths(ctx context.Context, paths ...string) {
	c.t.Helper()
	for len(paths) > 0 {
		select {
		case path := <-c.loaded:
			i := slices.Index(paths, path)
			if i < 0 {
				c.t.Fatalf("a script reports %s, want one of %v", path, paths)
			}
			paths = slices.Delete(paths, i, i+1)
		case <-ctx.Done():
			c.t.Fatalf("no script reports %v", paths)
		}
	}
}

// TestAttachedUserPopups opens popup windows from pages of the user while we are
// attached. They and their openers run, and we keep no CDP session for them.
func TestAttachedUserPopups(t *testing.T) {
	_, address := startForeignShell(t, t.TempDir(), "--disable-popup-blocking")
	o := fullOptions(t)
	o.CDPEndpoint = address
	b := newBrowser(t, o)
	if _, err := (sessionProvider{b}).Acquire(await.Context(t)); err != nil {
		t.Fatal(err)
	}
	for way := range popupScripts {
		t.Run(way, func(t *testing.T) {
			ctx := await.Context(t)
			users := newUserPages(t, address)
			users.openOpener(ctx, way)
			close(users.openNow)
			users.awaitPaths(ctx, "/opens", "/opened", "/popup")
			in := running(b)
			var list struct {
				Targets []*target.Info `json:"targetInfos"`
			}
			await.Until(t, "our detachment from the user's tabs", func() bool {
				err := in.conn.BrowserSession().Call(ctx, "Target.getTargets", map[string]any{"filter": pageTargets}, &list)
				return err == nil && !slices.ContainsFunc(list.Targets, func(i *target.Info) bool { return i.Attached })
			})
			if tabs := in.Tabs(); len(tabs) != 0 {
				t.Errorf("%d tabs of the user are in scope", len(tabs))
			}
		})
	}
}

const (
	// lag is the maximum delay that we may add to a user's tab.
	lag = 20 * time.Millisecond
	// lagPairs is the number of tabs opened while attached, and while detached.
	lagPairs = 25
)

// TestAttachedEarlyDialog attaches to a browser in which a page has already
// opened a dialog. The dialog is reported immediately and can be dismissed, and
// then the page continues.
func TestAttachedEarlyDialog(t *testing.T) {
	reported := make(chan string, 8)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/dialog":
			fmt.Fprint(w, `<link rel=icon href=data:,><title>Early</title><p>The page</p><script>
				setTimeout(() => { fetch("/opens"); const answer = confirm("Really?"); fetch("/answered-" + answer); }, 50)</script>`)
		default:
			reported <- r.URL.Path
		}
	}))
	t.Cleanup(site.Close)
	ctx := await.Context(t)
	wait := func(want string) {
		t.Helper()
		select {
		case path := <-reported:
			if path != want {
				t.Errorf("the page reports %s, want %s", path, want)
			}
		case <-ctx.Done():
			t.Fatalf("the page does not report %s", want)
		}
	}
	_, address := startForeign(t, t.TempDir())
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, httpAddress(t, address)+"/json/new?"+site.URL+"/dialog", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	wait("/opens")
	o := fullOptions(t)
	o.timing.EarlyDialog = timing.Default().EarlyDialog // the page exceeds it
	o.CDPEndpoint, o.AttachDefaultContext = address, true
	s := newSession(t, newBrowser(t, o))
	tabs, err := s.Tabs(ctx) // the dialog is open
	i := slices.IndexFunc(tabs, func(tab executor.Tab) bool { return tab.URL == site.URL+"/dialog" })
	if err != nil || i < 0 || !strings.Contains(tabs[i].Note, "dialog") {
		t.Fatalf("the list has %+v, %v", tabs, err)
	}
	id := tabs[i].ID
	if _, err := pagetest.Of(s, id).Snapshot(ctx, nil); executor.CodeOf(err) != executor.ErrDialogOpen {
		t.Errorf("a snapshot: %v, want ErrDialogOpen", err)
	}
	if _, err := pagetest.Of(s, id).HandleDialog(ctx, &executor.DialogAnswer{Accept: true}); executor.CodeOf(err) != executor.ErrDialogOpen {
		t.Errorf("accepting: %v, want ErrDialogOpen", err)
	}
	d, err := pagetest.Of(s, id).HandleDialog(ctx, &executor.DialogAnswer{})
	if err != nil || d.Type != executor.DialogUnknown || !d.Handled {
		t.Fatalf("dismissing: %+v, %v", d, err)
	}
	wait("/answered-false")
	if text, err := pagetest.Of(s, id).Text(ctx, nil); err != nil || !strings.Contains(text.Content, "The page") {
		t.Errorf("the text after it: %+v, %v", text, err)
	}
	if tabs, err := s.Tabs(ctx); err != nil || tabs[i].Note != "" || tabs[i].Title != "Early" {
		t.Errorf("the list after it: %+v, %v", tabs, err)
	}
}

// TestAttachedUserTabDelay measures the delay of a user's new tab in a browser
// that we are attached to. Attached and detached runs alternate, so that both see
// the same load. A delay that we cause shows in the fastest tenth and in the median.
func TestAttachedUserTabDelay(t *testing.T) {
	tier.Deep(t)
	ctx := await.Context(t)
	_, address := startForeign(t, t.TempDir())
	users := newUserPages(t, address)
	o := fullOptions(t)
	o.CDPEndpoint, o.Network = address, hosts{"127.0.0.1"}
	b := newBrowser(t, o)
	if _, err := (sessionProvider{b}).Acquire(ctx); err != nil {
		t.Fatal(err)
	}
	in := running(b)
	load := func(attached bool) time.Duration {
		if attached {
			p, err := autoAttach(ctx, in.conn)
			if err == nil {
				err = p.Wait(ctx, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		} else if err := in.conn.BrowserSession().Call(ctx, "Target.setAutoAttach", map[string]any{"autoAttach": false, "waitForDebuggerOnStart": false, "flatten": true}, nil); err != nil {
			t.Fatal(err)
		}
		if err := in.Ping(ctx); err != nil { // wait until the command has taken effect
			t.Fatal(err)
		}
		start := time.Now()
		end := users.open("/")
		users.await(ctx)
		took := time.Since(start)
		end()
		return took
	}
	load(false) // the first one starts shared browser processes
	var with, without []time.Duration
	for range lagPairs {
		with, without = append(with, load(true)), append(without, load(false))
	}
	slices.Sort(with)
	slices.Sort(without)
	q, half := lagPairs/10, lagPairs/2
	t.Logf("lowest tenth %v attached and %v not, median %v and %v", with[q], without[q], with[half], without[half])
	if more := min(with[q]-without[q], with[half]-without[half]); more > lag {
		t.Errorf("the user's tabs load %v later, want %v at most", more, lag)
	}
	if tabs := in.Tabs(); len(tabs) != 0 {
		t.Errorf("%d tabs of the user are in scope", len(tabs))
	}
}
