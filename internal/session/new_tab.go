package session

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// NewPage opens a tab and loads the URL of opts in it.
func (s *Session) NewPage(ctx context.Context, opts *executor.NewPageOptions) (executor.Page, *executor.Tab, error) {
	o := *cmp.Or(opts, new(executor.NewPageOptions))
	if o.Browser != "" {
		return nil, nil, executor.Wrap("new page", "", executor.Errorf(executor.ErrBadArgs, "Omit it.", "unknown browser %q: the session has one browser", o.Browser))
	}
	info, _, err := s.open(ctx, o.URL, o.Inactive, nil)
	if err != nil {
		return nil, nil, executor.Wrap("new page", "", asExecutorError(err))
	}
	return &tabPage{session: s, tab: info.ID}, info, nil
}

// open opens a tab, loads url unless it is empty, and makes the tab active unless inactive is set.
// The timeout of one navigation bounds all of it.
func (s *Session) open(ctx context.Context, url string, inactive bool, opts *executor.NavigateOptions) (*executor.Tab, *executor.Navigation, error) {
	defer s.reportDownloads(ctx)
	b, err := s.browser(ctx)
	if err != nil {
		return nil, nil, err
	}
	remaining := remainingTimeout(opts)
	if err := s.beginOpening(ctx, b); err != nil {
		return nil, nil, err
	}
	t, err := b.NewTab(ctx, s)
	s.opening.end()
	if err != nil {
		return nil, nil, err
	}
	t.reported.Store(true)
	var nav *executor.Navigation
	if url != "" && url != "about:blank" {
		nav, err = s.load(ctx, t, url, remaining())
		if errors.Is(err, executor.ErrTargetGone) && !notify.IsClosed(t.Page.Gone()) {
			// A blank tab may share its process with a hung page that is terminated. The page at
			// url was not loaded yet.
			nav, err = s.load(ctx, t, url, remaining())
		}
	}
	dialogOpen := errors.Is(err, executor.ErrDialogOpen) // the page has loaded up to its dialog
	if closed := s.alive(); closed != nil {              // Close may not have seen the tab
		err, dialogOpen = closed, false
	}
	if err != nil && !dialogOpen {
		closeUnused(ctx, b, t, s.timing.CloseTabs, s.log)
		if s.owned(b) == 0 {
			s.selection.setFailedLoad(err)
		}
		return nil, nil, withoutTab(err)
	}
	if !inactive {
		s.selection.choose(s.ids.of(b, t))
	}
	s.noticeShared(ctx, b)
	if dialogOpen {
		id := s.ids.of(b, t)
		if e, ok := errors.AsType[*executor.Error](err); ok && inactive {
			named := *e
			named.Hint += " It is in the new tab " + string(id) + ", which is not active: pass that id."
			err = &named
		}
		return nil, nil, executor.Wrap("", id, err)
	}
	info := s.describe(ctx, b, t)
	if nav != nil {
		info.Note = cmp.Or(nav.Note, info.Note)
	}
	return &info, nav, nil
}

// withoutTab returns the error of a load whose tab was closed. Its hint does not refer to the page,
// because the page no longer exists.
func withoutTab(err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	if !ok || e.Code != executor.ErrTimeout {
		return err
	}
	late := *e
	late.Hint = executor.HintMoreTime
	return &late
}

// remainingTimeout returns a function that returns opts with the rest of their timeout, measured
// from now.
func remainingTimeout(opts *executor.NavigateOptions) func() *executor.NavigateOptions {
	o := *cmp.Or(opts, new(executor.NavigateOptions))
	end := time.Now().Add(cmp.Or(o.Timeout, executor.DefaultNavigateTimeout))
	return func() *executor.NavigateOptions {
		o.Timeout = max(time.Until(end), time.Second)
		return &o
	}
}

func (s *Session) maxTabs() int {
	if s.opts.MaxTabs > 0 {
		return s.opts.MaxTabs
	}
	return executor.DefaultMaxTabs
}

// owned returns the number of tabs of the session.
func (s *Session) owned(b BrowserInstance) int {
	n := 0
	for _, t := range b.Tabs() {
		if t.Owner() == s {
			n++
		}
	}
	return n
}

// An openingCount is the number of tabs that calls and pages of a session are opening, and that are not
// among the tabs of the browser yet. The zero value is ready to use. It is safe for concurrent use.
type openingCount struct {
	mu    sync.Mutex // guards count
	count int
	ended notify.Broadcast
}

func (o *openingCount) end() {
	o.mu.Lock()
	o.count--
	o.mu.Unlock()
	o.ended.Notify()
}

// beginOpening counts a call that opens a tab, until s.opening.end. It returns ErrBackpressure if the
// session has the maximum number of tabs. If it has that many only with the tabs that are being opened,
// which may fail, beginOpening waits for these.
func (s *Session) beginOpening(ctx context.Context, b BrowserInstance) error {
	var full error
	err := s.opening.ended.Wait(ctx, func() bool {
		s.opening.mu.Lock()
		defer s.opening.mu.Unlock()
		switch n := s.owned(b); {
		case n >= s.maxTabs():
			full = executor.Errorf(executor.ErrBackpressure, "Close some with Page.Close; Executor.Tabs lists them. The user can allow more with SessionOptions.MaxTabs.",
				"%s open already", phrase.Count(n, "tab is", "tabs are"))
		case n+s.opening.count >= s.maxTabs():
			return false
		default:
			s.opening.count++
		}
		return true
	})
	return cmp.Or(full, err)
}

// BeginPopup counts a tab that a page of the session opens. The caller must call end when b lists the tab, or
// when that has failed. ok is false if the session has the maximum number of tabs, so that its pages cannot
// open more.
func (s *Session) BeginPopup(b BrowserInstance) (end func(), ok bool) {
	s.opening.mu.Lock()
	defer s.opening.mu.Unlock()
	if s.owned(b)+s.opening.count >= s.maxTabs() {
		return nil, false
	}
	s.opening.count++
	return s.opening.end, true
}

func (s *Session) load(ctx context.Context, t *Tab, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	release, err := t.Page.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	v := s.view(t)
	nav, err := v.Navigate(ctx, url, opts)
	return nav, v.AsClientError(ctx, err)
}

// OpenTab returns the tab that open opens in the browser b. If ctx is done first, the tab is closed
// when it is open. The goroutines of OpenTab belong to work.
func OpenTab(ctx context.Context, b BrowserInstance, work *sync.WaitGroup, log *slog.Logger, open func() (*Tab, error)) (*Tab, error) {
	type result struct {
		tab *Tab
		err error
	}
	opened := make(chan result, 1)
	work.Go(func() {
		t, err := open()
		opened <- result{t, err}
	})
	select {
	case r := <-opened:
		return r.tab, r.err
	case <-ctx.Done():
		work.Go(func() {
			if r := <-opened; r.tab != nil {
				CloseAbandoned(ctx, b, r.tab, log)
			}
		})
		return nil, context.Cause(ctx)
	}
}

// CloseAbandoned closes a tab that the call that opened it no longer needs, even if ctx is done.
func CloseAbandoned(ctx context.Context, b BrowserInstance, t *Tab, log *slog.Logger) {
	closeUnused(ctx, b, t, timing.Current().CloseAbandoned, log)
}

// closeUnused closes a tab, even if ctx is done, and logs a failure.
func closeUnused(ctx context.Context, b BrowserInstance, t *Tab, timeout time.Duration, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if _, err := b.CloseTab(ctx, t); err != nil {
		log.Debug("closing an unused tab failed", "error", err)
	}
}
