package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestIdleBrowser serves MCP with a browser that is closed soon after each call.
func TestIdleBrowser(t *testing.T) {
	tier.Browser(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "login", Value: "ann"})
		}
		cookie, _ := r.Cookie("login")
		fmt.Fprintf(w, "<title>page</title><p>cookie %v</p>", cookie)
	}))
	t.Cleanup(site.Close)
	s := startMCP(t, "--data", t.TempDir(), "--headless", "--isolated", "--prefer", "cdp", "--allow-domain", site.URL, "--idle-browser", "1ms")
	s.call(t, "navigate", map[string]any{"url": site.URL + "/login"}, "page")
	var text string
	await.Until(t, "the browser to be closed", func() bool {
		var failed bool
		var err error
		text, failed, err = s.try(t.Context(), "tabs_list", nil)
		if err != nil {
			t.Fatal(err)
		}
		return failed
	})
	wants(t, "the call after it", text, []string{"TARGET_GONE: ", "after 1ms without calls", "tab_new", `note: the closed tabs showed "` + site.URL + `/login"`})
	await.Until(t, "a page that keeps the cookie", func() bool { // the next browser can also be closed before a call ends
		_, failed, err := s.try(t.Context(), "navigate", map[string]any{"url": site.URL + "/"})
		if err != nil {
			t.Fatal(err)
		}
		if failed {
			return false
		}
		text, failed, err = s.try(t.Context(), "get_text", nil)
		return err == nil && !failed && strings.Contains(text, "cookie login=ann")
	})
}

// TestIdleBrowserFlag checks where the flag is not valid.
func TestIdleBrowserFlag(t *testing.T) {
	if _, err := cli.Parse([]string{"--idle-browser", "-1s"}, nil); err == nil || !strings.Contains(err.Error(), "--idle-browser: -1s is negative") {
		t.Error(err)
	}
	if out, err := newCommandLine(t).run("call", "tabs_list", "--idle-browser", "1h"); err == nil || !strings.Contains(out, "--idle-browser has no effect on call") {
		t.Error(out, err)
	}
}
