package frames

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

type unblocked struct{ noObserver }

func (unblocked) DialogError() error { return nil }

// TestAllowedBelowUnknown checks that a document is not allowed below one that is not known, whose site
// may be denied. An empty document that no event reports does not matter.
func TestAllowedBelowUnknown(t *testing.T) {
	page, other := new(cdpconn.Session), new(cdpconn.Session)
	tree := New(page, "T", unblocked{}, "", slog.New(slog.DiscardHandler), timing.Current())
	s := tree.Lock()
	s.frameAttached(page, "initial", "T")
	s.frameAttached(page, "in initial", "initial")
	s.frameMoved(other, "hung", "T")
	s.frames["hung"].worldOverdue = true
	s.frameMoved(page, "in hung", "hung")
	for _, id := range []cdp.FrameID{"T", "in initial", "in hung"} {
		s.frames[id].world = &executionContext{id: string(id), origin: "https://a.test"}
	}
	s.Unlock()
	c := &Client{
		Tree: tree, Gate: executor.AllowAll, OpenedBySession: func() bool { return true },
		CheckMasked: func(context.Context, *Document, executor.Operation) error { return nil },
	}
	var got []string
	for _, d := range c.Allowed(t.Context(), executor.OpRead) {
		got = append(got, string(d.Frame))
	}
	if s := strings.Join(got, ", "); s != "T, in initial" {
		t.Errorf("allowed: %s", s)
	}
}
