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
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// pages serves a few pages, and holds those below /held/ until the test ends.
func pages(t *testing.T) *httptest.Server {
	t.Helper()
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><h1>Page %[1]s</h1><a href=/next target=_blank>Next</a>", r.URL.Path[1:])
	})
	mux.HandleFunc("/hangs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>hangs</title><button onclick='for (;;);'>Hang</button>")
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

func newBrowser(t *testing.T, o Options) *Browser {
	t.Helper()
	b := New(o)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	return b
}

// running returns the run of b.
func running(b *Browser) *run {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.run
}

func newSession(t *testing.T, b *Browser) executor.Executor {
	t.Helper()
	s, err := b.NewSession(executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func wantCode(t *testing.T, err error, want executor.Code) {
	t.Helper()
	if executor.CodeOf(err) != want || err == nil {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A browser that is killed ends the call in progress with one clear error,
// and the next call gets a fresh one, whose tabs are others.
func TestKilledBrowserIsReplaced(t *testing.T) {
	srv, ctx := pages(t), limited(t)
	b := newBrowser(t, testOptions(t))
	s := newSession(t, b)
	nav, err := s.Navigate(ctx, "", srv.URL+"/first", nil)
	if err != nil {
		t.Fatal(err)
	}
	pid := running(b).proc.pid
	held := make(chan error, 1)
	go func() {
		_, err := s.WaitFor(ctx, "", executor.WaitCondition{Text: "never shown", Timeout: 30 * time.Second})
		held <- err
	}()
	if err := s.Ping(ctx); err != nil {
		t.Fatalf("ping: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-held, executor.ErrTargetGone)

	again, err := s.Navigate(ctx, "", srv.URL+"/second", nil)
	if err != nil {
		t.Fatalf("the call after it: %v", err)
	}
	if again.Title != "second" || running(b).proc.pid == pid {
		t.Errorf("arrived at %+v in pid %d", *again, running(b).proc.pid)
	}
	_, err = s.Snapshot(ctx, nav.TabID, nil)
	wantCode(t, err, executor.ErrStaleTab)
}

// Calls that come while the browser starts share that start; one that is
// cancelled does not end it for the others.
func TestOneStartForAll(t *testing.T) {
	srv, ctx := pages(t), limited(t)
	b := newBrowser(t, testOptions(t))
	hurried, cancel := context.WithCancel(ctx)
	errs := make(chan error, 4)
	for i := range 3 {
		s := newSession(t, b)
		go func() {
			_, err := s.NewTab(ctx, fmt.Sprintf("%s/tab%d", srv.URL, i), nil)
			errs <- err
		}()
	}
	s := newSession(t, b)
	gaveUp := make(chan error, 1)
	go func() { gaveUp <- s.Ready(hurried) }()
	cancel()
	if err := <-gaveUp; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call: %v", err)
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	tabs, err := s.ListTabs(ctx)
	if err != nil || len(tabs) != 3 {
		t.Errorf("tabs %+v, %v; want three", tabs, err)
	}
}

// A page that hangs fails the call within its deadline, and can be left.
func TestHungPageCanBeLeft(t *testing.T) {
	srv, ctx := pages(t), limited(t)
	s := newSession(t, newBrowser(t, testOptions(t)))
	if _, err := s.Navigate(ctx, "", srv.URL+"/hangs", nil); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	a, err := s.Click(ctx, "", executor.Target{Selector: "button"}, nil)
	if err != nil || !strings.Contains(a.Note, "busy") { // it got the click, after all
		t.Errorf("the click that hangs the page: %+v, %v", a, err)
	}
	hurry, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = s.Text(hurry, "", nil)
	wantCode(t, err, executor.ErrTimeout)
	if took := time.Since(start); took > hangLimit {
		t.Errorf("the click took %v", took)
	}
	start = time.Now()
	nav, err := s.Navigate(ctx, "", srv.URL+"/after", nil)
	if err != nil || nav.Title != "after" {
		t.Fatalf("leaving it: %+v, %v", nav, err)
	}
	if took := time.Since(start); took > hangLimit {
		t.Errorf("leaving it took %v", took)
	}
}

// hangLimit is how long a call may take on a page that hangs: more than the
// page layer's own deadlines, less than the default of a navigation.
const hangLimit = 12 * time.Second

// A page that crashed is left by a reload.
func TestCrashedPageReloads(t *testing.T) {
	srv, ctx := pages(t), limited(t)
	b := newBrowser(t, testOptions(t))
	s := newSession(t, b)
	nav, err := s.Navigate(ctx, "", srv.URL+"/fragile", nil)
	if err != nil {
		t.Fatal(err)
	}
	limit, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = s.CDP(limit, "", "Page.crash", nil)
	wantCode(t, err, executor.ErrTargetGone)
	again, err := s.Reload(ctx, nav.TabID, nil)
	if err != nil || again.Title != "fragile" {
		t.Fatalf("the reload: %+v, %v", again, err)
	}
}

func TestFailedStartIsToldAndTriedAgain(t *testing.T) {
	o := testOptions(t)
	o.Browser = fakeBrowser(t, "echo no luck >&2; exit 3")
	b := newBrowser(t, o)
	s := newSession(t, b)
	for range 2 {
		wantCode(t, s.Ready(limited(t)), executor.ErrLaunchFailed)
	}
	if st := s.Status(t.Context()); st.Ready || !strings.Contains(st.Detail, "no luck") {
		t.Errorf("status %+v does not say why", st)
	}
}

// A joined browser is worked in by a browser context of our own, and only let
// go in the end.
func TestJoinedBrowserIsOnlyLetGo(t *testing.T) {
	srv, ctx := pages(t), limited(t)
	pid, address := startForeign(t, t.TempDir())
	address = openTheirs(t, address, srv.URL+"/theirs")
	o := testOptions(t)
	o.Isolated, o.CDPEndpoint = false, address
	b := New(o)
	s := newSession(t, b)
	if _, err := s.Navigate(ctx, "", srv.URL+"/ours", nil); err != nil {
		t.Fatal(err)
	}
	tabs, err := s.ListTabs(ctx)
	if err != nil || len(tabs) != 1 || tabs[0].Title != "ours" {
		t.Errorf("tabs %+v, %v; want ours alone", tabs, err)
	}
	if a, err := s.Click(ctx, "", executor.Target{Selector: "a"}, nil); err != nil || len(a.NewTabs) != 1 {
		t.Errorf("a popup in a joined browser: %+v, %v", a, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the joined browser is gone: %v", err)
	}
	if left := titles(t, address); strings.Contains(left, "ours") || !strings.Contains(left, "theirs") {
		t.Errorf("left open are %s", left)
	}
}

// In the default context the user's tabs are there to be driven, and stay.
func TestJoinedDefaultContext(t *testing.T) {
	srv, ctx := pages(t), limited(t)
	_, address := startForeign(t, t.TempDir())
	address = openTheirs(t, address, srv.URL+"/theirs")
	o := testOptions(t)
	o.Isolated, o.CDPEndpoint, o.AttachDefaultContext = false, address, true
	b := New(o)
	s := newSession(t, b)
	// The user's tabs are there from the first call on.
	if tabs, err := s.ListTabs(ctx); err != nil || !slices.ContainsFunc(tabs, func(tab executor.Tab) bool { return tab.Title == "theirs" }) {
		t.Fatalf("tabs of the joined browser: %+v, %v", tabs, err)
	}
	if _, err := s.NewTab(ctx, srv.URL+"/ours", &executor.NewTabOptions{Inactive: true}); err != nil {
		t.Fatal(err)
	}
	var theirs executor.TabID
	tabs, err := s.ListTabs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, tab := range tabs {
		if tab.Title == "theirs" {
			theirs = tab.ID
		}
	}
	text, err := s.Text(ctx, theirs, nil)
	if err != nil || !strings.Contains(text.Text, "Page theirs") {
		t.Errorf("text of the user's tab among %+v: %+v, %v", tabs, text, err)
	}
	if closed, err := s.CloseTab(ctx, theirs); err != nil || closed.Closed || !closed.Released {
		t.Errorf("letting the user's tab go: %+v, %v", closed, err)
	}
	if _, err := s.Text(ctx, theirs, nil); executor.CodeOf(err) != executor.ErrTabNotFound {
		t.Errorf("a tab that was let go: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left := titles(t, address); strings.Contains(left, "ours") || !strings.Contains(left, "theirs") {
		t.Errorf("left open are %s", left)
	}
}

// openTheirs opens a tab as the browser's user and returns the browser's HTTP
// address.
func openTheirs(t *testing.T, ws, page string) (address string) {
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

// titles returns what the browser's own HTTP address tells of its tabs.
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

// A picture has the size of the viewport in CSS pixels whatever the scale of
// the screen.
func TestPictureOfScaledScreen(t *testing.T) {
	srv, ctx := pages(t), limited(t)
	o := testOptions(t)
	o.ExtraArgs = []string{"--force-device-scale-factor=2"}
	s := newSession(t, newBrowser(t, o))
	if _, err := s.Navigate(ctx, "", srv.URL+"/scaled", nil); err != nil {
		t.Fatal(err)
	}
	ratio, err := s.Eval(ctx, "", "devicePixelRatio", nil)
	if err != nil || string(ratio.Value) != "2" {
		t.Fatalf("the scale is %+v, %v", ratio, err)
	}
	for what, opts := range map[string]*executor.ScreenshotOptions{"viewport": nil, "labels": {Labels: true}, "page": {FullPage: true}} {
		shot, err := s.Screenshot(ctx, "", opts)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		config, _, err := image.DecodeConfig(bytes.NewReader(shot.Data))
		if err != nil || config.Width != 1280 || config.Height != 720 || shot.Width != 1280 || shot.Height != 720 {
			t.Errorf("%s: %d×%d, said to be %d×%d, %v, want 1280×720", what, config.Width, config.Height, shot.Width, shot.Height, err)
		}
	}
}
