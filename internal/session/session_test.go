package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// calls are the methods of a page.
var calls = map[string]func(context.Context, executor.Page) error{
	"Close": func(ctx context.Context, p executor.Page) error {
		_, err := p.Close(ctx)
		return err
	},
	"Navigate": func(ctx context.Context, p executor.Page) error {
		_, err := p.Navigate(ctx, "https://a.test/", nil)
		return err
	},
	"Back": func(ctx context.Context, p executor.Page) error {
		_, err := p.Back(ctx, nil)
		return err
	},
	"Forward": func(ctx context.Context, p executor.Page) error {
		_, err := p.Forward(ctx, nil)
		return err
	},
	"Reload": func(ctx context.Context, p executor.Page) error {
		_, err := p.Reload(ctx, nil)
		return err
	},
	"WaitFor": func(ctx context.Context, p executor.Page) error {
		_, err := p.WaitFor(ctx, &executor.WaitCondition{Text: "x"})
		return err
	},
	"Snapshot": func(ctx context.Context, p executor.Page) error {
		_, err := p.Snapshot(ctx, nil)
		return err
	},
	"Text": func(ctx context.Context, p executor.Page) error {
		_, err := p.Text(ctx, nil)
		return err
	},
	"HTML": func(ctx context.Context, p executor.Page) error {
		_, err := p.HTML(ctx, nil)
		return err
	},
	"Markdown": func(ctx context.Context, p executor.Page) error {
		_, err := p.Markdown(ctx, nil)
		return err
	},
	"Links": func(ctx context.Context, p executor.Page) error {
		_, err := p.Links(ctx, nil)
		return err
	},
	"Eval": func(ctx context.Context, p executor.Page) error {
		_, err := p.Eval(ctx, "1", nil)
		return err
	},
	"Click": func(ctx context.Context, p executor.Page) error {
		_, err := p.Click(ctx, executor.Target{Ref: "e1"}, nil)
		return err
	},
	"Type": func(ctx context.Context, p executor.Page) error {
		_, err := p.Type(ctx, executor.Target{Ref: "e1"}, "x", nil)
		return err
	},
	"Press": func(ctx context.Context, p executor.Page) error {
		_, err := p.Press(ctx, "a", nil)
		return err
	},
	"Hover": func(ctx context.Context, p executor.Page) error {
		_, err := p.Hover(ctx, executor.Target{Ref: "e1"}, nil)
		return err
	},
	"Scroll": func(ctx context.Context, p executor.Page) error {
		_, err := p.Scroll(ctx, &executor.ScrollOptions{})
		return err
	},
	"SelectOption": func(ctx context.Context, p executor.Page) error {
		_, err := p.SelectOption(ctx, executor.Target{Ref: "e1"}, []string{"x"}, nil)
		return err
	},
	"FillForm": func(ctx context.Context, p executor.Page) error {
		_, err := p.FillForm(ctx, nil, nil)
		return err
	},
	"HandleDialog": func(ctx context.Context, p executor.Page) error {
		_, err := p.HandleDialog(ctx, &executor.DialogAnswer{})
		return err
	},
	"Screenshot": func(ctx context.Context, p executor.Page) error {
		_, err := p.Screenshot(ctx, nil)
		return err
	},
	"Download": func(ctx context.Context, p executor.Page) error {
		_, err := p.Download(ctx, &executor.DownloadOptions{URL: "https://a.test/f"})
		return err
	},
	"Console": func(ctx context.Context, p executor.Page) error {
		_, err := p.Console(ctx, nil)
		return err
	},
	"PageErrors": func(ctx context.Context, p executor.Page) error {
		_, err := p.PageErrors(ctx, nil)
		return err
	},
	"Requests": func(ctx context.Context, p executor.Page) error {
		_, err := p.Requests(ctx, nil)
		return err
	},
	"Resize": func(ctx context.Context, p executor.Page) error {
		_, err := p.Resize(ctx, &executor.ResizeOptions{Width: 800, Height: 600})
		return err
	},
	"Emulate": func(ctx context.Context, p executor.Page) error {
		_, err := p.Emulate(ctx, &executor.EmulateOptions{Reset: true})
		return err
	},
	"CDP": func(ctx context.Context, p executor.Page) error {
		_, err := p.CDP(ctx, "Page.enable", nil)
		return err
	},
}

// onPage calls a method of the page of a tab.
func onPage(ctx context.Context, s *Session, id executor.TabID, call func(context.Context, executor.Page) error) error {
	p, err := s.Page(ctx, id)
	if err != nil {
		return err
	}
	return call(ctx, p)
}

// TestClosedSession checks that every call fails after Close, and that none starts a browser.
func TestClosedSession(t *testing.T) {
	h := newHost(t)
	tab := h.adopt(t, "https://a.test/")
	s := h.open(t, executor.SessionOptions{})
	id := s.ids.of(h.browser, tab)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	before := h.started()
	check := func(name string, err error) {
		t.Helper()
		if executor.CodeOf(err) != executor.ErrNoBackend {
			t.Errorf("%s: %v, want ErrNoBackend", name, err)
		}
	}
	for name, call := range calls {
		check(name, onPage(t.Context(), s, id, call))
		check(name+" of the active tab", onPage(t.Context(), s, "", call))
	}
	_, err := s.SelectTab(t.Context(), id)
	check("SelectTab", err)
	check("Ready", s.Ready(t.Context()))
	check("Ping", s.Ping(t.Context()))
	_, _, err = s.NewPage(t.Context(), nil)
	check("NewPage", err)
	_, err = s.Tabs(t.Context())
	check("Tabs", err)
	if n := h.started() - before; n != 0 {
		t.Errorf("the browser was acquired %d times", n)
	}
	h.sessions.Each(func(*Session) { t.Error("the registry contains the closed session") })
}

// TestRegistry checks that CloseAll closes the sessions and that no session can be opened
// afterwards.
func TestRegistry(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{})
	if _, err := h.sessions.Open(h, executor.SessionOptions{AfterAction: "later"}); executor.CodeOf(err) != executor.ErrBadArgs {
		t.Errorf("Open with an unknown AfterAction: %v, want ErrBadArgs", err)
	}
	if !h.sessions.CloseAll() || h.sessions.CloseAll() {
		t.Error("CloseAll does not report which call is the first")
	}
	if err := s.Ready(t.Context()); executor.CodeOf(err) != executor.ErrNoBackend {
		t.Errorf("Ready after CloseAll: %v, want ErrNoBackend", err)
	}
	if ex, err := h.sessions.Open(h, executor.SessionOptions{}); executor.CodeOf(err) != executor.ErrNoBackend || ex != nil {
		t.Errorf("Open after CloseAll: %v, %v, want ErrNoBackend", ex, err)
	}
}

// TestClose checks that Close closes the session's tabs and no others.
func TestClose(t *testing.T) {
	h := newHost(t)
	adopted := h.adopt(t, "https://a.test/")
	s, other := h.open(t, executor.SessionOptions{}), h.open(t, executor.SessionOptions{})
	for range 2 {
		if _, _, err := s.NewPage(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := other.NewPage(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.Close()
	left := h.browser.Tabs()
	if len(left) != 2 || left[0] != adopted || left[1].Owner() != other {
		t.Errorf("%d tabs are left, want the adopted one and the other session's", len(left))
	}
}

// TestCloseWhileOpening checks that a tab that is being opened when its session closes is closed.
func TestCloseWhileOpening(t *testing.T) {
	h := newHost(t)
	h.browser.opening = make(chan struct{})
	s := h.open(t, executor.SessionOptions{})
	failed := make(chan error)
	go func() {
		_, _, err := s.NewPage(t.Context(), nil)
		failed <- err
	}()
	<-h.browser.opening // NewTab has started
	s.Close()
	<-h.browser.opening
	if err := <-failed; executor.CodeOf(err) != executor.ErrNoBackend {
		t.Errorf("got %v, want ErrNoBackend", err)
	}
	if left := h.browser.Tabs(); len(left) != 0 {
		t.Errorf("%d tabs are left behind", len(left))
	}
}

// TestStatusDoesNotLaunch checks that methods that only return state do not start a browser.
func TestStatusDoesNotLaunch(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{})
	if list, err := s.Tabs(t.Context()); err != nil || list == nil || len(list) != 0 {
		t.Errorf("Tabs: %v, %v, want an empty list", list, err)
	}
	if err := s.Ping(t.Context()); executor.CodeOf(err) != executor.ErrNoBackend {
		t.Errorf("Ping: %v, want ErrNoBackend", err)
	}
	if st := s.Status(t.Context()); st.Backend != executor.BackendCDP || st.ActiveTabID != "" {
		t.Errorf("Status: %+v", st)
	}
	if n := h.started(); n != 0 {
		t.Fatalf("the browser was acquired %d times", n)
	}
	if err := s.Ready(t.Context()); err != nil || h.started() != 1 {
		t.Errorf("Ready: %v, %d starts", err, h.started())
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
}

// TestStartFailure checks that each call returns the provider's error with its code.
func TestStartFailure(t *testing.T) {
	h := newHost(t)
	h.startErr = executor.Errorf(executor.ErrLaunchFailed, "Install it.", "no browser found")
	s := h.open(t, executor.SessionOptions{})
	for name, call := range calls {
		if err := onPage(t.Context(), s, "", call); executor.CodeOf(err) != executor.ErrLaunchFailed {
			t.Errorf("%s: %v, want ErrLaunchFailed", name, err)
		}
	}
}

// TestNilGate checks that a nil gate denies every access to a page.
func TestNilGate(t *testing.T) {
	h := newHost(t)
	h.adopt(t, "https://a.test/")
	s := New(h, executor.SessionOptions{})
	defer s.Close()
	for _, name := range []string{"Close", "Snapshot", "Eval", "Navigate", "Reload"} {
		if err := onPage(t.Context(), s, "", calls[name]); executor.CodeOf(err) != executor.ErrPolicyDenied {
			t.Errorf("%s: %v, want ErrPolicyDenied", name, err)
		}
	}
	list, err := s.Tabs(t.Context())
	if err != nil || len(list) != 1 || list[0].URL != executor.DeniedURL || list[0].Title != "" {
		t.Errorf("Tabs: %+v, %v", list, err)
	}
}

// TestAsExecutorError checks that each error gets a code.
func TestAsExecutorError(t *testing.T) {
	denied := executor.Errorf(executor.ErrPolicyDenied, "Ask.", "denied")
	for _, test := range []struct {
		err  error
		code executor.Code
	}{
		{nil, ""},
		{denied, executor.ErrPolicyDenied},
		{fmt.Errorf("while waiting: %w", denied), executor.ErrPolicyDenied},
		{context.DeadlineExceeded, executor.ErrTimeout},
		{context.Canceled, executor.ErrTimeout},
		{fmt.Errorf("click: %w", context.Canceled), executor.ErrTimeout},
		{executor.ErrTargetGone, executor.ErrTargetGone},
		{io.EOF, executor.ErrInternal},
	} {
		err := executor.Wrap("click", "cdp:run:t1", asExecutorError(test.err))
		if got := executor.CodeOf(err); got != test.code {
			t.Errorf("%v: %v, code %q, want %q", test.err, err, got, test.code)
		}
		if test.err != nil && !strings.Contains(err.Error(), "denied") && !errors.Is(err, test.err) {
			t.Errorf("%v: the cause is lost in %v", test.err, err)
		}
	}
}

// TestManyCalls opens, selects, lists and closes tabs from several sessions concurrently.
func TestManyCalls(t *testing.T) {
	h := newHost(t)
	h.adopt(t, "https://a.test/")
	var wg sync.WaitGroup
	for range 4 {
		s := h.open(t, executor.SessionOptions{OnEvent: func(executor.Event) {}})
		for range 2 {
			wg.Go(func() {
				for range 5 {
					_, tab, err := s.NewPage(t.Context(), nil)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := s.SelectTab(t.Context(), tab.ID); err != nil {
						t.Error(err)
					}
					if _, err := s.Tabs(t.Context()); err != nil {
						t.Error(err)
					}
					s.Status(t.Context())
					for _, x := range h.browser.Tabs() {
						s.Emit(executor.Event{Kind: executor.EventNavigated}, x, "")
					}
					if _, err := pagetest.Of(s, tab.ID).Close(t.Context()); err != nil {
						t.Error(err)
					}
					<-h.browser.closing
				}
			})
		}
	}
	wg.Wait()
	if n := len(h.browser.Tabs()); n != 1 {
		t.Errorf("%d tabs are left, want the adopted one", n)
	}
}

// TestNewTabTimeout opens a tab whose page never loads. The tab is closed, and
// the hint does not refer to a page.
func TestNewTabTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		s := h.open(t, executor.SessionOptions{})
		_, _, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: "https://a.test/"})
		var e *executor.Error
		if !errors.As(err, &e) || e.Code != executor.ErrTimeout || e.Hint != executor.HintMoreTime {
			t.Errorf("got %+v, want ErrTimeout with hint %q", e, executor.HintMoreTime)
		}
		if n := len(h.browser.Tabs()); n != 0 {
			t.Errorf("%d tabs are open", n)
		}
	})
}

// TestMaxTabsParallel opens tabs in parallel when the limit allows one more. A call waits for one
// that is opening the last tab, and uses its slot if it fails.
func TestMaxTabsParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		s := h.open(t, executor.SessionOptions{MaxTabs: 2})
		if _, _, err := s.NewPage(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		h.browser.results = make(chan error)
		done := make(chan error, 3)
		for range cap(done) {
			go func() {
				_, _, err := s.NewPage(t.Context(), nil)
				done <- err
			}()
		}
		next := func(result error) (opening bool) {
			synctest.Wait()
			select {
			case h.browser.results <- result:
				return true
			default:
				return false
			}
		}
		failed := errors.New("failed")
		if !next(failed) || !next(nil) {
			t.Fatal("no call opens a tab")
		}
		for next(nil) {
			t.Error("a call opens a tab over the limit")
		}
		errs := errors.Join(<-done, <-done, <-done)
		if !errors.Is(errs, failed) || !errors.Is(errs, executor.ErrBackpressure) {
			t.Errorf("the calls returned %v, want one failure and ErrBackpressure", errs)
		}
		if n := len(h.browser.Tabs()); n != 2 {
			t.Errorf("%d tabs are open, want 2", n)
		}
	})
}

// TestMaxTabsPopup opens tabs while a page opens the last one that the session may have: another page
// cannot, and a call waits, and uses its slot if it fails.
func TestMaxTabsPopup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		s := h.open(t, executor.SessionOptions{MaxTabs: 2})
		if _, _, err := s.NewPage(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		end, ok := s.BeginPopup(h.browser)
		if !ok {
			t.Fatal("a page cannot open the second tab")
		}
		if _, ok := s.BeginPopup(h.browser); ok {
			t.Error("a page opens a tab over the limit")
		}
		done := make(chan error, 1)
		go func() {
			_, _, err := s.NewPage(t.Context(), nil)
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("the call did not wait: %v", err)
		default:
		}
		end()
		if err := <-done; err != nil {
			t.Errorf("after the popup failed: %v", err)
		}
	})
}

// An idleHost has closed its browser with tabs of a session.
type idleHost struct {
	*fakeHost
	report *executor.IdleClose
}

func (h *idleHost) TakeIdleReport(*Session) *executor.IdleClose {
	report := h.report
	h.report = nil
	return report
}

// TestReadyAfterIdleClose checks that Ready, which is called for a CDP client, leaves the report about the tabs to
// the next call on them.
func TestReadyAfterIdleClose(t *testing.T) {
	s := New(&idleHost{newHost(t), new(executor.IdleClose)}, executor.SessionOptions{Gate: executor.AllowAll})
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Tabs(t.Context()); executor.CodeOf(err) != executor.ErrTargetGone {
		t.Errorf("the next call: %v, want TARGET_GONE", err)
	}
	if _, err := s.Tabs(t.Context()); err != nil {
		t.Error(err)
	}
}
