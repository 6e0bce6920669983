package executortest

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Refused navigates a tab in several ways to a site that both the gate of its session and the
// network of its browser deny, and away again. The browser's error page must not be attributed to
// any site. The tab shows a page of the origin allowed, which has a link #out to the origin refused
// and whose /redirects redirects there.
func Refused(t *testing.T, exec executor.Executor, tab executor.TabID, allowed, refused string) {
	t.Helper()
	ctx := t.Context()
	_, host, _ := strings.Cut(refused, "://")
	host, _, _ = strings.Cut(host, ":")
	led := func() {
		t.Helper()
		a, err := exec.Click(ctx, tab, css("#out"), nil)
		switch {
		case err != nil:
			t.Fatalf("click on a link to a denied site: %v", err)
		case !strings.Contains(a.Note, string(executor.ErrPolicyDenied)) || !strings.Contains(a.Note, host):
			t.Errorf("the click does not report that the navigation was denied: %+v", a)
		}
		if snap, err := exec.Snapshot(ctx, tab, nil); executor.CodeOf(err) != executor.ErrPolicyDenied {
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
	nav, err := exec.Navigate(ctx, tab, allowed+"/next", nil)
	at(nav, err, allowed+"/next")
	led()
	nav, err = exec.Back(ctx, tab, nil)
	at(nav, err, allowed+"/next")
	led()
	if nav, err = exec.Reload(ctx, tab, nil); executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Errorf("the denied page was loaded again: %+v, %v", nav, err)
	}
	nav, err = exec.Navigate(ctx, tab, allowed+"/redirects", nil)
	switch {
	case executor.CodeOf(err) != executor.ErrPolicyDenied:
		t.Fatalf("redirect to a denied site: %+v, %v", nav, err)
	case !strings.Contains(err.Error(), "redirect") || !strings.Contains(err.Error(), host):
		t.Errorf("the error %q does not name the redirect to %s", err, host)
	}
	nav, err = exec.Navigate(ctx, tab, allowed+"/last", nil)
	at(nav, err, allowed+"/last")
	led()
}
