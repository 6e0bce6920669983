package chromium

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A browser that is somebody's has no network of ours. What the tabs request
// that are driven in it is decided on all the same, and nothing of others.
func TestJoinedBrowsersTabsAreHeld(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	more := make(chan struct{}, 2)
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		if r.URL.Path == "/more" {
			more <- struct{}{}
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<title>theirs</title><link rel=icon href=data:,>"))
	}))
	t.Cleanup(denied.Close)
	elsewhere := strings.Replace(denied.URL, "127.0.0.1", "localhost", 1)
	allowed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, elsewhere+"/hop", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<title>fine</title><a href="` + elsewhere + `/link">Elsewhere</a><img src="` + elsewhere + `/img"><iframe src="` + elsewhere + `/frame"></iframe>
<script>fetch("` + elsewhere + `/fetch", {mode: "no-cors"}).catch(() => document.title = "refused")</script>`))
	}))
	t.Cleanup(allowed.Close)

	for name, theirs := range map[string]bool{"a context of our own": false, "their own tabs": true} {
		t.Run(name, func(t *testing.T) {
			ctx := limited(t)
			_, address := startForeign(t, t.TempDir())
			address = openTheirs(t, address, elsewhere+"/theirs")
			mu.Lock()
			asked = nil
			mu.Unlock()
			o := testOptions(t)
			o.Isolated, o.CDPEndpoint, o.AttachDefaultContext, o.Network = false, address, theirs, hosts{"127.0.0.1"}
			s := newSession(t, New(o))
			if _, err := s.NewTab(ctx, allowed.URL+"/redirect", nil); executor.CodeOf(err) != executor.ErrPolicyDenied || !strings.Contains(err.Error(), "not on the list") {
				t.Errorf("a redirect to a denied host: %v", err)
			}
			tab, err := s.NewTab(ctx, allowed.URL+"/page", nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.WaitFor(ctx, tab.ID, executor.WaitCondition{Expression: "document.title === 'refused'"}); err != nil {
				t.Errorf("a denied request of the page: %v", err)
			}
			if a, err := s.Click(ctx, tab.ID, executor.Target{Selector: "a"}, nil); err != nil || !strings.Contains(a.Note, "not on the list") {
				t.Errorf("a link to a denied host: %+v, %v", a, err)
			}
			// The browser's user goes where they like.
			openTheirs(t, address, elsewhere+"/more")
			select {
			case <-more:
			case <-ctx.Done():
				t.Error("the browser's user was held too")
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.Join(asked, " ") != "/more" {
				t.Errorf("the denied host was asked for %q, want /more alone", asked)
			}
		})
	}
}
