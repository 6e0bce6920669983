package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// Emit calls Session.Emit of all sessions.
func (r *Registry) Emit(ev executor.Event, t *Tab, frame string) {
	r.Each(func(s *Session) { s.Emit(ev, t, frame) })
}

// EmitDownload emits the state of a transfer, and records its end as Transfer.Record does, unless the
// transfer is the user's.
func (r *Registry) EmitDownload(tr *Transfer, kind executor.BackendKind, id executor.TabID, record func(audit.Entry)) {
	if tr.n == 0 {
		return
	}
	d := tr.Describe(kind)
	tr.Record(id, record)
	r.Emit(executor.Event{Kind: executor.EventDownload, Download: &d}, tr.tab, "")
}

// MayDownload returns nil if the session that owns a tab allows one of its frames to download url.
// For a tab without an owner, it returns nil if any session does.
func (r *Registry) MayDownload(t *Tab, frame, url string) error {
	return r.mayDownload(t.Owner(), func(s *Session) error { return s.view(t).CheckDownload(context.Background(), frame, url) })
}

// MayDownloadURL returns nil if any session allows a page that is not a tab to download url.
func (r *Registry) MayDownloadURL(url string) error {
	access := executor.Access{Op: executor.OpDownload, Origin: executor.OriginInternal, Destination: url}
	return r.mayDownload(nil, func(s *Session) error { return s.gate.Check(context.Background(), access) })
}

func (r *Registry) mayDownload(owner *Session, check func(*Session) error) error {
	var why error = executor.Errorf(executor.ErrPolicyDenied, "Open a session that allows downloads first.", "no session is open that could allow downloads")
	r.Each(func(s *Session) {
		if why != nil && (owner == nil || owner == s) {
			why = check(s)
		}
	})
	return why
}

// DenyDownload adds a transfer that was denied, and why. It has a name and a reason only if all
// sessions that are notified of the tab's events may read the frame that started it: the page
// controls both.
func (r *Registry) DenyDownload(t *Tab, frame, name string, why error) {
	owner, readable := t.Owner(), true
	r.Each(func(s *Session) {
		readable = readable && (owner != nil && owner != s || s.view(t).CanRead(context.Background(), frame))
	})
	denied := executor.Errorf(executor.ErrPolicyDenied, "", "the page's download was denied")
	if e, ok := errors.AsType[*executor.Error](why); ok && readable {
		denied = executor.Errorf(executor.ErrPolicyDenied, e.Hint, "the page's download was denied: %s", e.Message())
	} else {
		name = ""
	}
	t.AddTransfer(name).End(download.File{}, denied)
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

// CloseAbandoned closes a tab that the call that opened it no longer needs, also if ctx is done.
func CloseAbandoned(ctx context.Context, b BrowserInstance, t *Tab, log *slog.Logger) {
	closeUnused(ctx, b, t, timing.Current().CloseAbandoned, log)
}

// closeUnused closes a tab, also if ctx is done, and logs a failure.
func closeUnused(ctx context.Context, b BrowserInstance, t *Tab, timeout time.Duration, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if _, err := b.CloseTab(ctx, t); err != nil {
		log.Debug("closing an unused tab failed", "error", err)
	}
}
