package extension

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestSharedTab checks that calls that name no tab go to the tab that the user
// shared until the client opens a tab. Then they go to that tab.
func TestSharedTab(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>%s</title><p>this is %[1]s</p><button onclick="window.open('/popup')">Open</button>`, r.URL.Path)
	}))
	t.Cleanup(site.Close)
	var reported []executor.SharedTab
	ctx := executor.WithCallOptions(t.Context(), executor.CallOptions{OnSharedTab: func(sh executor.SharedTab) { reported = append(reported, sh) }})
	share := func(path string, active bool) executor.TabID {
		t.Helper()
		tab := env.u.open(site.URL + path)
		await.Until(t, "the title", func() bool { // until then the title is the host
			var title string
			env.u.worker(fmt.Sprintf("chrome.tabs.get(%d).then((tab) => tab.title)", tab), &title)
			return title == path
		})
		n := len((host{env.b}).Tabs())
		env.u.toggle(tab)
		awaitTabs(t, env.b, n+1)
		tabs, err := env.s.Tabs(ctx)
		if err != nil || tabs[n].URL != site.URL+path || tabs[n].Active != active {
			t.Fatalf("sharing %s: %+v, %v", path, tabs, err)
		}
		return tabs[n].ID
	}
	means := func(path string) {
		t.Helper()
		res, err := pagetest.Of(env.s, "").WaitFor(ctx, &executor.WaitCondition{Text: "this is " + path, Timeout: await.HangLimit})
		if err != nil || !res.Matched {
			t.Fatalf("a call without a tab does not go to %s: %+v, %v", path, res, err)
		}
	}
	share("/first", true)
	means("/first")
	a, err := pagetest.Of(env.s, "").Click(ctx, executor.Target{Selector: "button"}, nil)
	if err != nil || len(a.NewTabs) != 1 {
		t.Fatalf("a click that opens a tab: %+v, %v", a, err)
	}
	means("/first")

	if _, _, err := env.s.NewPage(ctx, &executor.NewPageOptions{URL: site.URL + "/own"}); err != nil {
		t.Fatal(err)
	}
	means("/own")
	if len(reported) != 0 {
		t.Errorf("reported %v", reported)
	}
	second := share("/second", false)
	means("/own")
	if len(reported) != 1 || reported[0].Tab.ID != second || reported[0].Tab.Title != "/second" || reported[0].Tab.Active {
		t.Errorf("reported %+v, want %s once", reported, second)
	}
	if _, err := env.s.SelectTab(ctx, second); err != nil {
		t.Fatal(err)
	}
	means("/second")
}
