package session

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// An IdleCloser is a BrowserProvider that closes a browser that no call uses.
type IdleCloser interface {
	// TakeIdleReport returns what s had open in the browser that was closed, or nil. It returns it only
	// once.
	TakeIdleReport(s *Session) *executor.IdleClose
}

// A Continuer is a BrowserInstance that may continue on the profile of a browser that was closed
// because no call used it.
type Continuer interface {
	// Continues reports whether it does.
	Continues() bool
}

func continues(b BrowserInstance) bool {
	c, ok := b.(Continuer)
	return ok && c.Continues()
}

// reportIdleClose returns the error of the first call after the browser with tabs of the session was
// closed because no call used it.
func reportIdleClose(ctx context.Context, s *Session) error {
	if closer, ok := s.provider.(IdleCloser); ok {
		if c := closer.TakeIdleReport(s); c != nil {
			return c.Report(ctx, hintOpenTab)
		}
	}
	return nil
}

// BeforeIdleClose returns, for a browser that is about to be closed, the tabs of the session and of
// no session with their unreported downloads, or nil if there are none.
func (s *Session) BeforeIdleClose(ctx context.Context, b BrowserInstance) *executor.IdleClose {
	c := new(executor.IdleClose)
	open := false
	for _, t := range b.Tabs() {
		if owner := t.Owner(); owner != nil && owner != s {
			continue
		}
		open = true
		if url := s.describe(ctx, b, t).URL; url != executor.DeniedURL && url != "about:blank" {
			c.URLs = append(c.URLs, url)
		}
		if t.wasLastUsedBy(s) && s.view(t).Check(ctx, executor.OpList, "") == nil {
			ended, more := t.unreportedDownloads(s.provider.Kind())
			fits := min(len(ended), maxReported-len(c.Downloads))
			c.Downloads = append(c.Downloads, ended[:fits]...)
			c.MoreDownloads += more + len(ended) - fits
		}
	}
	if !open || s.alive() != nil {
		return nil
	}
	return c
}
