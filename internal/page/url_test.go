package page

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestCheckURL(t *testing.T) {
	for _, ok := range []string{
		"https://a.test", "HTTP://a.test/x", "http://127.0.0.1:80/?q#f", "http://[::1]/", "about:blank",
		"data:text/html,x", "file:///etc/hosts", "chrome://version", // the gate decides whether these are allowed
	} {
		if err := checkURL(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{
		"", "a.test", "/path", "//a.test", "http://", "https:///x", "http:a.test", "?q", "#f",
		" https://a.test", "ht tp://a.test", "https://a.test:x/", "https://[::1/", "%zz",
		"javascript:alert(1)", "JavaScript:alert(1)", "java\nscript:alert(1)", "\tjavascript:alert(1)", " javascript:alert(1)", "\x01javascript:alert(1)",
	} {
		if err := checkURL(bad); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("%q: %v, want ErrBadArgs", bad, err)
		}
	}
}

// TestHostOf checks that messages contain the host of a URL and no other part of it.
func TestHostOf(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:secret@a.test:8443/p?token=x#y": "a.test:8443",
		"http://[::1]:80/":                            "[::1]:80",
		"about:blank":                                 "the page",
		"data:text/html,secret":                       "the page",
		"https://a.test:x/secret":                     "the page",
		"":                                            "the page",
	} {
		if got := hostOf(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
