// Package pagesite is a site with pages that can, and that cannot, be read without a browser.
package pagesite

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A Site serves pages of many kinds and counts the requests for each path.
type Site struct {
	*httptest.Server
	mu   sync.Mutex
	hits map[string]int
}

// article is the main content of a page, long enough to be recognized.
var article = "<article><h1>Walnut lamps</h1>" + strings.Repeat("<p>A lamp of walnut has a warm light, and its cable is covered with linen, which is unusual.</p>", 12) + "</article>"

// New starts a site, until the end of the test.
func New(t *testing.T) *Site {
	s := &Site{hits: map[string]int{}}
	types := map[string]string{"/plain": "text/plain", "/image": "image/png", "/latin1": "text/html; charset=iso-8859-1", "/nonsense": "?", "/untyped": "", "/json": "application/json"}
	pages := map[string]string{
		"/article":     "<!doctype html><title>Lamps</title><script src=/x.js></script><nav><a href=/a>Menu</a></nav>" + article,
		"/static":      "<!doctype html><title>Short</title><p>One line. <a href=next>Next</a>",
		"/data":        `<!doctype html><script type="application/ld+json">{}</script><p>One line.`,
		"/app":         "<!doctype html><title>App</title><div id=root>Loading</div><script>document.getElementById('root').textContent = 'Rendered by ' + 'script'</script>",
		"/module":      "<!doctype html><p>Loading</p><script type=module src=/x.js></script>",
		"/meta":        "<!doctype html><meta HTTP-EQUIV=' Refresh ' content='0; url=/static'><p>One moment.",
		"/empty":       "<!doctype html><title>Nothing</title>",
		"/hidden":      "<!doctype html><p>Visible.</p><p style='display: none'>Invisible.</p><p hidden>Invisible.</p>",
		"/latin1":      "<!doctype html><p>caf\xe9",
		"/plain":       "# Not markdown\n\x1b[31mred\x1b[0m",
		"/image":       "PNG",
		"/json":        `{"a": 1}`,
		"/nonsense":    "<p>text",
		"/untyped":     "<p>text",
		"/secret/page": "<!doctype html><p>Secret",
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.hits[r.URL.Path]++
		s.mu.Unlock()
		if strings.HasPrefix(r.UserAgent(), "chrome-mcp/") && len(r.Header) > 3 { // with Accept and Accept-Encoding
			t.Errorf("%s has headers %v", r.URL.Path, r.Header)
		}
		switch path := r.URL.Path; {
		case path == "/negotiated" && strings.HasPrefix(r.Header.Get("Accept"), "text/markdown, "):
			w.Header().Set("Content-Type", "text/markdown")
			fmt.Fprint(w, "# Märkdown\n\nFrom the server.\n")
		case path == "/redirect":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		case path == "/badredirect":
			if to := r.URL.Query().Get("to"); to != "" {
				w.Header().Set("Location", to)
			}
			w.WriteHeader(http.StatusFound)
		case path == "/refresh":
			w.Header().Set("Refresh", "0; url=/static")
			fmt.Fprint(w, "<p>text")
		case path == "/attachment":
			w.Header().Set("Content-Disposition", "attachment")
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>text")
		case pages[path] != "":
			kind, ok := types[path]
			if !ok {
				kind = "text/html; charset=utf-8"
			}
			w.Header()["Content-Type"] = []string{kind}
			fmt.Fprint(w, pages[path])
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// Count returns the number of requests for a path.
func (s *Site) Count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[path]
}
