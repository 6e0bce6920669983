package executortest

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// Refused navigates a tab in several ways to a site that both the gate of its session and the
// network of its browser deny, and away again. The browser's error page must not be attributed to
// any site. The tab shows a page of the allowed origin with a link #out to the denied origin, and
// /redirects redirects there.
func Refused(t *testing.T, exec executor.Executor, tab executor.TabID, allowed, denied string) {
	t.Helper()
	ctx := t.Context()
	_, host, _ := strings.Cut(denied, "://")
	host, _, _ = strings.Cut(host, ":")
	led := func() {
		t.Helper()
		a, err := pagetest.Of(exec, tab).Click(ctx, css("#out"), nil)
		switch {
		case err != nil:
			t.Fatalf("click on a link to a denied site: %v", err)
		case !strings.Contains(a.Note, string(executor.ErrPolicyDenied)) || !strings.Contains(a.Note, host):
			t.Errorf("the click does not report that the navigation was denied: %+v", a)
		}
		if snap, err := pagetest.Of(exec, tab).Snapshot(ctx, nil); executor.CodeOf(err) != executor.ErrPolicyDenied {
			t.Errorf("the denied page was read: %+v, %v", snap, err)
		}
	}
	at := func(nav *executor.Navigation, err error, url string) {
		t.Helper()
		if err != nil || nav.URL != url {
			t.Fatalf("got %+v, %v, want to be at %s", nav, err, url)
		}
	}
	led()
	nav, err := pagetest.Of(exec, tab).Navigate(ctx, allowed+"/next", nil)
	at(nav, err, allowed+"/next")
	led()
	nav, err = pagetest.Of(exec, tab).Back(ctx, nil)
	at(nav, err, allowed+"/next")
	led()
	if nav, err = pagetest.Of(exec, tab).Reload(ctx, nil); executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Errorf("the denied page was loaded again: %+v, %v", nav, err)
	}
	nav, err = pagetest.Of(exec, tab).Navigate(ctx, allowed+"/redirects", nil)
	switch {
	case executor.CodeOf(err) != executor.ErrPolicyDenied:
		t.Fatalf("redirect to a denied site: %+v, %v", nav, err)
	case !strings.Contains(err.Error(), "redirect") || !strings.Contains(err.Error(), host):
		t.Errorf("the error %q does not name the redirect to %s", err, host)
	}
	nav, err = pagetest.Of(exec, tab).Navigate(ctx, allowed+"/last", nil)
	at(nav, err, allowed+"/last")
	led()
}
