package executortest

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Refused leads a tab to a site that both the gate of its session and the
// network of its browser refuse, in the ways there are, and out of it again:
// the browser's page that stands there is nobody's. The tab is at a page of
// the origin allowed, which has a link #out to the origin refused and whose
// /redirects leads there.
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
			t.Fatalf("a click on a link to a refused site: %v", err)
		case !strings.Contains(a.Note, string(executor.ErrPolicyDenied)) || !strings.Contains(a.Note, host):
			t.Errorf("the click does not tell that what it led to was refused: %+v", a)
		}
		if snap, err := exec.Snapshot(ctx, tab, nil); executor.CodeOf(err) != executor.ErrPolicyDenied {
			t.Errorf("the refused page was read: %+v, %v", snap, err)
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
		t.Errorf("the refused page was loaded again: %+v, %v", nav, err)
	}
	nav, err = exec.Navigate(ctx, tab, allowed+"/redirects", nil)
	switch {
	case executor.CodeOf(err) != executor.ErrPolicyDenied:
		t.Fatalf("a redirect to a refused site: %+v, %v", nav, err)
	case !strings.Contains(err.Error(), "redirect") || !strings.Contains(err.Error(), host):
		t.Errorf("the error %q does not tell of the redirect to %s", err, host)
	}
	nav, err = exec.Navigate(ctx, tab, allowed+"/last", nil)
	at(nav, err, allowed+"/last")
	led()
}
