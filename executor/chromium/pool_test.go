package chromium

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// A poolSite is a server that two sessions with different policies use: one may load it as
// 127.0.0.1, the other as localhost.
type poolSite struct {
	*httptest.Server
	port string

	mu   sync.Mutex
	hits map[string]int // by host name and path
}

func newPoolSite(t *testing.T) *poolSite {
	s := &poolSite{hits: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		s.mu.Lock()
		s.hits[host+r.URL.Path]++
		s.mu.Unlock()
		switch r.URL.Path {
		case "/file":
			w.Header().Set("Content-Disposition", "attachment; filename="+host+".txt")
			fmt.Fprint(w, "content")
			return
		case "/auth":
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, "log in")
			return
		}
		fmt.Fprintf(w, "<title>%s</title><a id=file href=/file>file</a><a id=popup target=_blank href=/popup>popup</a><input id=field>", host)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.port = u.Port()
	return s
}

// on returns the URL of a path on a host.
func (s *poolSite) on(host, path string) string { return "http://" + host + ":" + s.port + path }

func (s *poolSite) count(host, path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[host+path]
}

// newPool returns a pool that is closed after the Backends that use it, and their data directory.
func newPool(t *testing.T) (p *Pool, dataDir string) {
	dataDir = t.TempDir() // removed last
	p = new(Pool)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing the pool: %v", err)
		}
	})
	return p, dataDir
}

// inPool returns a Backend in a pool whose pages may reach the given hosts.
func inPool(t *testing.T, p *Pool, dataDir string, allowed ...string) *Backend {
	o := testOptions(t)
	o.DataDir, o.Isolated, o.Pool, o.Network = dataDir, true, p, hosts(allowed)
	return newBrowser(t, o)
}

// eval returns the value of an expression in the page of the active tab.
func eval(t *testing.T, s executor.Executor, expression string) string {
	t.Helper()
	res, err := pagetest.Of(s, "").Eval(await.Context(t), expression, nil)
	if err != nil || !res.OK {
		t.Fatalf("%s: %+v, %v", expression, res, err)
	}
	return string(res.Value)
}

func mustNavigate(t *testing.T, s executor.Executor, url string) *executor.Navigation {
	t.Helper()
	nav, err := s.Navigate(await.Context(t), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return nav
}

// TestPoolIsolatesBackends uses one browser with two Backends whose policies allow different hosts.
func TestPoolIsolatesBackends(t *testing.T) {
	site := newPoolSite(t)
	p, dir := newPool(t)
	one, two, third := inPool(t, p, dir, "127.0.0.1"), inPool(t, p, dir, "localhost"), inPool(t, p, dir, "127.0.0.1")
	a, b, c := newSession(t, one), newSession(t, two), newSession(t, third)
	mustNavigate(t, a, site.on("127.0.0.1", "/"))
	mustNavigate(t, b, site.on("localhost", "/"))
	mustNavigate(t, c, site.on("127.0.0.1", "/"))
	if x, y := running(one).proc.PID, running(two).proc.PID; x != y {
		t.Errorf("the Backends use the processes %d and %d", x, y)
	}

	// Cookies, storage and tabs.
	eval(t, a, "document.cookie = 'secret=1; max-age=600', localStorage.secret = '1', 0")
	if got := eval(t, c, "document.cookie + localStorage.length"); got != `"0"` {
		t.Errorf("another context has %s", got)
	}
	for _, s := range []executor.Executor{a, b, c} {
		if tabs, err := s.Tabs(await.Context(t)); err != nil || len(tabs) != 1 {
			t.Errorf("tabs %+v, %v", tabs, err)
		}
	}

	// Documents and subresources obey the policy of their context.
	_, err := a.Navigate(await.Context(t), site.on("localhost", "/denied"), nil)
	wantCode(t, err, executor.ErrPolicyDenied)
	mustNavigate(t, a, site.on("127.0.0.1", "/"))
	for _, attack := range []string{
		"fetch('%s', {mode: 'no-cors'}).then(() => 'sent', (e) => String(e))",
		"new Promise((done) => { const i = new Image(); i.onload = i.onerror = () => done('image'); i.src = '%s' })",
		"new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done('frame'); f.src = '%s'; document.body.append(f) })",
		"new Promise((done) => { const w = new WebSocket('%s'.replace('http', 'ws')); w.onopen = w.onerror = () => done('socket') })",
		"(navigator.sendBeacon('%s'), 'beacon')",
	} {
		eval(t, a, fmt.Sprintf(attack, site.on("localhost", "/denied")))
	}
	eval(t, a, fmt.Sprintf("fetch('%s').then((r) => r.status)", site.on("127.0.0.1", "/allowed"))) // sent after the beacon
	if n := site.count("localhost", "/denied"); n != 0 {
		t.Errorf("%d requests to a host that another session may reach", n)
	}
	if n := site.count("127.0.0.1", "/allowed"); n != 1 {
		t.Errorf("%d requests to the allowed host", n)
	}
	if got := eval(t, b, fmt.Sprintf("fetch('%s').then((r) => r.status)", site.on("localhost", "/allowed"))); got != "200" {
		t.Errorf("the other session: %s", got)
	}

	// A server that asks for a password opens no dialog.
	nav := mustNavigate(t, b, site.on("localhost", "/auth"))
	if nav.HTTPStatus != http.StatusUnauthorized {
		t.Errorf("HTTP authentication: %+v", nav)
	}
	mustNavigate(t, b, site.on("localhost", "/"))

	// The clipboard is the browser's, so its keys are rejected, and pages cannot read it.
	copied := "(field.value = 'copied', field.select(), document.execCommand('copy'))"
	if _, err := pagetest.Of(a, "").Click(await.Context(t), executor.Selector("#field"), nil); err != nil {
		t.Fatal(err)
	}
	if got := eval(t, a, copied); got != "true" {
		t.Errorf("copy: %s", got)
	}
	for _, chord := range []string{"Control+V", "Shift+Insert", "Control+Shift+V", "Meta+V"} {
		_, err = pagetest.Of(b, "").Press(await.Context(t), chord, &executor.PressOptions{Target: executor.Selector("#field")})
		wantCode(t, err, executor.ErrNotActionable)
	}
	_, err = pagetest.Of(b, "").CDP(await.Context(t), "Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "commands": []string{"paste"}})
	wantCode(t, err, executor.ErrNotActionable)
	_, err = pagetest.Of(b, "").CDP(await.Context(t), "Input.dispatchKeyEvent", map[string]any{"type": "rawKeyDown", "code": "KeyB", "windowsVirtualKeyCode": 86, "modifiers": 2})
	wantCode(t, err, executor.ErrNotActionable)
	_, err = pagetest.Of(b, "").CDP(await.Context(t), "Target.getTargets", nil)
	wantCode(t, err, executor.ErrNotActionable)
	if _, err := pagetest.Of(b, "").Click(await.Context(t), executor.Selector("#field"), &executor.ClickOptions{Button: executor.ButtonMiddle}); err != nil {
		t.Fatal(err)
	}
	if got := eval(t, b, "[field.value, document.execCommand('paste'), field.value].join()"); got != `",false,"` {
		t.Errorf("pasted: %s", got)
	}
	if got := eval(t, b, "navigator.clipboard.readText().then((s) => 'read ' + s, () => 'rejected')"); got != `"rejected"` {
		t.Errorf("the clipboard of another session: %s", got)
	}

	// Downloads and popups belong to the session whose page started them.
	d, err := pagetest.Of(a, "").Download(await.Context(t), &executor.DownloadOptions{Target: executor.Selector("#file")})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(d.Path); err != nil || string(data) != "content" || !strings.Contains(d.Path, "127.0.0.1") {
		t.Errorf("download %+v: %q, %v", d, data, err)
	}
	if _, err := pagetest.Of(c, "").Click(await.Context(t), executor.Selector("#popup"), nil); err != nil {
		t.Fatal(err)
	}
	for s, want := range map[executor.Executor]int{a: 1, b: 1, c: 2} {
		if tabs, err := s.Tabs(await.Context(t)); err != nil || len(tabs) != want {
			t.Errorf("tabs %+v, %v, want %d", tabs, err, want)
		}
	}

	// The end of one Backend does not affect the others.
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if got := eval(t, b, "document.title"); got != `"localhost"` {
		t.Errorf("after the end of another Backend: %s", got)
	}
}

// TestPoolAfterCrash kills the browser of two Backends. The next call of each continues in another
// one.
func TestPoolAfterCrash(t *testing.T) {
	site := newPoolSite(t)
	p, dir := newPool(t)
	one, two := inPool(t, p, dir, "127.0.0.1"), inPool(t, p, dir, "localhost")
	a, b := newSession(t, one), newSession(t, two)
	mustNavigate(t, a, site.on("127.0.0.1", "/"))
	mustNavigate(t, b, site.on("localhost", "/"))
	in := running(one)
	process, err := os.FindProcess(in.proc.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-in.conn.Done()
	mustNavigate(t, a, site.on("127.0.0.1", "/"))
	mustNavigate(t, b, site.on("localhost", "/"))
	if x, y := running(one).proc.PID, running(two).proc.PID; x != y || x == in.proc.PID {
		t.Errorf("after the crash of %d, the Backends use the processes %d and %d", in.proc.PID, x, y)
	}
}

// TestPoolRetiresBrowser checks that a browser which responds, but did not close the browser
// context of a Backend, gets no further ones, and that its other Backends continue.
func TestPoolRetiresBrowser(t *testing.T) {
	site := newPoolSite(t)
	p, dir := newPool(t)
	one, two := inPool(t, p, dir, "127.0.0.1"), inPool(t, p, dir, "localhost")
	a, b := newSession(t, one), newSession(t, two)
	mustNavigate(t, a, site.on("127.0.0.1", "/"))
	mustNavigate(t, b, site.on("localhost", "/"))
	in := running(one)
	// Chromium rejects the second disposal of a context.
	if err := in.conn.BrowserSession().Call(await.Context(t), "Target.disposeBrowserContext", map[string]any{"browserContextId": in.contextID}, nil); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	three := inPool(t, p, dir, "127.0.0.1")
	mustNavigate(t, newSession(t, three), site.on("127.0.0.1", "/"))
	if x := running(three).proc.PID; x == in.proc.PID {
		t.Errorf("a new Backend uses the process %d", x)
	}
	mustNavigate(t, b, site.on("localhost", "/"))
	if x := running(two).proc.PID; x != in.proc.PID {
		t.Errorf("another Backend moved from process %d to %d", in.proc.PID, x)
	}
}

// TestPoolRequestsOfOtherPrograms checks that a request without credentials, which any program can
// send to the port of the proxies, does not change the error of a session's own request.
func TestPoolRequestsOfOtherPrograms(t *testing.T) {
	p, dir := newPool(t)
	const refused = "net::ERR_CONNECTION_REFUSED"
	b := inPool(t, p, dir, "127.0.0.1")
	session, host := newSession(t, b), ""
	await.Until(t, "a closed port", func() bool { // another program can get the port
		closed, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		host = closed.Addr().String()
		closed.Close()
		_, err = session.Navigate(await.Context(t), "http://"+host, nil)
		return err != nil && strings.Contains(err.Error(), refused)
	})
	in := running(b)
	other := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: in.pooled.port.Addr()}), DisableKeepAlives: true,
	}}
	resp, err := other.Get("http://" + host)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("the other program got %s", resp.Status)
	}
	if _, ok := in.proxy.Challenged(host); !ok {
		t.Error("the request of the other program is not recorded")
	}
	if err := in.networkError(host); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("after the request of another program: %v, want %s", err, refused)
	}
}

// TestPoolBoundsContexts opens more Backends than one browser has room for.
func TestPoolBoundsContexts(t *testing.T) {
	p, dir := newPool(t)
	var backends []*Backend
	for range maxContexts + 1 {
		backends = append(backends, inPool(t, p, dir, "127.0.0.1"))
	}
	var opening sync.WaitGroup
	var failed atomic.Int32
	for _, b := range backends {
		opening.Go(func() {
			if _, err := (sessionProvider{b}).Acquire(await.Context(t)); err != nil {
				t.Error(err)
				failed.Add(1)
			}
		})
	}
	opening.Wait()
	if failed.Load() > 0 {
		return
	}
	inProcess := map[int]int{}
	for _, b := range backends {
		inProcess[running(b).proc.PID]++
	}
	if len(inProcess) != 2 {
		t.Errorf("contexts by process: %v", inProcess)
	}
}

func TestPoolOptions(t *testing.T) {
	for _, o := range []Options{
		{Pool: new(Pool), Network: hosts{}},
		{Pool: new(Pool), Isolated: true},
		{Pool: new(Pool), Isolated: true, Network: hosts{}, CDPEndpoint: "http://127.0.0.1:9222"},
	} {
		_, err := New(&o)
		wantCode(t, err, executor.ErrBadArgs)
	}
}
