package page

import (
	"context"
	"errors"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// maxLeft bounds the documents that are remembered after they went.
const maxLeft = 100

// noteLeft remembers the document of a frame that is about to lose it: a
// transition of the view goes on showing what has left. Those that went before
// the top document began are kept as long as it is there, as a transition
// leads from one document to the next too. t.mu must be held.
func (t *Tab) noteLeft(f *frame) {
	d := t.documentOf(f)
	if d == nil || len(t.bygone) == maxLeft || slices.ContainsFunc(t.bygone[t.bygoneFrom:], func(l *document) bool {
		return l.frame == d.frame && l.origin == d.origin && l.url == d.url
	}) {
		return
	}
	t.bygone = append(t.bygone, d)
}

// askTransits asks the documents that the gate lets be read whether a
// transition of the view runs in them.
func (v *View) askTransits(ctx context.Context) (func() (bool, error), error) {
	docs := v.allowed(ctx, executor.OpRead)
	pending := make([]*cdpconn.Pending, len(docs))
	for i, d := range docs {
		p, err := d.start(ctx, "transits")
		if errors.Is(err, errDocumentGone) && !d.top() {
			continue
		}
		if err != nil {
			return nil, err
		}
		pending[i] = p
	}
	return func() (bool, error) {
		for i, p := range pending {
			if p == nil {
				continue // it has gone
			}
			var runs bool
			if err := docs[i].finish(ctx, p, &runs); err != nil && !errors.Is(err, errDocumentGone) {
				return false, err
			}
			if runs {
				return true, nil
			}
		}
		return false, nil
	}, nil
}

// transits returns an error if a view transition may show a previous document that
// the gate denies, or a denied document that was hidden after the transition
// started.
func (v *View) transits(ctx context.Context, ask func() (bool, error), hidden bool) error {
	if runs, err := ask(); err != nil || !runs {
		return err
	}
	t := v.tab
	t.mu.Lock()
	left := slices.Clone(t.bygone)
	t.mu.Unlock()
	denied := hidden || len(left) == maxLeft // there may have been more
	for _, d := range left {
		denied = denied || v.check(ctx, d, executor.OpRead, "") != nil
	}
	if denied {
		return executor.Errorf(executor.ErrPolicyDenied, "Take a snapshot instead, or the screenshot again when the transition is over.",
			"a transition of the page may show a document that the policy denies")
	}
	return nil
}

// framesLeft reports whether the tab has had a frame that went.
func (t *Tab) framesLeft() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.bygone {
		if !d.top() {
			return true
		}
	}
	return false
}
