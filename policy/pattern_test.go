package policy

import (
	"strings"
	"testing"
)

func mustURL(t testing.TB, s string) *URL {
	t.Helper()
	u, err := ParseURL(s)
	if err != nil {
		t.Fatalf("ParseURL(%q): %v", s, err)
	}
	return u
}

func TestPatternMatch(t *testing.T) {
	tests := []struct {
		pattern, url   string
		allows, denies bool
	}{
		{"example.com", "https://example.com/", true, true},
		{"example.com", "https://example.com/a/b?c#d", true, true},
		{"example.com", "http://example.com/", false, true},
		{"example.com", "https://example.com:8443/", false, true},
		{"example.com", "https://www.example.com/", false, true},
		{"example.com", "https://badexample.com/", false, false},
		{"example.com", "https://example.com.evil.net/", false, false},
		{"http://example.com", "http://example.com/", true, true},
		{"http://example.com", "https://example.com/", false, true},
		{"https://example.com", "https://example.com/", true, true},
		{"example.com:8443", "https://example.com:8443/", true, true},
		{"example.com:8443", "http://example.com:8443/", false, true},
		{"example.com:8443", "https://example.com/", false, true},
		{"example.com:*", "https://example.com:8443/", true, true},
		{"example.com:*", "http://example.com:8443/", false, true},
		{"*.example.com", "https://a.example.com/", true, true},
		{"*.example.com", "https://a.b.example.com/", true, true},
		{"*.example.com", "https://example.com/", false, false},
		{"*.example.com", "https://aexample.com/", false, false},
		{"localhost", "http://localhost:3000/", true, true},
		{"localhost", "https://localhost/", true, true},
		{"localhost", "http://127.0.0.1/", false, false},
		{"localhost", "http://app.localhost/", false, true},
		{"*.localhost", "http://app.localhost:1/", true, true},
		{"localhost:*", "http://localhost:8080/", true, true},
		{"localhost:3000", "http://localhost:3001/", false, true},
		{"127.0.0.1:*", "http://127.0.0.1:8080/", true, true},
		{"127.0.0.1", "http://127.0.0.2:8080/", false, false},
		{"http://127.0.0.1", "https://127.0.0.1/", false, true},
		{"http://127.0.0.1", "http://127.0.0.1:99/", true, true},
		{"[::1]", "http://[::1]:8080/", true, true},
		{"[::1]:3000", "http://[::1]:8080/", false, true},
		{"10.0.0.1", "https://10.0.0.1/", true, true},
		{"10.0.0.1", "http://10.0.0.1/", false, true},
		{"intranet", "https://intranet/", true, true},
		{"*.internal", "https://wiki.internal/", true, true},
		{"xn--bcher-kva.example", "https://xn--bcher-kva.example/", true, true},
		// A path restricts only patterns of the block list.
		{"example.com/docs", "https://example.com/other", true, false},
		{"example.com/docs", "https://example.com/docs/x", true, true},
		{"example.com/docs", "http://sub.example.com:99/docs", false, true},
		{"example.com/docs", "https://example.com/DOCS", true, true},
		{"example.com/docs", "https://example.com//docs", true, true},
		{"example.com/docs", "https://example.com/%64ocs", true, true},
		{"example.com/docs", "https://example.com/%2564ocs", true, true},
		{"example.com/", "https://example.com/x", true, true},
	}
	for _, tt := range tests {
		p, err := ParsePattern(tt.pattern)
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", tt.pattern, err)
			continue
		}
		u := mustURL(t, tt.url)
		if got := p.Allows(u); got != tt.allows {
			t.Errorf("%s allows %s: %v", tt.pattern, tt.url, got)
		}
		if got := p.Denies(u); got != tt.denies {
			t.Errorf("%s denies %s: %v", tt.pattern, tt.url, got)
		}
	}
	if (Pattern{}).Allows(mustURL(t, "https://example.com")) || (Pattern{}).Denies(mustURL(t, "https://example.com")) {
		t.Error("the zero pattern matches")
	}
}

func TestPatternErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                        "empty",
		"*":                       "every host",
		"*:*":                     "every host",
		"*.com":                   "public suffix",
		"com":                     "public suffix",
		"*.co.uk":                 "public suffix",
		"*.github.io":             "public suffix",
		"github.io":               "public suffix",
		"*.newtld":                "public suffix",
		"http://*.org":            "public suffix",
		"foo*":                    "whole first label",
		"foo*.example.com":        "whole first label",
		"*foo.example.com":        "whole first label",
		"a.*.example.com":         "whole first label",
		"*.*.example.com":         "whole first label",
		"**.example.com":          "whole first label",
		"user@example.com":        "user name",
		"https://u:p@example.com": "user name",
		"example.com?x":           "query",
		"example.com/#x":          "fragment",
		"bücher.example":          "non-ASCII",
		"example。com":             "non-ASCII",
		"Example.com":             "upper-case",
		"example.com.":            "dot",
		".example.com":            "empty label",
		"a..example.com":          "empty label",
		"exa mple.com":            "space",
		" example.com":            "space",
		`example.com\x`:           "backslash",
		"ex%61mple.com":           "character",
		"example.com:":            "port",
		"example.com:0":           "port",
		"example.com:080":         "port",
		"example.com:70000":       "port",
		"ftp://example.com":       "scheme",
		"HTTP://example.com":      "scheme",
		"https://":                "missing",
		"file:///etc":             "scheme",
		"127.1":                   "IPv4",
		"0x7f.0.0.1":              "IPv4",
		"0xA9FEA9FE":              "upper-case",
		"0xa9fea9fe":              "IPv4",
		"2130706433":              "IPv4",
		"127.0.0.01":              "IPv4",
		"*.127.0.0.1":             "subdomains",
		"::1":                     "brackets",
		"[::1":                    "bracket",
		"[0:0:0:0:0:0:0:1]":       "IPv6",
		"[::ffff:127.0.0.1]":      "IPv4 address",
		"[fe80::1%eth0]":          "character",
		"xn--a.example":           "punycode",
		"example.com/a*":          "prefix",
		"example.com/a/../b":      "segment",
		"example.com/%61":         "%",
		strings.Repeat("a.", 130) + "example.com": "too long",
	} {
		_, err := ParsePattern(pattern)
		if err == nil {
			t.Errorf("ParsePattern(%q) was accepted", pattern)
			continue
		}
		if pattern != "[fe80::1%eth0]" && !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePattern(%q): %v, want something about %q", pattern, err, want)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"example.com", "*.example.com:*", "http://localhost:3000/a", "[::1]", "*.com", "0x7f.1", "a@b", "exa。mple.com", "[::ffff:127.0.0.1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePattern(s)
		if err != nil {
			return
		}
		if p.String() != s {
			t.Fatalf("%q became %q", s, p)
		}
		// The host of a pattern is a valid host of a URL.
		host := p.host
		if p.subdomains {
			host = "sub." + host
		}
		u, err := ParseURL("https://" + host)
		if err != nil {
			if len(host) > maxHost {
				return
			}
			t.Fatalf("%q is a pattern, but its host is invalid in a URL: %v", s, err)
		}
		if !p.denies(site{scheme: u.site.scheme, host: u.site.host, addr: u.site.addr, port: u.site.port}, true) {
			t.Fatalf("%q does not block its own host", s)
		}
	})
}
