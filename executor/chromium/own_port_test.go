package chromium

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestProxyClosesItsOwnPort allows pages all ports of 127.0.0.1. They reach a server there, but not
// the proxy itself.
func TestProxyClosesItsOwnPort(t *testing.T) {
	rules, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "a page") }))
	defer site.Close()
	opts, err := Options{Network: rules, DataDir: t.TempDir()}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := startProxy(nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy.Addr(), User: proxy.Credentials()})}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, c := range []struct {
		address string
		denied  bool
	}{
		{site.URL, false},
		{"http://" + proxy.Addr() + "/", true},
	} {
		res, err := client.Get(c.address)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if reason := res.Header.Get(egress.DeniedHeader); (reason != "") != c.denied || (res.StatusCode == http.StatusOK) == c.denied {
			t.Errorf("%s: %s, denied %q, want denied %v", c.address, res.Status, reason, c.denied)
		}
	}
}

// TestPagesCannotReachDebuggingPort attaches to a browser on this machine, and allows pages all ports of
// it. They reach another server there, but not the debugging port, which lists the tabs of the user.
func TestPagesCannotReachDebuggingPort(t *testing.T) {
	rules, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1", "localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "a page") }))
	t.Cleanup(site.Close)
	_, address := startForeignShell(t, t.TempDir())
	debugging := httpAddress(t, address)
	for name, userTabs := range map[string]bool{"own context": false, "default context": true} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(t)
			o.CDPEndpoint, o.AttachDefaultContext, o.Network = address, userTabs, rules
			s := newSession(t, newBrowser(t, o))
			if _, _, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: site.URL + "/"}); err != nil {
				t.Fatal(err)
			}
			for _, url := range []string{debugging, strings.Replace(debugging, "127.0.0.1", "localhost", 1)} {
				_, _, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: url + "/json/list"})
				wantCode(t, err, executor.ErrPolicyDenied)
			}
		})
	}
}
