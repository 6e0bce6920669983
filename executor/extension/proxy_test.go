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
	carried "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A guarded is a session in a user's browser under a policy that allows all ports
// of 127.0.0.1.
type guarded struct {
	b       *Backend
	session executor.Executor
	guard   *policy.Guard
}

func newGuarded(t *testing.T, opts userBrowserOptions) *guarded {
	t.Helper()
	p, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true, Downloads: true, Subresources: policy.SubresourcesPublic})
	if err != nil {
		t.Fatal(err)
	}
	g := &guarded{guard: policy.NewGuard(p, nil)}
	data := filepath.Join(t.TempDir(), "data")
	server, err := bridge.New(bridge.Options{
		DataDir: data, ExtensionID: carried.ID(), Port: bridge.AnyPort, Name: "test",
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
	if g.session, err = g.b.NewSession(executor.SessionOptions{Gate: g.guard}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.session.Close() })
	return g
}

// open returns a session whose gate allows everything.
func (g *guarded) open(t *testing.T) executor.Executor {
	t.Helper()
	s, err := g.b.NewSession(executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestBlankPopup checks that a blank popup window does not count as our own tab.
func TestBlankPopup(t *testing.T) {
	g := newGuarded(t, userBrowserOptions{flags: []string{"--disable-popup-blocking"}})
	executortest.BlankPopup(t, g.session, g.open(t))
}

// TestProxyAccess downloads a file by URL, which starts the egress proxy. No other
// program can use the proxy, and no page reaches its port.
func TestProxyAccess(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<!doctype html><title>fine</title><p>here</p>"))
	}))
	t.Cleanup(site.Close)
	g := newGuarded(t, userBrowserOptions{})
	ctx := t.Context()
	tab, err := g.session.NewTab(ctx, site.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.session.Download(ctx, tab.ID, executor.DownloadOptions{URL: site.URL + "/file.txt"}); err != nil {
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
	if nav, err := g.open(t).NewTab(ctx, "http://"+proxy.Addr()+"/", nil); !errors.Is(err, executor.ErrPolicyDenied) || !strings.Contains(err.Error(), "own") {
		t.Errorf("the proxy's port: %+v, %v", nav, err)
	}
}
