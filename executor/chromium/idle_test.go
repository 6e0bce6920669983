package chromium

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestCloseIdle closes an idle browser with a temporary profile. The next call of its session is
// notified of the tabs that it may see, and the next browser has the same cookies and storage.
func TestCloseIdle(t *testing.T) {
	ctx := await.Context(t)
	release := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/file" {
			w.Header().Set("Content-Disposition", "attachment; filename=file.zip")
			w.Header().Set("Content-Type", "application/zip") // a type that Chromium does not sniff: it would wait for more bytes
			fmt.Fprint(w, "begin")
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><a href=/file>file</a><button onclick='setTimeout(() => alert(1))'>ask</button>", r.URL.Path[1:])
	}))
	t.Cleanup(site.Close)
	options, dir := testOptions(t), t.TempDir()
	options.Isolated = true
	state := `{"cookies": [{"name": "session", "value": "first", "domain": "127.0.0.1", "path": "/", "expires": -1}], "origins": []}`
	if err := os.WriteFile(filepath.Join(dir, "s.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, options)
	gate := executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if strings.Contains(a.URL, "/secret") && a.Op == executor.OpList {
			return executor.Errorf(executor.ErrPolicyDenied, "", "denied")
		}
		return nil
	})
	s, err := b.NewSession(&executor.SessionOptions{Gate: gate, StateDir: dir, State: "s"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	other := newSession(t, b) // has no tabs
	var gone []executor.IdleClose
	ctx = executor.WithCallOptions(ctx, executor.CallOptions{OnIdleClose: func(c executor.IdleClose) { gone = append(gone, c) }})

	if b.CloseIdle(ctx, time.Hour) {
		t.Error("closed a browser before the first call")
	}
	for _, path := range []string{"/secret", "/page"} {
		if _, _, err := s.NewPage(ctx, &executor.NewPageOptions{URL: site.URL + path}); err != nil && path == "/page" {
			t.Fatal(err)
		}
	}
	eval := func(script string) string {
		t.Helper()
		res, err := pagetest.Of(s, "").Eval(ctx, script, nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(res.Value)
	}
	eval("document.cookie = 'session=second'; document.cookie = 'lasting=1; max-age=100000'; localStorage.setItem('k', 'v')")

	click := func(selector string) {
		t.Helper()
		if _, err := pagetest.Of(s, "").Click(ctx, executor.Target{Selector: selector}, nil); err != nil {
			t.Fatal(err)
		}
	}
	wantOpen := func(what string, ctx context.Context) {
		t.Helper()
		if b.CloseIdle(ctx, time.Hour) || running(b) == nil {
			t.Fatalf("closed the browser: %s", what)
		}
	}
	tab := func() interface{ HasDialog() bool } {
		tabs := running(b).Tabs()
		return tabs[len(tabs)-1].Page
	}
	click("button")
	await.Until(t, "the dialog", tab().HasDialog)
	wantOpen("dialog", ctx)
	if _, err := pagetest.Of(s, "").HandleDialog(ctx, &executor.DialogAnswer{Accept: true}); err != nil {
		t.Fatal(err)
	}
	click("a")
	await.Until(t, "the download", func() bool { return downloading(running(b)) })
	wantOpen("download", ctx)
	close(release)
	await.Until(t, "the end of the download", func() bool { return !downloading(running(b)) })
	handedOver, err := pagetest.Of(s, "").HandOver(ctx)
	if err != nil {
		t.Fatal(err)
	}
	wantOpen("handover", ctx)
	handedOver.End()
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	wantOpen("a call has started", canceled)

	first := running(b)
	if !b.CloseIdle(ctx, time.Hour) {
		t.Fatal("the browser is still open")
	}
	select {
	case <-first.proc.Exited:
	default:
		t.Error("the process is still running")
	}
	if status := b.Status(ctx); status.Detail != "the browser was closed after 1h0m0s without calls" {
		t.Errorf("status: %+v", status)
	}
	_, err = s.Tabs(ctx)
	wantCode(t, err, executor.ErrTargetGone)
	if want := (executor.IdleClose{After: time.Hour, URLs: []string{site.URL + "/page"}}); len(gone) != 1 || gone[0].After != want.After || !slices.Equal(gone[0].URLs, want.URLs) {
		t.Errorf("reported %+v, want %+v", gone, want)
	}
	if running(b) != nil {
		t.Error("the call has started a browser")
	}
	if tabs, err := other.Tabs(ctx); err != nil || len(tabs) != 0 {
		t.Errorf("the session without tabs: %v, %v", tabs, err)
	}
	if _, err := s.Navigate(ctx, site.URL+"/again", nil); err != nil {
		t.Fatal(err)
	}
	if got := eval("document.cookie.split('; ').sort().join() + localStorage.getItem('k')"); got != `"lasting=1,session=secondv"` {
		t.Errorf("cookies and storage: %s", got)
	}
	if tabs, err := s.Tabs(ctx); err != nil || len(tabs) != 1 {
		t.Errorf("tabs %+v, %v", tabs, err)
	}
	profile := running(b).proc.Profile.Dir
	if profile != first.proc.Profile.Dir {
		t.Errorf("the profile is %s, before it was %s", profile, first.proc.Profile.Dir)
	}
	if !b.CloseIdle(ctx, time.Hour) {
		t.Error("the second browser is still open")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(profile); !os.IsNotExist(err) {
		t.Errorf("the profile remains: %v", err)
	}
}

// downloading reports whether r has an unfinished download.
func downloading(in *instance) bool {
	return in.downloads.pending() > 0
}

// TestIdleReports checks that a report that a session has not received is retained when the next browser is
// closed, in which a CDP client may have opened tabs.
func TestIdleReports(t *testing.T) {
	unused, used, gone := new(session.Session), new(session.Session), new(session.Session)
	report := func(urls ...string) *executor.IdleClose { return &executor.IdleClose{After: time.Hour, URLs: urls} }
	b := new(Backend)
	reports := map[*session.Session]*executor.IdleClose{unused: report("a"), used: report("b"), gone: report("c")}
	b.addIdleReports(reports, nil)
	b.addIdleReports(map[*session.Session]*executor.IdleClose{used: report("d")}, map[*session.Session]bool{unused: true, used: true})
	for s, want := range map[*session.Session][]string{unused: {"a"}, used: {"b", "d"}, gone: nil} {
		var got []string
		if c := (sessionProvider{b}).TakeIdleReport(s); c != nil {
			got = c.URLs
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
