package chromium

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/png" // screenshots
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// pages serves a few pages. Requests below /held/ are blocked until the test ends.
func pages(t *testing.T) *httptest.Server {
	t.Helper()
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><h1>Page %[1]s</h1><a href=/next target=_blank>Next</a>", r.URL.Path[1:])
	})
	mux.HandleFunc("/held/", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { close(release); srv.Close() })
	return srv
}

// mustNew is New for valid options.
func mustNew(t testing.TB, o Options) *Backend {
	t.Helper()
	b, err := New(&o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newBrowser(t *testing.T, o Options) *Backend {
	t.Helper()
	tier.Browser(t)
	b := mustNew(t, o)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	return b
}

// running returns the current instance of b.
func running(b *Backend) *instance {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.instance
}

func newSession(t *testing.T, b *Backend) executor.Executor {
	t.Helper()
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func wantCode(t *testing.T, err error, want executor.Code) {
	t.Helper()
	if executor.CodeOf(err) != want || err == nil {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestKilledBrowserIsReplaced checks that the pending call fails with one clear error after the
// browser is killed, and that the next call starts a new browser with other tabs and with the
// storage state of the session.
func TestKilledBrowserIsReplaced(t *testing.T) {
	srv, ctx := pages(t), await.Context(t)
	b := newBrowser(t, testOptions(t))
	dir := t.TempDir()
	state := `{"cookies": [{"name": "customer", "value": "ann", "domain": "127.0.0.1", "path": "/", "expires": -1}], "origins": []}`
	if err := os.WriteFile(filepath.Join(dir, "ann.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll, StateDir: dir, State: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	wantCookie := func() {
		t.Helper()
		res, err := pagetest.Of(s, "").Eval(ctx, "document.cookie", nil)
		if err != nil || string(res.Value) != `"customer=ann"` {
			t.Errorf("cookie: %+v, %v", res, err)
		}
	}
	nav, err := s.Navigate(ctx, srv.URL+"/first", nil)
	if err != nil {
		t.Fatal(err)
	}
	wantCookie()
	pid := running(b).proc.PID
	pending := make(chan error, 1)
	go func() {
		_, err := pagetest.Of(s, "").WaitFor(ctx, &executor.WaitCondition{Text: "never shown", Timeout: await.HangLimit})
		pending <- err
	}()
	if err := s.Ping(ctx); err != nil {
		t.Fatalf("ping: %v", err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-pending, executor.ErrTargetGone)

	again, err := s.Navigate(ctx, srv.URL+"/second", nil)
	if err != nil {
		t.Fatalf("the call after it: %v", err)
	}
	if again.Title != "second" || running(b).proc.PID == pid {
		t.Errorf("arrived at %+v in pid %d", *again, running(b).proc.PID)
	}
	wantCookie()
	_, err = pagetest.Of(s, nav.TabID).Snapshot(ctx, nil)
	wantCode(t, err, executor.ErrStaleTab)
}

// TestConcurrentCallsShareOneLaunch checks that concurrent calls share one start of the browser,
// and that a canceled call does not cancel it for the others.
func TestConcurrentCallsShareOneLaunch(t *testing.T) {
	srv, ctx := pages(t), await.Context(t)
	b := newBrowser(t, testOptions(t))
	hurried, cancel := context.WithCancel(ctx)
	errs := make(chan error, 4)
	for i := range 3 {
		s := newSession(t, b)
		go func() {
			_, _, err := s.NewPage(ctx, &executor.NewPageOptions{URL: fmt.Sprintf("%s/tab%d", srv.URL, i)})
			errs <- err
		}()
	}
	s := newSession(t, b)
	canceled := make(chan error, 1)
	go func() { canceled <- s.Ready(hurried) }()
	cancel()
	if err := <-canceled; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the canceled call: %v", err)
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	tabs, err := s.Tabs(ctx)
	if err != nil || len(tabs) != 3 {
		t.Errorf("tabs %+v, %v; want three", tabs, err)
	}
}

// TestCrashedPageReloads checks that a reload restores a crashed page.
func TestCrashedPageReloads(t *testing.T) {
	srv, ctx := pages(t), await.Context(t)
	b := newBrowser(t, testOptions(t))
	s := newSession(t, b)
	nav, err := s.Navigate(ctx, srv.URL+"/fragile", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pagetest.Of(s, "").CDP(ctx, "Page.crash", nil)
	wantCode(t, err, executor.ErrTargetGone)
	again, err := pagetest.Of(s, nav.TabID).Reload(ctx, nil)
	if err != nil || again.Title != "fragile" {
		t.Fatalf("the reload: %+v, %v", again, err)
	}
}

func TestFailedStartReportsAndRetries(t *testing.T) {
	o := testOptions(t)
	o.Browser = filepath.Join(t.TempDir(), "fake-browser")
	if err := os.WriteFile(o.Browser, []byte("#!/bin/sh\necho no luck >&2; exit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, o)
	s := newSession(t, b)
	for range 2 {
		wantCode(t, s.Ready(await.Context(t)), executor.ErrLaunchFailed)
	}
	if st := s.Status(t.Context()); st.Ready || !strings.Contains(st.Detail, "no luck") {
		t.Errorf("status %+v does not say why", st)
	}
}

// TestAttachedBrowserStaysOpen checks that we use our own browser context in an attached browser,
// and that Close only detaches from the browser.
func TestAttachedBrowserStaysOpen(t *testing.T) {
	srv, ctx := pages(t), await.Context(t)
	_, address := startForeignShell(t, t.TempDir())
	address = openUserTab(t, address, srv.URL+"/theirs")
	o := testOptions(t)
	o.Isolated, o.CDPEndpoint = false, address
	b := mustNew(t, o)
	s := newSession(t, b)
	if _, err := s.Navigate(ctx, srv.URL+"/ours", nil); err != nil {
		t.Fatal(err)
	}
	tabs, err := s.Tabs(ctx)
	if err != nil || len(tabs) != 1 || tabs[0].Title != "ours" {
		t.Errorf("tabs %+v, %v; want ours alone", tabs, err)
	}
	if a, err := pagetest.Of(s, "").Click(ctx, executor.Target{Selector: "a"}, nil); err != nil || len(a.NewTabs) != 1 {
		t.Errorf("a popup window in an attached browser: %+v, %v", a, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left := titles(t, address); strings.Contains(left, "ours") || !strings.Contains(left, "theirs") {
		t.Errorf("open tabs: %s", left)
	}
}

// TestAttachDefaultContext checks that the user's tabs can be driven in the default context, and
// that they stay open.
func TestAttachDefaultContext(t *testing.T) {
	srv, ctx := pages(t), await.Context(t)
	_, address := startForeignShell(t, t.TempDir())
	address = openUserTab(t, address, srv.URL+"/theirs")
	o := testOptions(t)
	o.Isolated, o.CDPEndpoint = false, address
	// A tab in the separate context of another session is not the user's.
	if _, _, err := newSession(t, mustNew(t, o)).NewPage(ctx, &executor.NewPageOptions{URL: srv.URL + "/separate"}); err != nil {
		t.Fatal(err)
	}
	o.AttachDefaultContext = true
	b := mustNew(t, o)
	s := newSession(t, b)
	// The first call already returns the user's tabs.
	if tabs, err := s.Tabs(ctx); err != nil || !slices.ContainsFunc(tabs, func(tab executor.Tab) bool { return tab.Title == "theirs" }) {
		t.Fatalf("tabs of the attached browser: %+v, %v", tabs, err)
	}
	if _, _, err := s.NewPage(ctx, &executor.NewPageOptions{URL: srv.URL + "/ours", Inactive: true}); err != nil {
		t.Fatal(err)
	}
	var userTab executor.TabID
	tabs, err := s.Tabs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, tab := range tabs {
		switch tab.Title {
		case "theirs":
			userTab = tab.ID
		case "separate":
			t.Errorf("a tab of another browser context is listed: %+v", tab)
		}
	}
	text, err := pagetest.Of(s, userTab).Text(ctx, nil)
	if err != nil || !strings.Contains(text.Content, "Page theirs") {
		t.Errorf("text of the user's tab among %+v: %+v, %v", tabs, text, err)
	}
	if closed, err := pagetest.Of(s, userTab).Close(ctx); err != nil || closed.Closed || !closed.Released {
		t.Errorf("releasing the user's tab: %+v, %v", closed, err)
	}
	if _, err := pagetest.Of(s, userTab).Text(ctx, nil); executor.CodeOf(err) != executor.ErrTabNotFound {
		t.Errorf("a tab that was released: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left := titles(t, address); strings.Contains(left, "ours") || !strings.Contains(left, "theirs") {
		t.Errorf("open tabs: %s", left)
	}
}

// openUserTab opens a tab as the browser's user and returns the browser's HTTP address.
func openUserTab(t *testing.T, ws, page string) (address string) {
	t.Helper()
	u, err := url.Parse(ws)
	if err != nil {
		t.Fatal(err)
	}
	address = "http://" + u.Host
	req, err := http.NewRequest(http.MethodPut, address+"/json/new?"+url.QueryEscape(page), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("opening the user's tab: %s", res.Status)
	}
	for !strings.Contains(titles(t, address), `"title": "theirs"`) { // until it has loaded
		if t.Context().Err() != nil {
			t.Fatal("the user's tab did not load")
		}
	}
	return address
}

// titles returns the browser's JSON list of tabs.
func titles(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address + "/json/list")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b strings.Builder
	if err := res.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestScreenshotOnHiDPI checks that a screenshot has the size of the viewport in CSS pixels, for
// every device scale factor.
func TestScreenshotOnHiDPI(t *testing.T) {
	srv, ctx := pages(t), await.Context(t)
	o := testOptions(t)
	o.ExtraArgs = []string{"--force-device-scale-factor=2"}
	s := newSession(t, newBrowser(t, o))
	if _, err := s.Navigate(ctx, srv.URL+"/scaled", nil); err != nil {
		t.Fatal(err)
	}
	ratio, err := pagetest.Of(s, "").Eval(ctx, "devicePixelRatio", nil)
	if err != nil || string(ratio.Value) != "2" {
		t.Fatalf("the scale is %+v, %v", ratio, err)
	}
	for what, opts := range map[string]*executor.ScreenshotOptions{"viewport": nil, "labels": {Labels: true}, "page": {FullPage: true}} {
		shot, err := pagetest.Of(s, "").Screenshot(ctx, opts)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		config, _, err := image.DecodeConfig(bytes.NewReader(shot.Data))
		if err != nil || config.Width != 1280 || config.Height != 720 || shot.Width != 1280 || shot.Height != 720 {
			t.Errorf("%s: %d×%d, reported as %d×%d, %v, want 1280×720", what, config.Width, config.Height, shot.Width, shot.Height, err)
		}
	}
}
