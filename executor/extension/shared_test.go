package extension

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestSharedTab is that a call which names no tab goes to the one that the
// user shared last, and not to what a page opened.
func TestSharedTab(t *testing.T) {
	l := newLife(t, nil, userBrowserOptions{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>%s</title><p>this is %[1]s</p><button onclick="window.open('/popup')">Open</button>`, r.URL.Path)
	}))
	t.Cleanup(site.Close)
	var told []executor.TabSwitch
	ctx := executor.WithTabSwitch(t.Context(), func(sw executor.TabSwitch) { told = append(told, sw) })
	share := func(path string) executor.TabID {
		t.Helper()
		tab := l.u.open(site.URL + path)
		n := len(l.b.Tabs())
		l.u.toggle(tab)
		awaitTabs(t, l.b, n+1)
		tabs, err := l.s.ListTabs(ctx)
		if err != nil || tabs[n].URL != site.URL+path || !tabs[n].Active {
			t.Fatalf("sharing %s: %+v, %v", path, tabs, err)
		}
		return tabs[n].ID
	}
	means := func(path string) {
		t.Helper()
		res, err := l.s.WaitFor(ctx, "", executor.WaitCondition{Text: "this is " + path})
		if err != nil || !res.Matched {
			t.Fatalf("a call without a tab does not go to %s: %+v, %v", path, res, err)
		}
	}
	share("/first")
	means("/first")
	a, err := l.s.Click(ctx, "", executor.Target{Selector: "button"}, nil)
	if err != nil || len(a.NewTabs) != 1 {
		t.Fatalf("a click that opens a tab: %+v, %v", a, err)
	}
	means("/first")

	if _, err := l.s.NewTab(ctx, site.URL+"/own", nil); err != nil {
		t.Fatal(err)
	}
	means("/own")
	if len(told) != 0 {
		t.Errorf("told of %v", told)
	}
	second := share("/second")
	means("/second")
	if len(told) != 1 || told[0].To != second {
		t.Errorf("told of %v, want %s once", told, second)
	}
}
