package policy

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]string{
		"http://localhost:8080":                  "http://localhost:8080/",
		"https://example.com":                    "https://example.com/",
		"https://example.com?q=1":                "https://example.com/?q=1",
		"https://example.com#x":                  "https://example.com/#x",
		"https://example.com/#":                  "https://example.com/#",
		"https://example.com/?":                  "https://example.com/?",
		"https://example.com/a/b.html?c=d&e#f/g": "https://example.com/a/b.html?c=d&e#f/g",
		"https://example.com:8443/":              "https://example.com:8443/",
		"http://127.0.0.1:1/":                    "http://127.0.0.1:1/",
		"http://[::1]:3000/":                     "http://[::1]:3000/",
		"https://a_b.example.com/%20//x":         "https://a_b.example.com/%20//x",
		"https://example.com/?u=http://x@y/":     "https://example.com/?u=http://x@y/",
		"about:blank":                            "about:blank",
	} {
		u, err := ParseURL(raw)
		if err != nil || u.String() != want {
			t.Errorf("ParseURL(%q) = %v, %v, want %q", raw, u, err, want)
		}
	}
	u := mustURL(t, "http://[::1]:3000/x")
	if u.Host() != "[::1]" || u.Port() != 3000 || u.Origin() != "http://[::1]:3000" || u.IsBlank() {
		t.Errorf("%q %d %q", u.Host(), u.Port(), u.Origin())
	}
	if u := mustURL(t, "about:blank"); u.Origin() != executor.OriginInternal || !u.IsBlank() {
		t.Error("about:blank does not have the internal origin")
	}
}

// traps are URLs that parsers read differently, or that hide their host.
var traps = []string{
	"", " ", "example.com", "localhost:8080", "127.0.0.1:80/", "//example.com/", "/x", "?x", "http:", "http:/", "http://", "http:///", "https:example.com",
	"http:/example.com", "HTTP://example.com/", "https://Example.com/", "https://example.com./", "https://.example.com/", "https://a..b/",
	"http://0xA9FEA9FE/", "http://0xa9fea9fe/", "http://127.1/", "http://2130706433/", "http://017700000001/", "http://127.0.0.1./", "http://1.2.3/",
	"http://127.0.0.01/", "http://0/", "http://0x/", "http://256.1.1.1/", "http://1.1.1.1.1/", "http://a.0x1/", "http://a.1/",
	"http://a@b/", "http://a:b@c/", "http://@b/", "http://a\\@b/", "http://a\\b/", "http://allowed.com\\.evil.com/", "http:\\\\evil.com/", "http://a%40b/", "http://ex%61mple.com/",
	"http://%31%32%37.0.0.1/", "http://exa mple.com/", " http://example.com/", "http://example.com/ ", "http://exam\tple.com/", "http://example.com/\n", "http://example.com/\x00",
	"http://example。com/", "http://ｅxample.com/", "http://①②⑦.0.0.1/", "http://bücher.example/", "http://exam\u00adple.com/", "http://xn--a/", "http://xn--/",
	"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::1%25lo]/", "http://[::1]x/", "http://[::1/", "http://::1/", "http://[127.0.0.1]/",
	"http://[0::1]/", "http://[::1]]/", "http://[[::1]/", "http://[FE80::1]/",
	"https://example.com:/", "https://example.com:443/", "http://example.com:80/", "https://example.com:0/", "https://example.com:08443/", "https://example.com:65536/",
	"https://example.com:8a/", "https://example.com:-1/", "https://a:b:c/", "https://example.com:8443:9/",
	"https://example.com/a/../b", "https://example.com/./", "https://example.com/%2e%2e/x", "https://example.com/.%2E", "https://example.com/a b", "https://example.com/<x>",
	"https://example.com/?q='", `https://example.com/?q="`, "https://example.com/?q=ü", "https://example.com/a|b", "https://example.com/%zz", "https://example.com/a\\b", "https://example.com/?a\\b",
	"https://*.example.com/", "https://exa$mple.com/", "https://exa!mple.com/", "https://a,b/", "https://<x>/",
	"https://" + strings.Repeat("a", 64) + ".com/", "https://example.com/" + strings.Repeat("a", maxURL),
}

func TestParseURLRejects(t *testing.T) {
	for _, raw := range traps {
		u, err := ParseURL(raw)
		if !errors.Is(err, executor.ErrBadArgs) {
			t.Errorf("ParseURL(%.80q) = %v, %v, want BAD_ARGS", raw, u, err)
		}
	}
	for _, raw := range []string{"javascript:alert(1)", "file:///etc/passwd", "chrome://settings", "devtools://x", "chrome-extension://abc/x.html",
		"view-source:https://example.com/", "data:text/html,x", "blob:https://example.com/x", "filesystem:https://example.com/x", "about:srcdoc",
		"about:blank#x", "ftp://example.com/", "ws://example.com/", "JavaScript:alert(1)", "mailto:a@b", "tel:5551234567", "sms:911"} {
		if u, err := ParseURL(raw); !errors.Is(err, executor.ErrPolicyDenied) {
			t.Errorf("ParseURL(%q) = %v, %v, want POLICY_DENIED", raw, u, err)
		}
	}
}

// TestParseURLErrorText checks that the text of an error is not used as a format.
func TestParseURLErrorText(t *testing.T) {
	if _, err := ParseURL("http://localhost%2e:7401/"); err == nil || !strings.Contains(err.Error(), "url has a % in its host") {
		t.Errorf("got %v", err)
	}
}

func FuzzURL(f *testing.F) {
	for _, s := range traps {
		if len(s) < 1000 {
			f.Add(s)
		}
	}
	f.Add("https://example.com/a?b#c")
	f.Add("http://localhost:8080")
	f.Add("https://sub.example.com:8443/x")
	f.Add("http://[::1]:3000/")
	p, err := New(Config{AllowDomains: []string{"example.com", "sub.example.com:*", "localhost", "127.0.0.1", "[::1]"}})
	if err != nil {
		f.Fatal(err)
	}
	hosts := map[string]bool{"example.com": true, "sub.example.com": true, "localhost": true, "127.0.0.1": true, "[::1]": true}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := ParseURL(raw)
		if err != nil {
			if c := executor.CodeOf(err); c != executor.ErrBadArgs && c != executor.ErrPolicyDenied {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		again, err := ParseURL(u.String())
		if err != nil || *again != *u {
			t.Fatalf("%q parsed again: %v, %v", u, again, err)
		}
		if u.String() != raw && strings.Replace(u.String(), "/", "", 1) != strings.Replace(raw, "/", "", 1) {
			if i := strings.Index(u.String()[8:], "/") + 8; u.String()[:i]+u.String()[i+1:] != raw {
				t.Fatalf("%q was changed to %q by more than the root slash", raw, u)
			}
		}
		if u.IsBlank() {
			return
		}
		std, err := url.Parse(u.String())
		if err != nil || (std.Hostname() != strings.Trim(u.Host(), "[]")) {
			t.Fatalf("%q: net/url returns host %q, ParseURL %q", raw, std.Hostname(), u.Host())
		}
		canonical, err := p.CheckURL(raw)
		if err == nil && (canonical != u.String() || !hosts[u.Host()]) {
			t.Fatalf("%q was allowed as %q", raw, canonical)
		}
		if err != nil && !errors.Is(err, executor.ErrPolicyDenied) {
			t.Fatalf("%q: %v", raw, err)
		}
		if err == nil && p.CheckHost(u.site.scheme, u.Host(), u.Port()) != nil {
			t.Fatalf("%q is allowed, but its host is denied", raw)
		}
	})
}
