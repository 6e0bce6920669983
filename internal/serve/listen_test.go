package serve

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/policy"
)

func TestOwnHosts(t *testing.T) {
	public := &url.URL{Scheme: "https", Host: "chrome.example.com"}
	for listener, want := range map[string][]string{
		"http://127.0.0.1:8931":     {"chrome.example.com"},
		"https://192.0.2.1:8931":    {"chrome.example.com", "192.0.2.1"},
		"https://[2001:db8::1]:443": {"chrome.example.com", "[2001:db8::1]"},
	} {
		if got := ownHosts(listener, public); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", listener, got, want)
		}
	}
	if _, err := policy.New(policy.Config{BlockDomains: ownHosts("https://[2001:db8::1]:443", public)}); err != nil {
		t.Error(err)
	}
	for _, host := range ownHosts("https://0.0.0.0:443", nil) {
		if ip := net.ParseIP(strings.Trim(host, "[]")); ip == nil || ip.IsLoopback() {
			t.Errorf("host %s", host)
		}
	}
}
