package session

import (
	"context"
	"errors"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// maxSent is how many sent elements of a tab are stored until a call reports them.
const maxSent = 5

// ElementSent stores the element that the user sends to the client: the target of the last
// contextmenu event, as [page.Tab.TakePointed] returns it.
func (t *Tab) ElementSent(ctx context.Context, top bool, url string) {
	ctx, cancel := context.WithTimeout(ctx, timing.Current().FindSent)
	defer cancel()
	e := t.Page.TakePointed(ctx, top, url) // nil is also stored: the note reports an unknown element
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.sent) == maxSent {
		t.sent = t.sent[1:]
	}
	t.sent = append(t.sent, e)
}

// takeSent removes and returns the sent elements of the tab if s reports them: if s opened the tab
// or used it last, or no open session has used it. While the tab is handed over, it returns none.
func (t *Tab) takeSent(s *Session) []*page.PointedElement {
	if t.Page.HandedOver() {
		return nil
	}
	owner := t.Owner()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.sent) == 0 || owner != nil && owner != s || t.lastSession != nil && t.lastSession != s && t.lastSession.alive() == nil {
		return nil
	}
	sent := t.sent
	t.sent = nil
	return sent
}

// noticeSent reports the elements that the user has sent since the last call.
func (s *Session) noticeSent(ctx context.Context, b BrowserInstance) {
	if executor.CallOptionsOf(ctx).OnSentElement == nil {
		return
	}
	for _, t := range b.Tabs() {
		for _, e := range t.takeSent(s) {
			s.reportSent(ctx, b, t, e)
		}
	}
}

// reportSent reports a sent element, unless the gate denies its document.
func (s *Session) reportSent(ctx context.Context, b BrowserInstance, t *Tab, e *page.PointedElement) {
	ctx, cancel := context.WithTimeout(ctx, s.timing.DescribeSent)
	defer cancel()
	v := s.view(t)
	if v.Check(ctx, executor.OpList, "") != nil {
		return
	}
	sent := &executor.SentElement{}
	if e != nil {
		got, err := v.DescribePointed(ctx, e)
		switch {
		case errors.Is(err, executor.ErrPolicyDenied) || errors.Is(err, executor.ErrConsentRequired):
			return
		case err == nil:
			sent = got
			v.Entered.Mask(sent)
		}
	}
	sent.Tab = s.ids.of(b, t)
	sent.Report(ctx)
}
