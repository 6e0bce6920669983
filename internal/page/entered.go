package page

import (
	"context"
	"slices"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/entered"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// promptAnswered stores what the user entered in the open prompt dialog if the tab is handed over.
func (t *Tab) promptAnswered(s *frames.State, text string) {
	d := t.dialogs.Open()
	if d == nil || !t.HandedOver() {
		return
	}
	if doc := s.Document(s.Frame(d.FrameOr(t.main))); doc != nil {
		t.entered.Add(doc.World, []string{text})
	}
}

// An entryMasker masks what the user entered in the tabs of an opener group in what a client
// receives of one of them.
type entryMasker struct {
	tab     *Tab
	client  *frames.Client
	secrets executor.Secrets // whose values are masked as well; may be nil
}

// checkMasked returns an error if op depends on the content of a document in which the user entered
// something that is not masked yet. It calls the page only for such an operation: others are also checked
// while events are handled.
func (e *entryMasker) checkMasked(ctx context.Context, d *frames.Document, op executor.Operation) error {
	err := e.tab.entered.CheckMasked(d, op)
	if err != nil && e.tab.entered.HasReturned(d) { // possibly during this call
		e.MaskPending(ctx)
		err = e.tab.entered.CheckMasked(d, op)
	}
	return err
}

// watchFields makes d, a document of t, record in which fields the user enters something.
// duringHandover means that the user may already have done so: d has become known during the
// handover.
func (e *entryMasker) watchFields(ctx context.Context, t *Tab, d *frames.Document, duringHandover bool) {
	if e.checkQuietly(ctx, d) != nil {
		return
	}
	t.entered.Watched(d)
	limit, cancel := context.WithTimeout(ctx, t.timing.WatchFields)
	defer cancel()
	elements.FindClosedRoots(limit, d)
	sending, cancel := context.WithTimeout(ctx, t.timing.WatchFields)
	defer cancel()
	p, err := d.Start(sending, "watchFields")
	if err == nil && (duringHandover || d.Finish(limit, p, nil) != nil) {
		// If the page is hung, the user may have entered something when it responds.
		_, _ = d.Start(sending, "distrustContents")
	}
}

// maskFields makes documents of a tab mask the fields that the user has changed, and stores their
// values. Until a document has done that, [frames.Client.Check] denies reading it. A document that
// does not respond does not delay the others.
func (e *entryMasker) maskFields(ctx context.Context, t *Tab, docs []*frames.Document) {
	t.entered.MustMask(docs)
	ctx, cancel := context.WithTimeout(ctx, t.timing.Mask)
	defer cancel()
	var wg sync.WaitGroup
	for _, d := range docs {
		wg.Go(func() {
			if e.checkQuietly(ctx, d) != nil {
				return // it stays unmasked until a client whose gate allows it masks it
			}
			elements.FindClosedRoots(ctx, d)
			var got struct {
				Values []string `json:"values"`
				Parsed bool     `json:"parsed"`
			}
			if d.Call(ctx, &got, "maskEntered") == nil {
				t.entered.Add(d.World, got.Values)
				// The browser fills the fields of a document that returns while it parses it.
				if got.Parsed || !t.entered.HasReturned(d) {
					t.entered.Masked(d)
				}
			}
		})
	}
	wg.Wait()
}

// MaskPending masks the documents that could not mask their fields at the end of a handover. It
// must be called before each call on the tab.
func (e *entryMasker) MaskPending(ctx context.Context) {
	if docs := e.tab.entered.Pending(e.tab.tree.Documents()...); len(docs) > 0 {
		e.maskFields(ctx, e.tab, docs)
	}
}

// checkQuietly checks whether the gate allows reading d, without reporting the decision.
func (e *entryMasker) checkQuietly(ctx context.Context, d *frames.Document) error {
	return e.client.CheckGate(executor.WithCallOptions(ctx, executor.CallOptions{OnDecision: func(executor.Decision) {}}), d, executor.OpRead, "")
}

// entered returns the values that the user entered in the documents of the group: a page can show
// what was entered in another page of the group.
func (g *openerGroup) entered() (values []string) {
	if !g.wasHandedOver() {
		return nil
	}
	for _, m := range g.members() {
		values = append(values, m.entered.Of(m.tree.Documents())...)
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// masker returns a masker of what the user entered in the documents of the group, or nil if the
// user entered nothing.
func (g *openerGroup) masker() *entered.Masker {
	values := g.entered()
	if len(values) == 0 {
		return nil
	}
	return entered.NewMasker(values)
}

// maskTruncated masks the start of what the user entered at the ends of truncated values.
func (e *entryMasker) maskTruncated(items []executor.Item) {
	if m := e.tab.openerGroup.masker(); m != nil {
		m.MaskTruncated(items)
	}
}

// Mask masks the values that the user entered in the documents of the opener group of the tab in
// what a client receives, which it changes.
func (e *entryMasker) Mask(value any) {
	if m := e.tab.openerGroup.masker(); m != nil {
		m.MaskValue(value)
	}
}

// Any reports whether Mask masks anything.
func (e *entryMasker) Any() bool { return len(e.tab.openerGroup.entered()) > 0 }

// MaskError masks the values that the user entered in an error.
func (e *entryMasker) MaskError(err error) error {
	if m := e.tab.openerGroup.masker(); m != nil {
		return m.MaskError(err)
	}
	return err
}

// wholeSpans returns the part s[start:end], extended by the rest of what is masked at its ends:
// values of secrets, and what the user entered.
func (e *entryMasker) wholeSpans(s string, start, end int) (int, int) {
	var maskers []entered.Spans
	if m, ok := e.secrets.(entered.Spans); ok {
		maskers = append(maskers, m)
	}
	if m := e.tab.openerGroup.masker(); m != nil {
		maskers = append(maskers, m)
	}
	return entered.WholeSpans(s, start, end, maskers...)
}
