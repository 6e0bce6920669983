package executortest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// BlankPopup opens a page on 127.0.0.1 whose data: frame opens a blank popup
// window and writes into it. The frame and the window have an opaque origin: the
// window is blank, but does not have the internal origin. Then a sandboxed frame
// navigates our own tab to a blank page. The gate of exec allows 127.0.0.1. The
// gate of all, a session in the same browser, allows everything. The browser must
// let pages open popup windows without a user gesture.
func BlankPopup(t *testing.T, exec, all executor.Executor) {
	t.Helper()
	ctx := await.Context(t)
	wrote := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/wrote":
			select {
			case wrote <- struct{}{}:
			default:
			}
		case "/leaver":
			fmt.Fprint(w, `<script>top.location = "about:blank"</script>`)
		case "/leaves":
			fmt.Fprint(w, `<title>leaves</title><link rel=icon href=data:,><iframe sandbox="allow-scripts allow-top-navigation" src="/leaver"></iframe>`)
		default:
			fmt.Fprintf(w, `<title>opener</title><link rel=icon href=data:,><iframe src="data:text/html,<script>
				const w = window.open('about:blank');
				w.document.write('<title>written</title><p>UNREADABLE</p><button>Act</button>');
				fetch('http://%s/wrote', {mode: 'no-cors'});
			</script>"></iframe>`, r.Host)
		}
	}))
	t.Cleanup(srv.Close)
	_, tab, err := exec.NewPage(ctx, &executor.NewPageOptions{URL: srv.URL + "/"})
	if err != nil {
		t.Fatalf("allowed page: %v", err)
	}
	await.Receive(t, "the frame to write into a window", wrote)
	seen := 0
	for seen < 2 { // the window exists before it is listed as a tab
		tabs, err := all.Tabs(ctx)
		if err != nil {
			t.Fatal(err)
		}
		seen = len(tabs)
		if ctx.Err() != nil {
			t.Fatal("the window is not listed as a tab")
		}
		for _, other := range tabs {
			if other.ID == tab.ID {
				continue
			}
			if text, err := pagetest.Of(exec, other.ID).Text(ctx, nil); !errors.Is(err, executor.ErrPolicyDenied) {
				t.Errorf("the window was read: %+v, %v", text, err)
			}
			if a, err := pagetest.Of(exec, other.ID).Click(ctx, suite.Selector("button"), nil); !errors.Is(err, executor.ErrPolicyDenied) {
				t.Errorf("an action in the window succeeded: %+v, %v", a, err)
			}
		}
	}
	_, led, err := exec.NewPage(ctx, &executor.NewPageOptions{URL: srv.URL + "/leaves"})
	if errors.Is(err, executor.ErrPolicyDenied) {
		return // the frame navigated the tab before NewTab returned
	}
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := pagetest.Of(exec, led.ID).Text(ctx, nil)
		if err == nil && !strings.HasPrefix(text.Origin, "http") {
			t.Error("the blank page that a frame navigated the tab to was read")
			return
		}
		if errors.Is(err, executor.ErrPolicyDenied) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the frame did not navigate the tab: %v", err)
		}
	}
}

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
		a, err := pagetest.Of(exec, tab).Click(ctx, suite.Selector("#out"), nil)
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
