package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestUpstreamProxy checks that the browser's requests use the proxy that the environment names,
// including requests to hosts that only the proxy can resolve.
func TestUpstreamProxy(t *testing.T) {
	needChromium(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>By proxy</title><p>%s was loaded through the proxy", r.URL.Host)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	s := startMCP(t, "--headless", "--isolated", "--data", t.TempDir(), "--prefer", "cdp", "--allow-domain", "http://far.test", "--unsafe-all-domains")
	if !strings.Contains(s.client.InitializeResult().Instructions, "all public sites are allowed") {
		t.Error("the instructions do not state that all sites are allowed")
	}
	s.call(t, "navigate", map[string]any{"url": "http://far.test/"}, "By proxy")
	s.call(t, "get_text", nil, "far.test was loaded through the proxy")
	s.end(t)
}
