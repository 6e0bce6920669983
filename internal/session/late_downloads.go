package session

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// reportDownloads passes the downloads of the session's tabs that have started or ended since the
// last result to the observer in ctx, if there is one. It is called at the end of every call, and
// before a call closes a tab, so that a file that arrives late is reported by the next result of any
// kind. Tabs with a running call are skipped: that call reports them.
func (s *Session) reportDownloads(ctx context.Context) {
	report, b := executor.CallOptionsOf(ctx).OnDownload, s.provider.Current()
	if report == nil || b == nil {
		return
	}
	more := 0
	for _, t := range b.Tabs() {
		if !t.wasLastUsedBy(s) || t.Page.Queue.Busy() || !t.hasTransfers() || s.view(t).Check(ctx, executor.OpList, "") != nil {
			continue
		}
		news := downloads{t, s.provider.Kind()}.now()
		for _, d := range append(news.Started, news.Earlier...) {
			report(d)
		}
		more += news.More
	}
	if reportMore := executor.CallOptionsOf(ctx).OnMoreDownloads; reportMore != nil && more > 0 {
		reportMore(more)
	}
}

// unreportedDownloads returns the transfers of the tab that have ended and whose end was not reported,
// at most maxReported of them, and the number of the others. A later result still reports them.
func (t *Tab) unreportedDownloads(kind executor.BackendKind) (list []executor.Download, more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	more = t.dropped
	for _, tr := range t.transfers {
		switch now := tr.Describe(kind); {
		case now.State == tr.reportedState || !tr.ended():
		case len(list) == maxReported:
			more++
		default:
			list = append(list, now)
		}
	}
	return list, more
}

// wasLastUsedBy reports whether the tab belongs to s or, without an owner, was last used by s.
func (t *Tab) wasLastUsedBy(s *Session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	owner := t.Owner()
	return owner == s || owner == nil && t.lastSession == s
}

// hasTransfers reports whether the tab has transfers whose end was not reported.
func (t *Tab) hasTransfers() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.transfers) > 0
}
