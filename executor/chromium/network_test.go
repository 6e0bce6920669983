package chromium

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// hosts is a NetworkPolicy that allows some hosts on this machine.
type hosts []string

func (h hosts) CheckHost(_, host string, _ int) error {
	for _, x := range h {
		if x == host {
			return nil
		}
	}
	return errors.New(host + " is not on the list")
}

func (h hosts) CheckPath(string, string, int, string) error { return nil }

func (h hosts) CheckAddr(_ string, _ int, addr netip.Addr) error {
	if !addr.IsLoopback() {
		return errors.New("not on this machine")
	}
	return nil
}

func (h hosts) CheckDocument(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	return h.CheckHost("", u.Hostname(), 0)
}

// TestBrowserTrafficObeysNetworkPolicy checks that the browser uses the egress proxy: denied
// requests are not sent, and the error is a policy denial.
func TestBrowserTrafficObeysNetworkPolicy(t *testing.T) {
	ctx := await.Context(t)
	var hits atomic.Int32
	denied := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(denied.Close)
	deniedURL := strings.Replace(denied.URL, "127.0.0.1", "localhost", 1)
	allowed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, deniedURL+"/hop", http.StatusFound)
		case "/embeds":
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<title>embeds</title><img src=" + deniedURL + "/pixel><script>fetch('" + deniedURL + "/x').catch(() => document.title = 'refused')</script>"))
		default:
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<title>fine</title>"))
		}
	}))
	t.Cleanup(allowed.Close)
	o := fullOptions(t)
	o.Network = hosts{"127.0.0.1"}
	s := newSession(t, newBrowser(t, o))

	nav, err := s.Navigate(ctx, allowed.URL+"/", nil)
	if err != nil || nav.Title != "fine" || nav.HTTPStatus != 200 {
		t.Fatalf("the allowed page: %+v, %v", nav, err)
	}
	for _, url := range []string{deniedURL + "/direct", allowed.URL + "/redirect", strings.Replace(deniedURL, "http:", "https:", 1)} {
		_, err := s.Navigate(ctx, url, nil)
		wantCode(t, err, executor.ErrPolicyDenied)
		if err != nil && !strings.Contains(err.Error(), "localhost") {
			t.Errorf("error %q does not name the host", err)
		}
	}
	if _, err := s.Navigate(ctx, allowed.URL+"/embeds", nil); err != nil {
		t.Fatal(err)
	}
	if res, err := pagetest.Of(s, "").WaitFor(ctx, &executor.WaitCondition{Expression: "document.title == 'refused'", Timeout: await.HangLimit}); err != nil || !res.Matched {
		t.Errorf("a page's own request: %+v, %v", res, err)
	}
	// No server listens there any longer: the error is the network's, as without a proxy.
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	_, err = s.Navigate(ctx, gone.URL, nil)
	wantCode(t, err, executor.ErrNavigationFailed)
	if err != nil && !strings.Contains(err.Error(), "net::ERR_CONNECTION_REFUSED") {
		t.Errorf("error %q does not name the network's error", err)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("the denied server received %d requests", n)
	}
}

// TestProxyRequiresCredentials checks that other programs cannot use the egress proxy, and that
// browser requests that cannot answer a challenge pass: WebSockets of the page and of workers.
func TestProxyRequiresCredentials(t *testing.T) {
	ctx := await.Context(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/socket":
			if c, err := websocket.Accept(w, r, nil); err == nil {
				c.Write(r.Context(), websocket.MessageText, []byte("hello"))
				c.Close(websocket.StatusNormalClosure, "")
			}
		case "/worker.js":
			w.Header().Set("Content-Type", "text/javascript")
			w.Write([]byte(`const socket = new WebSocket("ws://" + location.host + "/socket"); socket.onmessage = (e) => postMessage(e.data); socket.onerror = () => postMessage("failed");`))
		default:
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte(`<title>-</title><script>
				const messages = [];
				const add = (e) => { messages.push(e.data); if (messages.length == 2) document.title = messages.join(", "); };
				const socket = new WebSocket("ws://" + location.host + "/socket");
				socket.onmessage = add; socket.onerror = () => add({data: "failed"});
				new Worker("/worker.js").onmessage = add;
			</script>`))
		}
	}))
	t.Cleanup(srv.Close)
	o := testOptions(t)
	o.Network = hosts{"127.0.0.1"}
	b := newBrowser(t, o)
	s := newSession(t, b)
	if _, err := s.Navigate(ctx, srv.URL, nil); err != nil {
		t.Fatal(err)
	}
	if res, err := pagetest.Of(s, "").WaitFor(ctx, &executor.WaitCondition{Expression: "document.title != '-'", Timeout: await.HangLimit}); err != nil || !res.Matched {
		t.Fatalf("the sockets of the page: %+v, %v", res, err)
	}
	if title, err := pagetest.Of(s, "").Eval(ctx, "document.title", nil); err != nil || string(title.Value) != `"hello, hello"` {
		t.Errorf("the sockets received %s, %v", title.Value, err)
	}
	proxy := running(b).proxy.Addr()
	c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}), DisableKeepAlives: true}}
	res, err := c.Get(strings.Replace(srv.URL, "127.0.0.1", "proxied.test", 1))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("another program received %s", res.Status)
	}
}

// TestRefusedDownloadLeavesNoFile checks that a page cannot start a download that no session
// allows.
func TestRefusedDownloadLeavesNoFile(t *testing.T) {
	ctx := await.Context(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/file" {
			w.Header().Set("Content-Disposition", "attachment; filename=secret.csv")
			w.Write([]byte("a,b\n"))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<a href=/file>Get it</a>"))
	}))
	t.Cleanup(srv.Close)
	o := testOptions(t)
	b := newBrowser(t, o)
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if a.Op == executor.OpDownload {
			return executor.ErrPolicyDenied
		}
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Navigate(ctx, srv.URL, nil); err != nil {
		t.Fatal(err)
	}
	a, err := pagetest.Of(s, "").Click(ctx, executor.Target{Selector: "a"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range a.Downloads {
		if d.State != "canceled" || d.Path != "" {
			t.Errorf("the click reports %+v", d)
		}
	}
	dir, err := running(b).Downloads()
	if err != nil {
		t.Fatal(err)
	}
	// A small file may exist before it is canceled.
	await.Until(t, "the removal of the files", func() bool { return len(filesBelow(t, dir.Path())) == 0 })
}

func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestPageForgetsNoCredentials checks that a server that responds like a proxy does not make the
// browser forget the proxy's credentials. Without them every call would fail.
func TestPageForgetsNoCredentials(t *testing.T) {
	ctx := await.Context(t)
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/proxy" {
			w.WriteHeader(http.StatusProxyAuthRequired)
		}
	}))
	t.Cleanup(hostile.Close)
	srv := pages(t)
	o := testOptions(t)
	o.Network = hosts{"127.0.0.1"}
	s := newSession(t, newBrowser(t, o))
	nav, err := s.Navigate(ctx, hostile.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := pagetest.Of(s, nav.TabID).Eval(ctx, "fetch('/proxy').then((r) => r.status, String)", nil)
	if err != nil || string(res.Value) != "502" {
		t.Errorf("the page has %+v, %v", res, err)
	}
	if _, err := pagetest.Of(s, nav.TabID).Navigate(ctx, srv.URL+"/first", nil); err != nil {
		t.Errorf("the next page: %v", err)
	}
}
