package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestGoesThroughTheUsersProxy: where the environment names a proxy, what the
// browser loads goes through it, names that only the proxy knows included.
func TestGoesThroughTheUsersProxy(t *testing.T) {
	needChromium(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>By proxy</title><p>%s came by the proxy", r.URL.Host)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	s := startMCP(t, "--headless", "--isolated", "--data", t.TempDir(), "--prefer", "cdp", "--allow-domain", "http://far.test", "--unsafe-all-domains")
	if !strings.Contains(s.client.InitializeResult().Instructions, "every public site is allowed") {
		t.Error("the instructions do not tell that all sites are allowed")
	}
	s.call(t, "navigate", map[string]any{"url": "http://far.test/"}, "By proxy")
	s.call(t, "get_text", nil, "far.test came by the proxy")
	s.end(t)
}
