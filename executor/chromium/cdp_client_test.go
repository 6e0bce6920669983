package chromium

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// A testClient is a CDP client that stores the events it receives.
type testClient struct {
	t    testing.TB
	ctx  context.Context
	conn executor.CDPConn

	discard atomic.Bool // events are not stored

	mu      sync.Mutex // guards the fields below
	changed chan struct{}
	lastID  int64
	replies map[int64]executor.CDPMessage
	events  []executor.CDPMessage
	err     error // of Receive
}

// connectCDP connects a client to b. The client reads until it is closed.
func connectCDP(t testing.TB, ctx context.Context, b *Backend) *testClient {
	t.Helper()
	conn, err := b.ConnectCDP(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &testClient{t: t, ctx: ctx, conn: conn, changed: make(chan struct{}), replies: make(map[int64]executor.CDPMessage)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			m, err := conn.Receive(context.Background())
			c.mu.Lock()
			switch {
			case err != nil:
				c.err = err
			case m.Method != "" && !c.discard.Load():
				c.events = append(c.events, m)
			case m.Method == "":
				c.replies[m.ID] = m
			}
			close(c.changed)
			c.changed = make(chan struct{})
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-read
	})
	return c
}

// await waits until f returns true. It calls f with c.mu held.
func (c *testClient) await(what string, f func() bool) {
	c.t.Helper()
	for {
		c.mu.Lock()
		ok, changed, err := f(), c.changed, c.err
		c.mu.Unlock()
		switch {
		case ok:
			return
		case err != nil:
			c.t.Fatalf("waiting for %s: %v", what, err)
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			c.mu.Lock()
			for _, m := range c.events {
				c.t.Logf("%s %s %s", m.SessionID, m.Method, m.Params)
			}
			c.mu.Unlock()
			c.t.Fatalf("waiting for %s: %v", what, c.ctx.Err())
		}
	}
}

// send sends a command and returns its id.
func (c *testClient) send(session, method, params string) int64 {
	c.t.Helper()
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.mu.Unlock()
	if err := c.conn.Send(c.ctx, executor.CDPMessage{ID: id, SessionID: session, Method: method, Params: json.RawMessage(params)}); err != nil {
		c.t.Fatal(err)
	}
	return id
}

// try sends a command and returns its reply.
func (c *testClient) try(session, method, params string) (m executor.CDPMessage) {
	c.t.Helper()
	id := c.send(session, method, params)
	c.await(method, func() (ok bool) { m, ok = c.replies[id]; delete(c.replies, id); return ok })
	if m.SessionID != session {
		c.t.Errorf("%s: reply of session %q, want %q", method, m.SessionID, session)
	}
	return m
}

// call is try for a command that must succeed. It returns the member of the result.
func (c *testClient) call(session, method, params, member string) string {
	c.t.Helper()
	m := c.try(session, method, params)
	if m.Error != nil {
		c.t.Fatalf("%s: %+v", method, m.Error)
	}
	return memberOf(m.Result, member)
}

// memberOf returns a member of a JSON object, a string without quotes. A path has dots.
func memberOf(object json.RawMessage, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		var o map[string]json.RawMessage
		if json.Unmarshal(object, &o) != nil {
			return ""
		}
		object = o[name]
	}
	var s string
	if json.Unmarshal(object, &s) == nil {
		return s
	}
	return string(object)
}

// event waits for the first event of a method for which match, if not nil, returns true, and removes
// it.
func (c *testClient) event(method string, match func(executor.CDPMessage) bool) (found executor.CDPMessage) {
	c.t.Helper()
	c.await(method, func() bool {
		for i, m := range c.events {
			if m.Method == method && (match == nil || match(m)) {
				found = m
				c.events = append(c.events[:i:i], c.events[i+1:]...)
				return true
			}
		}
		return false
	})
	return found
}

// eval returns the JSON of the value of an expression in a page.
func (c *testClient) eval(session, expression string) string {
	c.t.Helper()
	params, _ := json.Marshal(map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	m := c.try(session, "Runtime.evaluate", string(params))
	if m.Error != nil || memberOf(m.Result, "exceptionDetails") != "" {
		c.t.Fatalf("%s: %s, %+v", expression, m.Result, m.Error)
	}
	return memberOf(m.Result, "result.value")
}

// open opens a page in a browser context ("" is the default one), lets it run, and returns its
// session and target.
func (c *testClient) open(browserContext, url string) (session, target string) {
	c.t.Helper()
	params := map[string]any{"url": url}
	if browserContext != "" {
		params["browserContextId"] = browserContext
	}
	raw, _ := json.Marshal(params)
	target = c.call("", "Target.createTarget", string(raw), "targetId")
	session = c.attach(target)
	return session, target
}

// attach attaches to a target without pausing it.
func (c *testClient) attach(target string) string {
	c.t.Helper()
	return c.call("", "Target.attachToTarget", fmt.Sprintf(`{"targetId":%q,"flatten":true}`, target), "sessionId")
}

// newContext creates a browser context.
func (c *testClient) newContext() string {
	c.t.Helper()
	return c.call("", "Target.createBrowserContext", `{"disposeOnDetach":true}`, "browserContextId")
}

// title waits until a page has a title.
func (c *testClient) title(session, want string) {
	c.t.Helper()
	for {
		if m := c.try(session, "Runtime.evaluate", `{"expression":"document.title"}`); memberOf(m.Result, "result.value") == want {
			return
		}
		if c.ctx.Err() != nil {
			c.t.Fatal(c.ctx.Err())
		}
	}
}

// sites serves an allowed site at 127.0.0.1 and a denied one at localhost. hits counts the requests
// to the denied site.
func sites(t testing.TB) (allowed, denied string, hits *atomic.Int32) {
	hits = new(atomic.Int32)
	out := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>denied</title>")
	}))
	t.Cleanup(out.Close)
	denied = strings.Replace(out.URL, "127.0.0.1", "localhost", 1)
	in := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/file":
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Disposition", "attachment; filename=a.txt")
			fmt.Fprint(w, "content")
		case "/frames":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>frames</title><iframe src=%s/frame></iframe><iframe src=/redirect></iframe><iframe src=/inner></iframe>", denied)
		case "/redirect":
			http.Redirect(w, r, denied+"/hop", http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>%s</title><a href=/file>File</a>", r.URL.Path[1:])
		}
	}))
	t.Cleanup(in.Close)
	return in.URL, denied, hits
}

// cdpBrowser returns a backend that accepts CDP clients, and that allows hosts.
func cdpBrowser(t *testing.T, allowed ...string) *Backend {
	o := fullOptions(t)
	o.CDPClients, o.Network = true, hosts(allowed)
	return newBrowser(t, o)
}

func TestConnectCDPOptions(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"not enabled": func(o *Options) { o.CDPClients = false },
		"pool":        func(o *Options) { o.Pool = new(Pool) },
		"attached":    func(o *Options) { o.CDPEndpoint = "http://127.0.0.1:1" },
	} {
		t.Run(name, func(t *testing.T) {
			o := fullOptions(t)
			o.CDPClients = true
			change(&o)
			b, err := New(&o)
			if err == nil {
				_, err = b.ConnectCDP(t.Context(), nil)
			}
			wantCode(t, err, executor.ErrBadArgs)
		})
	}
}

// TestCDPClients drives one browser with two CDP clients and a session: each sees the pages of the
// default context, separate enables, and requests intercepted by both.
func TestCDPClients(t *testing.T) {
	ctx := await.Context(t)
	site, _, _ := sites(t)
	b := cdpBrowser(t, "127.0.0.1")
	first, second := connectCDP(t, ctx, b), connectCDP(t, ctx, b)
	if v := first.call("", "Browser.getVersion", "", "product"); !strings.Contains(v, "Chrome") {
		t.Errorf("product %q", v)
	}
	if m := first.try("none", "Runtime.evaluate", "{}"); m.Error == nil || m.Error.Code != -32001 {
		t.Errorf("unknown session: %+v", m)
	}
	if m := first.try("", "Target.attachToTarget", `{"targetId":1}`); m.Error == nil || m.Error.Code != -32602 || m.Error.Data == "" {
		t.Errorf("invalid parameters: %+v", m.Error)
	}

	s := newSession(t, b)
	nav, err := s.Navigate(ctx, site+"/tab", nil)
	if err != nil {
		t.Fatal(err)
	}
	page1, target := first.open("", site+"/page")
	page2 := second.attach(target)
	first.title(page1, "page")
	for { // a client's page is listed when it is attached
		tabs, err := s.Tabs(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(tabs, func(tab executor.Tab) bool { return tab.URL == site+"/page" }) {
			break
		}
	}
	if title, err := pagetest.Of(s, nav.TabID).Eval(ctx, "document.title", nil); err != nil || string(title.Value) != `"tab"` {
		t.Errorf("the session's tab: %s, %v", title.Value, err)
	}

	// Only the first client enables Runtime.
	first.call(page1, "Runtime.enable", "", "")
	first.call(page1, "Runtime.evaluate", `{"expression":"console.log('hello')"}`, "")
	first.event("Runtime.consoleAPICalled", nil)
	second.eval(page2, "1")
	for _, m := range second.events {
		if strings.HasPrefix(m.Method, "Runtime.") {
			t.Errorf("the second client received %s", m.Method)
		}
	}

	// Both intercept the same request.
	for c, page := range map[*testClient]string{first: page1, second: page2} {
		c.call(page, "Fetch.enable", `{"patterns":[{"urlPattern":"*/intercepted"}]}`, "")
	}
	fetched := first.send(page1, "Runtime.evaluate", `{"expression":"fetch('/intercepted').then((r) => r.text())","awaitPromise":true}`)
	for i, c := range []*testClient{first, second} {
		page := []string{page1, page2}[i]
		go func() {
			e := c.event("Fetch.requestPaused", nil)
			c.send(page, "Fetch.continueRequest", fmt.Sprintf(`{"requestId":%q}`, memberOf(e.Params, "requestId")))
		}()
	}
	first.await("the fetch", func() bool { return strings.Contains(string(first.replies[fetched].Result), "intercepted") })

	// The interception of a client ends with it.
	second.conn.Close()
	fetched = first.send(page1, "Runtime.evaluate", `{"expression":"fetch('/intercepted').then((r) => r.text())","awaitPromise":true}`)
	e := first.event("Fetch.requestPaused", nil)
	first.send(page1, "Fetch.continueRequest", fmt.Sprintf(`{"requestId":%q}`, memberOf(e.Params, "requestId")))
	first.await("the fetch", func() bool { return strings.Contains(string(first.replies[fetched].Result), "intercepted") })
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := first.conn.Receive(ctx); executor.CodeOf(err) != executor.ErrTargetGone {
		t.Errorf("after the browser's exit: %v", err)
	}
}

// TestCDPClientContext checks pages in a browser context of a client: they reach only allowed hosts,
// the client does not see how they get the proxy's credentials, sessions do not see them, and they
// end with the client.
func TestCDPClientContext(t *testing.T) {
	ctx := await.Context(t)
	site, denied, hits := sites(t)
	b := cdpBrowser(t, "127.0.0.1")
	c, other := connectCDP(t, ctx, b), connectCDP(t, ctx, b)
	c.call("", "Target.setAutoAttach", `{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true}`, "")
	browserContext := c.newContext()
	var pages []string
	for i := range 2 {
		id := c.send("", "Target.createTarget", fmt.Sprintf(`{"url":"%s/page%d","browserContextId":%q}`, site, i, browserContext))
		e := c.event("Target.attachedToTarget", func(m executor.CDPMessage) bool {
			return memberOf(m.Params, "targetInfo.browserContextId") == browserContext
		})
		page := memberOf(e.Params, "sessionId")
		pages = append(pages, page)
		c.call(page, "Network.enable", "", "")
		c.call(page, "Runtime.runIfWaitingForDebugger", "", "")
		c.title(page, fmt.Sprintf("page%d", i))
		c.await("the reply", func() bool { return c.replies[id].Result != nil })
	}
	for _, m := range c.events {
		if m.Method == "Network.requestWillBeSent" && !strings.HasPrefix(memberOf(m.Params, "request.url"), site) {
			t.Errorf("request for %s", memberOf(m.Params, "request.url"))
		}
	}
	// A WebSocket cannot answer a challenge of the proxy.
	if got := c.eval(pages[0], `new Promise((done) => { const s = new WebSocket(location.origin.replace("http", "ws")); s.onerror = s.onclose = () => done("closed"); })`); got != "closed" {
		t.Error(got)
	}
	c.call(pages[0], "Page.navigate", fmt.Sprintf(`{"url":"%s/top"}`, denied), "")
	c.call(pages[1], "Page.navigate", fmt.Sprintf(`{"url":"%s/frames"}`, site), "")
	c.title(pages[1], "frames")
	c.eval(pages[1], "new Promise((done) => { if (document.readyState == 'complete') done(); else onload = done; }).then(() => 1)")
	tree := c.call(pages[1], "Page.getFrameTree", "", "frameTree.childFrames")
	if n := hits.Load(); n != 0 || !strings.Contains(tree, site+"/inner") || strings.Contains(tree, `"url":"`+denied) {
		t.Errorf("%d requests to the denied site, frames %s", n, tree)
	}
	popup := c.send(pages[1], "Runtime.evaluate", `{"expression":"window.open('/popup').closed","userGesture":true}`)
	e := c.event("Target.attachedToTarget", func(m executor.CDPMessage) bool { return memberOf(m.Params, "targetInfo.type") == "page" })
	opened := memberOf(e.Params, "sessionId")
	c.call(opened, "Runtime.runIfWaitingForDebugger", "", "")
	c.title(opened, "popup")
	c.await("the reply", func() bool { return c.replies[popup].Result != nil })

	s := newSession(t, b)
	if tabs, err := s.Tabs(ctx); err != nil || len(tabs) > 1 {
		t.Errorf("tabs %v, %v", tabs, err)
	}
	c.conn.Close()
	if targets := other.call("", "Target.getTargets", "", "targetInfos"); strings.Contains(targets, browserContext) {
		t.Errorf("left: %s", targets)
	}
	if ids := other.call("", "Target.getBrowserContexts", "", "browserContextIds"); ids != "[]" {
		t.Errorf("browser contexts %s are left", ids)
	}
	if n := len(running(b).clients.contextIDs()); n != 0 {
		t.Errorf("%d contexts are stored", n)
	}
}

// subresourceHosts is a NetworkPolicy that allows documents only from documents, and all other
// requests from hosts.
type subresourceHosts struct {
	hosts
	documents hosts
}

func (h subresourceHosts) CheckDocument(address string) error {
	return h.documents.CheckDocument(address)
}

// TestCDPClientFrames checks that documents of subframes are checked like those of tabs, even if
// the host is allowed for other requests.
func TestCDPClientFrames(t *testing.T) {
	ctx := await.Context(t)
	site, denied, hits := sites(t)
	o := fullOptions(t)
	o.CDPClients, o.Network = true, subresourceHosts{hosts{"127.0.0.1", "localhost"}, hosts{"127.0.0.1"}}
	b := newBrowser(t, o)
	s := newSession(t, b)
	nav, err := s.Navigate(ctx, site+"/frames", nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(frames string) {
		t.Helper()
		if strings.Contains(frames, `"url":"`+denied) || !strings.Contains(frames, "inner") || hits.Load() != 0 {
			t.Errorf("%d requests to the denied site, %s", hits.Load(), frames)
		}
	}
	frames, err := pagetest.Of(s, nav.TabID).CDP(ctx, "Page.getFrameTree", nil)
	if err != nil {
		t.Fatal(err)
	}
	check(string(frames))
	c := connectCDP(t, ctx, b)
	page, _ := c.open(c.newContext(), site+"/frames")
	c.title(page, "frames")
	c.eval(page, "new Promise((done) => { if (document.readyState == 'complete') done(); else onload = done; }).then(() => 1)")
	check(c.call(page, "Page.getFrameTree", "", "frameTree"))
}

// TestCDPClientPopup checks that a popup window runs only when all clients that wait for it have let
// it run, detached from it or ended, or after a limit.
func TestCDPClientPopup(t *testing.T) {
	const autoAttach = `{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true}`
	const resume = "Runtime.runIfWaitingForDebugger"
	var requests sync.Map // the number of requests by path
	count := func(path string) *atomic.Int32 {
		n, _ := requests.LoadOrStore(path, new(atomic.Int32))
		return n.(*atomic.Int32)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count(r.URL.Path).Add(1)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title>", r.URL.Path[1:])
	}))
	t.Cleanup(site.Close)
	o := fullOptions(t)
	o.CDPClients, o.Network = true, hosts{"127.0.0.1"}
	o.timing.PausedPopup = 10 * await.HangLimit // longer than the test
	b := newBrowser(t, o)
	for name, release := range map[string]func(c *testClient, popup string){
		"resumes": func(c *testClient, popup string) { c.call(popup, resume, "", "") },
		"detaches": func(c *testClient, popup string) {
			c.call("", "Target.detachFromTarget", fmt.Sprintf(`{"sessionId":%q}`, popup), "")
		},
		"ends":   func(c *testClient, _ string) { c.conn.Close() },
		"stalls": nil,
	} {
		t.Run(name, func(t *testing.T) {
			ctx := await.Context(t)
			first := connectCDP(t, ctx, b)
			if release == nil {
				running(b).conn.DelayPopupWindows(await.Soon)
				defer running(b).conn.DelayPopupWindows(o.timing.PausedPopup)
			}
			first.call("", "Target.setAutoAttach", autoAttach, "")
			contexts := []string{""}
			if name == "resumes" || tier.DeepEnabled() {
				contexts = append(contexts, first.newContext())
			}
			for i, browserContext := range contexts {
				path := fmt.Sprintf("/%s-%d", name, i)
				second := connectCDP(t, ctx, b)
				second.call("", "Target.setAutoAttach", autoAttach, "")
				page, target := first.open(browserContext, site.URL+"/page")
				first.title(page, "page")
				opened := first.send(page, "Runtime.evaluate", fmt.Sprintf(`{"expression":"window.open('%s').closed","userGesture":true}`, path))
				popup := func(c *testClient) string {
					return memberOf(c.event("Target.attachedToTarget", func(m executor.CDPMessage) bool {
						return memberOf(m.Params, "targetInfo.openerId") == target && memberOf(m.Params, "waitingForDebugger") == "true"
					}).Params, "sessionId")
				}
				popup1, popup2 := popup(first), popup(second)
				resumed := first.send(popup1, resume, "")
				if release != nil {
					// Another page is loaded in the meantime.
					other, _ := first.open(browserContext, site.URL+"/other")
					first.title(other, "other")
					if n := count(path).Load(); n != 0 {
						t.Errorf("context %q: %d requests before the second client let the popup window run", browserContext, n)
					}
					release(second, popup2)
				}
				first.await("the replies", func() bool { return first.replies[resumed].Result != nil && first.replies[opened].Result != nil })
				first.title(popup1, path[1:])
				if n := count(path).Load(); n != 1 {
					t.Errorf("context %q: %d requests, want 1", browserContext, n)
				}
				second.conn.Close()
			}
		})
	}
}

// TestUnreadableParams checks that a command whose parameters Chromium's parser cannot read fails, and that
// the other clients, the agent and the browser are not affected. The deepest parameters that are sent are
// readable.
func TestUnreadableParams(t *testing.T) {
	ctx := await.Context(t)
	site, _, _ := sites(t)
	b := cdpBrowser(t, "127.0.0.1")
	c, other := connectCDP(t, ctx, b), connectCDP(t, ctx, b)
	s := newSession(t, b)
	nav, err := s.Navigate(ctx, site+"/tab", nil)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := s.Page(ctx, nav.TabID)
	if err != nil {
		t.Fatal(err)
	}
	page, _ := c.open("", site+"/page")
	const evaluate = "Runtime.evaluate"
	nested := func(n int) string {
		return `{"expression":"1","a":` + strings.Repeat("[", n-1) + "1" + strings.Repeat("]", n-1) + "}"
	}
	for params, code := range map[string]int{
		nested(cdpconn.MaxDepth): 0, nested(cdpconn.MaxDepth + 1): executor.CDPParseError, nested(1000): executor.CDPParseError,
		`{"expression":"1","a":1.7976931348623157e308,"b":1e-999}`: 0, `{"expression":"1","timeout":1e999}`: executor.CDPParseError,
	} {
		m := c.try(page, evaluate, params)
		if got := m.Error; code == 0 && got != nil || code != 0 && (got == nil || got.Code != code) {
			t.Errorf("%.60s: %+v, want code %d", params, got, code)
		}
		_, err := tab.CDP(ctx, evaluate, json.RawMessage(params))
		if code == 0 && err != nil || code != 0 && executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("%.60s: agent: %v", params, err)
		}
	}
	if v := other.call("", "Browser.getVersion", "", "product"); !strings.Contains(v, "Chrome") {
		t.Errorf("product %q", v)
	}
}

// TestDisposeDuringNavigation disposes of a browser context while a navigation of its page commits.
// Chromium alone does not close the page, and does not reply.
func TestDisposeDuringNavigation(t *testing.T) {
	ctx := await.Context(t)
	leaving, next := make(chan struct{}), make(chan struct{})
	in := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/leaving":
			leaving <- struct{}{}
			return
		case "/next":
			next <- struct{}{}
			<-next
			fmt.Fprint(w, "next")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>page</title><script>addEventListener("pagehide", () => {
			navigator.sendBeacon("/leaving");
			for (const start = performance.now(); performance.now() < start + 200; );
		})</script>`)
	}))
	t.Cleanup(in.Close)
	c := connectCDP(t, ctx, cdpBrowser(t, "127.0.0.1"))
	browserContext := c.newContext()
	page, _ := c.open(browserContext, in.URL)
	c.title(page, "page")
	c.eval(page, `setTimeout(() => location = "/next")`)
	<-next
	next <- struct{}{}
	<-leaving
	c.call("", "Target.disposeBrowserContext", fmt.Sprintf(`{"browserContextId":%q}`, browserContext), "")
}
