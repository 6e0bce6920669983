package chromium

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestConcurrentNewTabs opens many tabs concurrently. A tab that navigates before its blank
// document exists may never load its page. Many tabs delay the start of processes enough to cause
// this.
func TestConcurrentNewTabs(t *testing.T) {
	tier.Browser(t)
	headless := true
	b := mustNew(t, Options{Browser: tier.Shell(), Headless: &headless, Isolated: true, NoSandbox: true, DataDir: t.TempDir()})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>Page</title><p>here")
	}))
	t.Cleanup(srv.Close)
	tabs := 2 // of each client
	if tier.DeepEnabled() {
		tabs = 6
	}
	var clients sync.WaitGroup
	for range 6 {
		clients.Go(func() {
			for range tabs {
				s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
				if err != nil {
					t.Error(err)
					return
				}
				if _, tab, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: srv.URL}); err != nil {
					t.Error(err)
				} else if tab.Title != "Page" {
					t.Errorf("the tab shows %q at %s", tab.Title, tab.URL)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
}
