package chromium

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestAttachedBrowserEnforcesPolicy uses an attached browser of a user, which has no network
// filter. The policy applies to the requests of the tabs that we drive, and not to other tabs.
func TestAttachedBrowserEnforcesPolicy(t *testing.T) {
	var mu sync.Mutex
	var requested []string
	more := make(chan struct{}, 2)
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requested = append(requested, r.URL.Path)
		mu.Unlock()
		if r.URL.Path == "/more" {
			more <- struct{}{}
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<title>theirs</title><link rel=icon href=data:,>"))
	}))
	t.Cleanup(denied.Close)
	deniedURL := strings.Replace(denied.URL, "127.0.0.1", "localhost", 1)
	allowed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, deniedURL+"/hop", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<title>fine</title><a href="` + deniedURL + `/link">Elsewhere</a><img src="` + deniedURL + `/img"><iframe src="` + deniedURL + `/frame"></iframe>
<script>fetch("` + deniedURL + `/fetch", {mode: "no-cors"}).finally(() => document.title = "ended")</script>`))
	}))
	t.Cleanup(allowed.Close)

	_, address := startForeignShell(t, t.TempDir())
	address = openUserTab(t, address, deniedURL+"/theirs")
	for name, userTabs := range map[string]bool{"own context": false, "default context": true} {
		t.Run(name, func(t *testing.T) {
			ctx := await.Context(t)
			mu.Lock()
			requested = nil
			mu.Unlock()
			o := fullOptions(t)
			o.Isolated, o.CDPEndpoint, o.AttachDefaultContext, o.Network = false, address, userTabs, hosts{"127.0.0.1"}
			s := newSession(t, mustNew(t, o))
			if _, _, err := s.NewPage(ctx, &executor.NewPageOptions{URL: allowed.URL + "/redirect"}); executor.CodeOf(err) != executor.ErrPolicyDenied || !strings.Contains(err.Error(), "not on the list") {
				t.Errorf("a redirect to a denied host: %v", err)
			}
			_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: allowed.URL + "/page"})
			if err != nil {
				t.Fatal(err)
			}
			if res, err := pagetest.Of(s, tab.ID).WaitFor(ctx, &executor.WaitCondition{Expression: "document.title === 'ended'", Timeout: await.HangLimit}); err != nil || !res.Matched {
				t.Errorf("a denied request of the page does not end: %+v, %v", res, err)
			}
			if a, err := pagetest.Of(s, tab.ID).Click(ctx, executor.Target{Selector: "a"}, nil); err != nil || !strings.Contains(a.Note, "not on the list") {
				t.Errorf("a link to a denied host: %+v, %v", a, err)
			}
			// The browser's user can open any page.
			openUserTab(t, address, deniedURL+"/more")
			select {
			case <-more:
			case <-ctx.Done():
				t.Error("a tab of the user was also filtered")
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.Join(requested, " ") != "/more" {
				t.Errorf("the denied host received requests for %q, want only /more", requested)
			}
		})
	}
}
