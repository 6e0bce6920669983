package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// NewTab opens a tab and loads url in it.
func (s *Session) NewTab(ctx context.Context, url string, opts *executor.NewTabOptions) (*executor.Tab, error) {
	info, _, err := s.open(ctx, url, opts != nil && opts.Inactive, nil)
	return info, executor.Wrap("new tab", "", explain(err))
}

// open opens a tab, loads url unless it is empty, and makes the tab active
// unless it is to be inactive.
//
// All of it has the time of one navigation.
func (s *Session) open(ctx context.Context, url string, inactive bool, opts *executor.NavigateOptions) (*executor.Tab, *executor.Navigation, error) {
	b, err := s.browser(ctx)
	if err != nil {
		return nil, nil, err
	}
	rest := restOf(opts)
	if n := s.owned(b); n >= s.maxTabs() {
		return nil, nil, executor.Errorf(executor.ErrBackpressure, "Close some with tab_close; tabs_list lists them. The user can allow more with --max-tabs.",
			"%d tabs are open already", n)
	}
	t, err := b.NewTab(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	t.tell()
	var nav *executor.Navigation
	if url != "" && url != "about:blank" {
		nav, err = s.load(ctx, t, url, rest())
		if errors.Is(err, executor.ErrTargetGone) && !t.gone() {
			// A blank tab may share the process of a page that hangs and is
			// ended; its own page was not even there.
			nav, err = s.load(ctx, t, url, rest())
		}
	}
	held := errors.Is(err, executor.ErrDialogOpen) // the page is there, behind its dialog
	if dead := s.alive(); dead != nil {            // Close may not have seen the tab
		err, held = dead, false
	}
	if err != nil && !held {
		closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if _, cerr := b.CloseTab(closeCtx, t); cerr != nil {
			s.log.Debug("a tab that did not load was not closed", "error", cerr)
		}
		return nil, nil, withoutTab(err)
	}
	if !inactive {
		s.choose(b, t)
	}
	s.noticeShared(ctx, b)
	if held {
		return nil, nil, executor.Wrap("", s.id(b, t), err)
	}
	info := s.describe(ctx, b, t)
	if nav != nil {
		info.Note = cmp.Or(nav.Note, info.Note)
	}
	return &info, nav, nil
}

// withoutTab returns the error of a load whose tab was closed. Its hint refers to
// no page, because the page is gone.
func withoutTab(err error) error {
	var e *executor.Error
	if !errors.As(err, &e) || e.Code != executor.ErrTimeout {
		return err
	}
	late := *e
	late.Hint = executor.HintMoreTime
	return &late
}

// restOf returns opts with the time that is left of theirs since now.
func restOf(opts *executor.NavigateOptions) func() *executor.NavigateOptions {
	var o executor.NavigateOptions
	if opts != nil {
		o = *opts
	}
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

// owned counts the tabs that are the session's.
func (s *Session) owned(b Browser) int {
	n := 0
	for _, t := range b.Tabs() {
		if t.Owner() == s {
			n++
		}
	}
	return n
}

// Full reports whether the session has as many tabs as it may have, so that its
// pages may open no more.
func (s *Session) Full(b Browser) bool { return s.owned(b) >= s.maxTabs() }

// gone reports whether the tab was closed.
func (t *Tab) gone() bool {
	select {
	case <-t.Page.Gone():
		return true
	default:
		return false
	}
}

func (s *Session) load(ctx context.Context, t *Tab, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	leave, err := t.Page.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	v := s.view(t)
	nav, err := v.Navigate(ctx, url, opts)
	return nav, v.Explain(ctx, err)
}
