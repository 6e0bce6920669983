package chromium

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestDeniedPage navigates a tab to a denied page and back.
func TestDeniedPage(t *testing.T) {
	out := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the denied site received a request for %s", r.URL.Path)
	}))
	t.Cleanup(out.Close)
	denied := strings.Replace(out.URL, "127.0.0.1", "localhost", 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirects" {
			http.Redirect(w, r, denied+"/hop", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>%s</title><a id=out href=%s/out>Out</a>", r.URL.Path, denied)
	}))
	t.Cleanup(site.Close)

	p, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true})
	if err != nil {
		t.Fatal(err)
	}
	guard := policy.NewGuard(p, nil)
	o := testOptions(t)
	o.Network = p
	inner, err := newBrowser(t, o).NewSession(&executor.SessionOptions{Gate: guard})
	if err != nil {
		t.Fatal(err)
	}
	s := guard.Wrap(inner)
	t.Cleanup(func() { s.Close() })
	_, tab, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: site.URL + "/own"})
	if err != nil {
		t.Fatal(err)
	}
	executortest.Refused(t, s, tab.ID, site.URL, denied)
}
