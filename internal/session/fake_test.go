package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
)

// TestMain fails if a test leaks a goroutine.
func TestMain(m *testing.M) { os.Exit(leakcheck.Run(m)) }

// A fakeHost is a backend whose browser starts at the first call of Acquire.
type fakeHost struct {
	kind     executor.BackendKind
	browser  *fakeBrowser
	sessions Registry

	mu       sync.Mutex // guards the fields below
	running  bool
	starts   int
	startErr error
}

func newHost(t *testing.T) *fakeHost {
	t.Helper()
	b := &fakeBrowser{changed: make(chan struct{}), closing: make(chan *Tab, 100)}
	// The tests only query the titles of pages.
	b.remote = cdptest.New(func(remote *cdptest.FakeTransport, cmd *cdproto.Message) {
		if cmd.Method == "Runtime.callFunctionOn" {
			remote.Reply(cmd, `{"result":{"type":"string","value":"Title"}}`)
			return
		}
		remote.Reply(cmd, "{}")
	})
	b.conn = cdpconn.New(b.remote)
	t.Cleanup(func() {
		b.conn.Close()
		for _, p := range b.pages {
			p.Wait()
		}
	})
	return &fakeHost{kind: executor.BackendCDP, browser: b}
}

func (h *fakeHost) Kind() executor.BackendKind { return h.kind }

func (h *fakeHost) Acquire(context.Context) (BrowserInstance, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starts++
	if h.startErr != nil {
		return nil, h.startErr
	}
	h.running = true
	return h.browser, nil
}

func (h *fakeHost) Current() BrowserInstance {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.running {
		return nil
	}
	return h.browser
}

func (h *fakeHost) Status(context.Context) executor.Status { return executor.Status{Backend: h.kind} }

func (h *fakeHost) AttachesToRunning() bool { return false }

func (h *fakeHost) started() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.starts
}

// A fakeBrowser has real page.Tabs over an in-memory connection.
type fakeBrowser struct {
	remote    *cdptest.FakeTransport
	conn      *cdpconn.Conn
	closing   chan *Tab     // tabs passed to CloseTab
	opening   chan struct{} // if not nil, NewTab sends on it twice: when it is called and before it opens the tab
	downloads *download.Dir // if nil, Downloads returns an error
	results   chan error    // if not nil, NewTab receives its error from it, and opens a tab for nil

	mu      sync.Mutex // guards the fields below
	next    int
	tabs    []*Tab
	pages   []*page.Tab // of all tabs, including closed ones
	changed chan struct{}
}

func (b *fakeBrowser) ID() string { return "run" }

func (b *fakeBrowser) Tabs() []*Tab {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.tabs)
}

func (b *fakeBrowser) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

func (b *fakeBrowser) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *fakeBrowser) NewTab(ctx context.Context, owner *Session) (*Tab, error) {
	if b.opening != nil {
		b.opening <- struct{}{}
		b.opening <- struct{}{}
	}
	if b.results != nil {
		if err := <-b.results; err != nil {
			return nil, err
		}
	}
	return b.add(ctx, owner, nil)
}

// add adds a tab. opener is the tab whose page opened it, or nil.
func (b *fakeBrowser) add(ctx context.Context, owner *Session, opener *Tab) (*Tab, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	raw := fmt.Sprint("t", b.next)
	b.remote.Attach("", raw, "page")
	ev, err := b.conn.BrowserSession().Next(ctx)
	for err == nil && ev.Method != "Target.attachedToTarget" { // skip events of closed tabs
		ev, err = b.conn.BrowserSession().Next(ctx)
	}
	if err != nil {
		return nil, err
	}
	p, err := page.Attach(ctx, ev.Child, page.Options{Own: owner != nil})
	if err != nil {
		return nil, err
	}
	t := &Tab{Raw: raw, Page: p, Opener: opener}
	t.SetOwner(owner)
	b.tabs = append(b.tabs, t)
	b.pages = append(b.pages, p)
	close(b.changed)
	b.changed = make(chan struct{})
	return t, nil
}

func (b *fakeBrowser) CloseTab(_ context.Context, t *Tab) (bool, error) {
	b.closing <- t
	found := false
	b.change(func() {
		if i := slices.Index(b.tabs, t); i >= 0 {
			found = true
			b.tabs = slices.Delete(slices.Clone(b.tabs), i, i+1)
			b.remote.Detach("", t.Raw)
		}
	})
	if !found {
		return false, executor.ErrTargetGone
	}
	return t.Owner() == nil, nil
}

func (b *fakeBrowser) HasInstance(id string) bool { return id == b.ID() }

func (b *fakeBrowser) Ping(context.Context) error { return nil }

func (b *fakeBrowser) Downloads() (*download.Dir, error) {
	if b.downloads == nil {
		return nil, errors.New("no downloads here")
	}
	return b.downloads, nil
}

func (b *fakeBrowser) Fetcher() Fetcher { return Fetcher{} }

// adopt adds a tab without an owner that shows url.
func (h *fakeHost) adopt(t *testing.T, url string) *Tab {
	t.Helper()
	if _, err := h.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h.popup(t, nil, url)
}

// popup adds a tab that opener's page opened.
func (h *fakeHost) popup(t *testing.T, opener *Tab, url string) *Tab {
	t.Helper()
	tab, err := h.browser.add(t.Context(), nil, opener)
	if err != nil {
		t.Fatal(err)
	}
	h.browser.show(t, tab, url)
	return tab
}

// show navigates tab to url, a document of https://a.test.
func (b *fakeBrowser) show(t *testing.T, tab *Tab, url string) {
	t.Helper()
	b.remote.Emit(tab.Raw, "Page.frameNavigated", fmt.Sprintf(
		`{"frame":{"id":%q,"loaderId":"L","url":%q,"domainAndRegistry":"","securityOrigin":"https://a.test","mimeType":"text/html","secureContextType":"Secure","crossOriginIsolatedContextType":"Isolated","gatedAPIFeatures":[]},"type":"Navigation"}`, tab.Raw, url))
	b.remote.Emit(tab.Raw, "Runtime.executionContextCreated", fmt.Sprintf(
		`{"context":{"id":1,"origin":"https://a.test","name":"chrome-mcp","uniqueId":%q,"auxData":{"frameId":%q,"isDefault":false,"type":"isolated"}}}`, "W"+tab.Raw, tab.Raw))
	b.remote.Emit(tab.Raw, "Page.lifecycleEvent", fmt.Sprintf(`{"frameId":%q,"loaderId":"L","name":"DOMContentLoaded","timestamp":1}`, tab.Raw))
	tab.Page.WaitForInitialNavigation(t.Context())
	if got := tab.Page.URL(); got != url {
		t.Fatalf("the tab is at %q, want %q", got, url)
	}
}

// open returns a session that is closed at the end of the test.
func (h *fakeHost) open(t *testing.T, opts executor.SessionOptions) *Session {
	t.Helper()
	if opts.Gate == nil {
		opts.Gate = executor.AllowAll
	}
	s, err := h.sessions.Open(h, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*Session)
}

// denyURL returns a gate that denies documents whose URL contains text.
func denyURL(text string) executor.Gate {
	return executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if strings.Contains(a.URL, text) {
			return executor.Errorf(executor.ErrPolicyDenied, "", "denied")
		}
		return nil
	})
}
