package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// A loginSite is a site with login pages. It is on 127.0.0.1; under the name localhost, and on the
// port of other, it is other sites.
type loginSite struct {
	*httptest.Server
	other *httptest.Server

	mu       sync.Mutex                  // guards the fields below
	pages    map[string]string           // body of each page, by path
	received []string                    // path, query and body of each request
	hooks    map[string]http.HandlerFunc // handlers that replace pages, by path
}

// loginForm is the body of the page /login.
const loginForm = `<form method=post action=/session>
<input id=user name=user autocomplete=username>
<input id=password name=password type=password>
<input id=code name=code autocomplete=one-time-code>
<input id=comment name=comment>
<button>Sign in</button></form>`

func newLoginSite(t *testing.T) *loginSite {
	s := &loginSite{pages: map[string]string{"/login": loginForm}, hooks: map[string]http.HandlerFunc{}}
	for _, server := range []**httptest.Server{&s.Server, &s.other} {
		started := httptest.NewServer(s)
		*server = started
		t.Cleanup(func() {
			started.CloseClientConnections()
			started.Close()
		})
	}
	return s
}

// host returns the URL of the site under another host name, with the port of the server.
func (s *loginSite) host(name string) string {
	return strings.Replace(s.URL, "127.0.0.1", name, 1)
}

func (s *loginSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.received = append(s.received, r.Host+r.URL.RequestURI()+" "+string(body))
	page, found := s.pages[r.URL.Path]
	hook := s.hooks[r.URL.Path]
	s.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	if hook != nil {
		hook(w, r)
		return
	}
	if !found && r.Header.Get("Sec-Fetch-Dest") == "empty" { // a report. Actions would wait for a body that no script reads.
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html><title>%s</title>\n%s", strings.TrimPrefix(r.URL.Path, "/"), strings.NewReplacer(
		"$SITE", s.URL, "$OTHER", s.other.URL, "$LOCALHOST", s.host("localhost"), "$BODY", strings.NewReplacer("<", "&lt;", "&", "&amp;").Replace(string(body)),
	).Replace(page))
}

// page sets the body of a page. In it, $SITE, $OTHER and $LOCALHOST are the URLs of the sites, and
// $BODY is the body of the request.
func (s *loginSite) page(path, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = body
}

// handle sets the handler of a path.
func (s *loginSite) handle(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks[path] = h
}

// got reports whether a request contained text.
func (s *loginSite) got(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.received {
		if strings.Contains(r, text) {
			return true
		}
	}
	return false
}

// await waits until a request contains text.
func (s *loginSite) await(t *testing.T, text string) {
	t.Helper()
	await.Until(t, "a request with "+text, func() bool { return s.got(text) })
}
