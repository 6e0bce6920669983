package extension

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/executortest"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// newRefusedSite returns a site and another that no policy allows, to which
// the first leads.
func newRefusedSite(t testing.TB) (allowed, refused string) {
	out := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the refused site was asked for %s", r.URL.Path)
	}))
	t.Cleanup(out.Close)
	refused = strings.Replace(out.URL, "127.0.0.1", "localhost", 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirects" {
			http.Redirect(w, r, refused+"/hop", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>%s</title><p>this is %[1]s</p><a id=out href=%s/out>Out</a>", r.URL.Path, refused)
	}))
	t.Cleanup(site.Close)
	return site.URL, refused
}

// TestRefusedPage leads a tab that the user shared, and one of the agent's
// own, to where the policy does not allow: the browser's page that says so is
// nobody's, and is left like any other.
func TestRefusedPage(t *testing.T) {
	l := newLife(t, nil, userBrowserOptions{})
	conf := policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true}
	p, err := policy.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	guard := policy.NewGuard(p, nil)
	inner, err := l.b.NewSession(executor.SessionOptions{Gate: guard})
	if err != nil {
		t.Fatal(err)
	}
	s := guard.Wrap(inner)
	t.Cleanup(func() { s.Close() })
	allowed, refused := newRefusedSite(t)

	t.Run("of the user's", func(t *testing.T) {
		tab := l.u.open(allowed + "/shared")
		l.u.toggle(tab)
		awaitTabs(t, l.b, 1)
		tabs, err := s.ListTabs(t.Context())
		if err != nil || len(tabs) != 1 {
			t.Fatalf("%+v, %v", tabs, err)
		}
		executortest.Refused(t, s, tabs[0].ID, allowed, refused)
		closed, err := s.CloseTab(t.Context(), tabs[0].ID)
		if err != nil || !closed.Released {
			t.Errorf("letting go of it: %+v, %v", closed, err)
		}
	})
	t.Run("of the agent's", func(t *testing.T) {
		tab, err := s.NewTab(t.Context(), allowed+"/own", nil)
		if err != nil {
			t.Fatal(err)
		}
		executortest.Refused(t, s, tab.ID, allowed, refused)
	})
}
