package extension

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	extfiles "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A policyEnv is a user's browser, a backend and a guarded session, with a policy that allows all
// ports of 127.0.0.1.
type policyEnv struct {
	b       *Backend
	session executor.Executor
	guard   *policy.Guard
}

func newPolicyEnv(t *testing.T, opts userBrowserOptions) *policyEnv {
	t.Helper()
	p, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true, Downloads: true, Subresources: policy.SubresourcesPublic})
	if err != nil {
		t.Fatal(err)
	}
	g := &policyEnv{guard: policy.NewGuard(p, nil)}
	data := filepath.Join(t.TempDir(), "data")
	server, err := bridge.New(&bridge.Options{
		DataDir: data, ExtensionID: extfiles.ID(), Port: bridge.AnyPort, Name: "test",
		Policy: func() bridge.Policy {
			c := p.Config()
			return bridge.Policy{Allow: c.AllowDomains, Subresources: string(c.Subresources), OwnPorts: c.OwnPorts}
		},
	})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	newUserBrowser(t, data, opts)
	g.b = newBackend(t, server, func(o *Options) { o.Network = g.guard.Network() })
	waitConnected(t, g.b)
	if g.session, err = g.b.NewSession(&executor.SessionOptions{Gate: g.guard}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.session.Close() })
	return g
}

// newSession returns a session whose gate allows everything.
func (e *policyEnv) newSession(t *testing.T) executor.Executor {
	t.Helper()
	s, err := e.b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestBlankPopup checks that a blank popup window does not count as our own tab.
func TestBlankPopup(t *testing.T) {
	g := newPolicyEnv(t, userBrowserOptions{flags: []string{"--disable-popup-blocking"}})
	executortest.BlankPopup(t, g.session, g.newSession(t))
}

// TestProxyAccess downloads a file by URL, which starts the egress proxy. No other
// program can use the proxy, and no page reaches its port.
func TestProxyAccess(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<!doctype html><title>fine</title><p>here</p>"))
	}))
	t.Cleanup(site.Close)
	g := newPolicyEnv(t, userBrowserOptions{})
	ctx := t.Context()
	_, tab, err := g.session.NewPage(ctx, &executor.NewPageOptions{URL: site.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pagetest.Of(g.session, tab.ID).Download(ctx, &executor.DownloadOptions{URL: site.URL + "/file.txt"}); err != nil {
		t.Fatal(err)
	}
	proxy, err := g.b.proxy()
	if err != nil {
		t.Fatal(err)
	}
	other := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy.Addr()}), DisableKeepAlives: true}}
	res, err := other.Get(strings.Replace(site.URL, "127.0.0.1", "proxied.test", 1))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("another program received status %s", res.Status)
	}
	// The gate of this session allows everything: the extension denies the URL.
	if _, nav, err := g.newSession(t).NewPage(ctx, &executor.NewPageOptions{URL: "http://" + proxy.Addr() + "/"}); !errors.Is(err, executor.ErrPolicyDenied) || !strings.Contains(err.Error(), "own") {
		t.Errorf("opening the proxy's port: %+v, %v", nav, err)
	}
}
