package chromium

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestLoginAdviceHeadless checks that the advice on a page that requires a login does not send the
// user to a browser that has no window.
func TestLoginAdviceHeadless(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/basic" {
			w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte("<title>Shop</title><h1>Unauthorized</h1>"))
	}))
	t.Cleanup(site.Close)
	s := newSession(t, newBrowser(t, testOptions(t)))
	check := func(what string, o *executor.Obstacle) {
		t.Helper()
		if o == nil || o.Kind != executor.ObstacleLogin || !strings.Contains(o.Advice, "no window") || strings.Contains(o.Advice, "in the browser") {
			t.Errorf("%s: obstacle %+v", what, o)
		}
	}
	for _, path := range []string{"/page", "/basic"} {
		n, err := s.Navigate(t.Context(), site.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n.HTTPStatus != http.StatusUnauthorized {
			t.Errorf("%s: status %d", path, n.HTTPStatus)
		}
		check(path, n.Obstacle)
		snap, err := pagetest.Of(s, "").Snapshot(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		check("a snapshot of "+path, snap.Obstacle)
	}
}
