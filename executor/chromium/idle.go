package chromium

import (
	"context"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/statefile"
)

var (
	_ session.IdleCloser = sessionProvider{}
	_ session.Continuer  = (*instance)(nil)
)

// A keptState is what remains of a browser with a temporary profile that CloseIdle closed. The next
// browser continues with it.
type keptState struct {
	profile *profiles.Profile
	cookies []statefile.Cookie // session cookies, which the profile does not contain
}

// CloseIdle closes the browser because no call has used it for the time after, and reports whether it
// did. It closes only a headless browser that the Backend has launched, outside of a Pool, and not
// while a call, a download, a dialog, a handover or a CDP client needs it. No tab is opened again: the
// next call of each session that had tabs returns ErrTargetGone, and its observer gets their URLs; see
// executor.CallOptions.OnIdleClose. The next browser continues with the cookies and the storage of a
// temporary profile.
//
// The caller cancels ctx before a call starts. Before CloseIdle closes the browser, it returns false
// when ctx is done.
func (b *Backend) CloseIdle(ctx context.Context, after time.Duration) bool {
	in := b.running()
	if in == nil || !in.closesIdle() {
		return false
	}
	var kept *keptState
	if in.opts.Isolated {
		cookies, err := in.AllCookies(ctx)
		if err != nil {
			if ctx.Err() == nil {
				b.log.Warn("an idle browser stays open: its cookies cannot be read", "error", err)
			}
			return false
		}
		cookies = slices.DeleteFunc(cookies, func(c statefile.Cookie) bool { return c.Expires > 0 })
		kept = &keptState{in.proc.Profile, cookies}
	}
	closed, open := make(map[*session.Session]*executor.IdleClose), make(map[*session.Session]bool)
	listing, cancel := context.WithTimeout(ctx, in.opts.timing.SharedTitles)
	b.sessions.Each(func(s *session.Session) {
		open[s] = true
		if c := s.BeforeIdleClose(listing, in); c != nil {
			c.After = after
			closed[s] = c
		}
	})
	cancel()
	b.mu.Lock()
	if ctx.Err() != nil || b.closed || b.instance != in || !in.closesIdle() {
		b.mu.Unlock()
		return false
	}
	in.evicted.Store(executor.Errorf(executor.ErrTargetGone, "", "the browser was closed after %v without calls", after))
	if kept != nil {
		kept.profile.Kept = true
		b.kept = kept
	}
	b.addIdleReports(closed, open)
	b.forgetInstance(in)
	b.mu.Unlock()
	b.log.Info("closing the browser: no call has used it", "after", after)
	if err := in.close(); err != nil {
		b.log.Warn("cleanup failed", "error", err)
	}
	return true
}

// addIdleReports stores the reports in closed, and retains those that open sessions have not received.
// b.mu must be held.
func (b *Backend) addIdleReports(closed map[*session.Session]*executor.IdleClose, open map[*session.Session]bool) {
	for s, earlier := range b.idleReports {
		if c := closed[s]; c != nil {
			urls := slices.Concat(earlier.URLs, c.URLs)
			c.URLs = urls[max(0, len(urls)-executor.DefaultMaxTabs):]
			c.Downloads = slices.Concat(earlier.Downloads, c.Downloads)
			c.MoreDownloads += earlier.MoreDownloads
		} else if open[s] {
			closed[s] = earlier
		}
	}
	b.idleReports = closed
}

// closesIdle reports whether CloseIdle may close the browser.
func (in *instance) closesIdle() bool {
	if in.proc == nil || !in.proc.Headless || in.pooled != nil || in.clients.connected.Load() > 0 {
		return false
	}
	return in.tabs.pending()+in.downloads.pending() == 0 && !slices.ContainsFunc(in.Tabs(), func(t *session.Tab) bool {
		return t.Page.Queue.Busy() || t.Page.HandedOver() || t.Page.HasDialog()
	})
}

// TakeIdleReport implements session.IdleCloser.
func (b sessionProvider) TakeIdleReport(s *session.Session) *executor.IdleClose {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.idleReports[s]
	delete(b.idleReports, s)
	return c
}

// Continues implements session.Continuer.
func (in *instance) Continues() bool { return in.continues }

// restoreKept lets the browser of in, which has just started, continue with what CloseIdle kept.
func (in *instance) restoreKept(ctx context.Context, kept *keptState) {
	if in.AddCookies(ctx, kept.cookies) != nil { // if the browser rejects one, it sets none
		for _, c := range kept.cookies {
			if err := in.AddCookies(ctx, []statefile.Cookie{c}); err != nil {
				in.backend.log.Warn("a session cookie of the closed browser was not restored", "domain", c.Domain, "error", err)
			}
		}
	}
	kept.profile.Kept, in.continues = false, true
}

// discardKept removes the temporary profile that no browser uses. It is called when the Backend is
// closed and its browsers have exited.
func (b *Backend) discardKept() error {
	b.mu.Lock()
	kept := b.kept
	b.kept = nil
	b.mu.Unlock()
	if kept == nil {
		return nil
	}
	kept.profile.Kept = false
	return kept.profile.Release(context.Background())
}
