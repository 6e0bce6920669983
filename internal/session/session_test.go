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
)

// calls are the methods that need a browser, each with a tab id.
var calls = map[string]func(context.Context, *Session, executor.TabID) error{
	"SelectTab": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.SelectTab(ctx, id)
		return err
	},
	"CloseTab": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.CloseTab(ctx, id)
		return err
	},
	"Navigate": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Navigate(ctx, id, "https://a.test/", nil)
		return err
	},
	"Back": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Back(ctx, id, nil)
		return err
	},
	"Forward": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Forward(ctx, id, nil)
		return err
	},
	"Reload": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Reload(ctx, id, nil)
		return err
	},
	"WaitFor": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.WaitFor(ctx, id, executor.WaitCondition{Text: "x"})
		return err
	},
	"Snapshot": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Snapshot(ctx, id, nil)
		return err
	},
	"Text": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Text(ctx, id, nil)
		return err
	},
	"HTML": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.HTML(ctx, id, nil)
		return err
	},
	"Markdown": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Markdown(ctx, id, nil)
		return err
	},
	"Links": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Links(ctx, id, nil)
		return err
	},
	"Eval": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Eval(ctx, id, "1", nil)
		return err
	},
	"Click": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Click(ctx, id, executor.Target{Ref: "e1"}, nil)
		return err
	},
	"Type": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Type(ctx, id, executor.Target{Ref: "e1"}, "x", nil)
		return err
	},
	"Press": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Press(ctx, id, "a", nil)
		return err
	},
	"Hover": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Hover(ctx, id, executor.Target{Ref: "e1"}, nil)
		return err
	},
	"Scroll": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Scroll(ctx, id, executor.ScrollOptions{})
		return err
	},
	"SelectOption": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.SelectOption(ctx, id, executor.Target{Ref: "e1"}, []string{"x"}, nil)
		return err
	},
	"FillForm": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.FillForm(ctx, id, nil, nil)
		return err
	},
	"HandleDialog": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.HandleDialog(ctx, id, executor.DialogAnswer{})
		return err
	},
	"Screenshot": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Screenshot(ctx, id, nil)
		return err
	},
	"Download": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Download(ctx, id, executor.DownloadOptions{URL: "https://a.test/f"})
		return err
	},
	"Console": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Console(ctx, id, nil)
		return err
	},
	"PageErrors": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.PageErrors(ctx, id, nil)
		return err
	},
	"Requests": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Requests(ctx, id, nil)
		return err
	},
	"Resize": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Resize(ctx, id, executor.ResizeOptions{Width: 800, Height: 600})
		return err
	},
	"Emulate": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.Emulate(ctx, id, executor.EmulateOptions{Reset: true})
		return err
	},
	"CDP": func(ctx context.Context, s *Session, id executor.TabID) error {
		_, err := s.CDP(ctx, id, "Page.enable", nil)
		return err
	},
}

// TestClosedSession checks that every call fails after Close, and that none starts a browser.
func TestClosedSession(t *testing.T) {
	h := newHost(t)
	tab := h.adopt(t, "https://a.test/")
	s := h.open(t, executor.SessionOptions{})
	id := s.id(h.browser, tab)
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
		check(name, call(t.Context(), s, id))
		check(name+" of the active tab", call(t.Context(), s, ""))
	}
	check("Ready", s.Ready(t.Context()))
	check("Ping", s.Ping(t.Context()))
	_, err := s.NewTab(t.Context(), "", nil)
	check("NewTab", err)
	_, err = s.ListTabs(t.Context())
	check("ListTabs", err)
	if n := h.started() - before; n != 0 {
		t.Errorf("the browser was acquired %d times", n)
	}
	if len(h.forgot) != 1 || h.forgot[0] != s {
		t.Errorf("RemoveSession was called %d times, want once", len(h.forgot))
	}
}

// TestClose checks that Close closes the session's tabs and no others.
func TestClose(t *testing.T) {
	h := newHost(t)
	adopted := h.adopt(t, "https://a.test/")
	s, other := h.open(t, executor.SessionOptions{}), h.open(t, executor.SessionOptions{})
	for range 2 {
		if _, err := s.NewTab(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.NewTab(t.Context(), "", nil); err != nil {
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
		_, err := s.NewTab(t.Context(), "", nil)
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
	if list, err := s.ListTabs(t.Context()); err != nil || list == nil || len(list) != 0 {
		t.Errorf("ListTabs: %v, %v, want an empty list", list, err)
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
		if err := call(t.Context(), s, ""); executor.CodeOf(err) != executor.ErrLaunchFailed {
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
	for _, name := range []string{"SelectTab", "CloseTab", "Snapshot", "Eval", "Navigate", "Reload"} {
		if err := calls[name](t.Context(), s, ""); executor.CodeOf(err) != executor.ErrPolicyDenied {
			t.Errorf("%s: %v, want ErrPolicyDenied", name, err)
		}
	}
	list, err := s.ListTabs(t.Context())
	if err != nil || len(list) != 1 || list[0].URL != executor.DeniedURL || list[0].Title != "" {
		t.Errorf("ListTabs: %+v, %v", list, err)
	}
}

// TestExplain checks that each error gets a code.
func TestExplain(t *testing.T) {
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
					tab, err := s.NewTab(t.Context(), "", nil)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := s.SelectTab(t.Context(), tab.ID); err != nil {
						t.Error(err)
					}
					if _, err := s.ListTabs(t.Context()); err != nil {
						t.Error(err)
					}
					s.Status(t.Context())
					for _, x := range h.browser.Tabs() {
						s.Emit(executor.Event{Kind: executor.EventNavigated}, x, "")
					}
					if _, err := s.CloseTab(t.Context(), tab.ID); err != nil {
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
		_, err := s.NewTab(t.Context(), "https://a.test/", nil)
		var e *executor.Error
		if !errors.As(err, &e) || e.Code != executor.ErrTimeout || e.Hint != executor.HintMoreTime {
			t.Errorf("got %+v, want ErrTimeout with hint %q", e, executor.HintMoreTime)
		}
		if n := len(h.browser.Tabs()); n != 0 {
			t.Errorf("%d tabs are open", n)
		}
	})
}
