package page

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/evaluate"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/urlglob"
)

// WaitFor waits until all conditions are true at the same time.
func (v *View) WaitFor(ctx context.Context, opts *executor.WaitCondition) (*executor.WaitResult, error) {
	cond := *cmp.Or(opts, new(executor.WaitCondition))
	timeout := cond.Timeout
	if timeout <= 0 {
		timeout = executor.DefaultWaitTimeout
	}
	if cond.Visible.IsZero() && cond.Gone.IsZero() && cond.Text == "" && cond.TextGone == "" && cond.URL == "" && cond.Load == "" && cond.Expression == "" && cond.Time <= 0 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Set a field other than Timeout.", "nothing to wait for")
	}
	for _, target := range []executor.Target{cond.Visible, cond.Gone} {
		if err := target.Validate(); err != nil && !target.IsZero() {
			return nil, err
		}
	}
	if _, ok := lifecycleEvents[cond.Load]; cond.Load != "" && !ok {
		return nil, executor.Errorf(executor.ErrBadArgs, "Use load, domcontentloaded, networkidle or commit.", "load %q is not a state of a page", cond.Load)
	}
	w := &waitCall{v: v, cond: cond, unmet: conditionNames(cond)}
	if cond.URL != "" {
		g, err := urlglob.Compile(cond.URL)
		if err != nil {
			return nil, err
		}
		w.url = g
	}
	start := time.Now()
	if cond.Time > 0 {
		timeout += cond.Time
	}
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := v.tab.tree.Sleep(limit, cond.Time); err != nil {
		return nil, err
	}
	for {
		err := w.evaluate(limit)
		waited := time.Since(start)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && len(w.unmet) == 0:
			return &executor.WaitResult{Matched: true, Ref: w.ref, Waited: waited, Note: w.note(ctx)}, nil
		case err != nil && !errors.Is(err, frames.ErrDocumentGone) && limit.Err() == nil && !errors.Is(err, executor.ErrTimeout):
			return nil, err
		case errors.Is(err, cdpconn.ErrCallTimeout) && !w.responded && timeout >= v.tab.timing.HungPage:
			return nil, frames.TimeoutAs(err, "the page to respond")
		case limit.Err() != nil:
			return &executor.WaitResult{Waited: waited, Unmet: w.unmet, Note: w.note(ctx)}, nil
		}
		if err := w.awaitChange(limit); err != nil && ctx.Err() == nil && limit.Err() == nil && !errors.Is(err, frames.ErrDocumentGone) {
			return nil, err
		}
	}
}

// A waitCall is one call of WaitFor.
type waitCall struct {
	v         *View
	cond      executor.WaitCondition
	url       *urlglob.Pattern
	ref       executor.Ref
	visible   *elements.Element // of the ref in cond.Visible
	gone      *elements.Element // of the ref in cond.Gone
	consented string            // origin for which the user consented to run the expression
	unmet     []string          // all conditions until the page was first checked
	responded bool              // the page has responded at least once
}

// conditionNames returns the names of the page conditions in cond.
func conditionNames(cond executor.WaitCondition) []string {
	var names []string
	for _, c := range []struct{ name, value string }{
		{"url", cond.URL}, {"load", string(cond.Load)}, {"visible", cond.Visible.Selector + string(cond.Visible.Ref)}, {"gone", cond.Gone.Selector + string(cond.Gone.Ref)}, {"text", cond.Text}, {"textGone", cond.TextGone}, {"expression", cond.Expression},
	} {
		if c.value != "" {
			names = append(names, c.name)
		}
	}
	return names
}

// evaluate sets unmet to the conditions that are currently false.
func (w *waitCall) evaluate(ctx context.Context) error {
	v := w.v
	top, err := v.client.Document(ctx, executor.OpRead)
	if err != nil {
		return err
	}
	var unmet []string
	if w.url != nil && !w.url.Match(top.URL) {
		unmet = append(unmet, "url")
	}
	if w.cond.Load != "" && !w.hasReached(w.cond.Load) {
		unmet = append(unmet, "load")
	}
	if !w.cond.Visible.IsZero() {
		visible, err := w.isVisible(ctx)
		if err != nil {
			return err
		}
		if !visible {
			unmet = append(unmet, "visible")
		}
	}
	if !w.cond.Gone.IsZero() {
		gone, err := w.isGone(ctx)
		if err != nil {
			return err
		}
		if !gone {
			unmet = append(unmet, "gone")
		}
	}
	if w.cond.Text != "" || w.cond.TextGone != "" {
		has, hasGone := false, false
		for _, d := range v.client.Allowed(ctx, executor.OpRead) {
			var got [2]bool
			if err := d.Call(ctx, &got, "hasText", w.cond.Text, w.cond.TextGone); err != nil {
				if errors.Is(err, frames.ErrDocumentGone) && !d.IsTop() {
					continue
				}
				return err
			}
			has, hasGone = has || got[0], hasGone || got[1]
		}
		if w.cond.Text != "" && !has {
			unmet = append(unmet, "text")
		}
		if w.cond.TextGone != "" && hasGone {
			unmet = append(unmet, "textGone")
		}
	}
	if w.cond.Expression != "" {
		if err := v.client.Check(ctx, top, executor.OpEval, ""); err != nil {
			return err
		}
		if w.consented != top.Origin { // one prompt for all attempts
			if err := v.consent(ctx, top); err != nil {
				return err
			}
			w.consented = top.Origin
		}
		if err := v.tab.openerGroup.beginScript(); err != nil {
			return err
		}
		guarded, err := v.guardScript(ctx)
		if err != nil {
			return err
		}
		remote, exception, err := evaluate.Expression(ctx, top, w.cond.Expression, true)
		evaluate.Release(ctx, top, remote)
		if err := cmp.Or(guarded(), err); err != nil {
			return err
		}
		if exception != nil && evaluate.IsSyntaxError(exception) {
			return executor.Errorf(executor.ErrEvalFailed, "Correct the expression.", "%s", pagetext.Text(evaluate.ExceptionText(exception)))
		}
		if exception == nil && remote.IsFunctionOf(w.cond.Expression) {
			return executor.Errorf(executor.ErrBadArgs, "Call it, like (() => window.ready)(), or write its body: window.ready.", "the expression is a function, which is always true")
		}
		if exception != nil || !remote.Truthy() {
			unmet = append(unmet, "expression")
		}
	}
	w.unmet, w.responded = unmet, true
	return nil
}

// hasReached reports whether the top document has reached a state, and for UntilNetworkIdle whether
// the tab is idle now.
func (w *waitCall) hasReached(state executor.WaitUntil) bool {
	t := w.v.tab
	s := t.tree.Lock()
	defer s.Unlock()
	if event := lifecycleEvents[state]; event != "" && !s.Top().Reached(event) {
		return false
	}
	if state != executor.UntilNetworkIdle {
		return true
	}
	left, ok := t.inflight.IdleIn()
	return ok && left <= 0
}

// isVisible reports whether the element of cond.Visible is visible, and sets ref.
func (w *waitCall) isVisible(ctx context.Context) (bool, error) {
	if w.cond.Visible.Ref != "" {
		el, visible, err := w.resolve(ctx, w.cond.Visible.Ref)
		if el != nil {
			w.visible = el
		}
		w.ref = w.cond.Visible.Ref
		return visible, err
	}
	el, found, err := w.match(ctx, w.cond.Visible.Selector)
	if err == nil && found != nil {
		w.ref = w.v.elements.RefFor(el.Doc.Node(el.ID), *found)
	}
	return found != nil, err
}

// isGone reports whether no visible element matches cond.Gone.
func (w *waitCall) isGone(ctx context.Context) (bool, error) {
	if w.cond.Gone.Ref == "" {
		_, found, err := w.match(ctx, w.cond.Gone.Selector)
		return found == nil, err
	}
	el, visible, err := w.resolve(ctx, w.cond.Gone.Ref)
	if errors.Is(err, executor.ErrRefExpired) {
		return true, nil
	}
	if el != nil {
		w.gone = el
	}
	return !visible, err
}

// match returns a match of a selector, visible if there is one, and its description if it is
// visible.
func (w *waitCall) match(ctx context.Context, selector string) (el *elements.Element, found *elements.Description, err error) {
	el, err = w.v.elements.Query(ctx, selector, executor.OpRead)
	if err != nil || el == nil {
		return nil, nil, err
	}
	err = el.Doc.Call(ctx, &found, "shownMatch", el.ID)
	return el, found, err
}

// resolve returns the element of a ref and whether it is visible.
func (w *waitCall) resolve(ctx context.Context, ref executor.Ref) (el *elements.Element, visible bool, err error) {
	if el, err = w.v.elements.ResolveRef(ctx, ref, executor.OpRead); err != nil {
		return nil, false, err
	}
	err = el.Doc.Call(ctx, &visible, "isShown", el.ID)
	return el, visible, err
}

// note returns the notes on the elements of the refs in the condition.
func (w *waitCall) note(ctx context.Context) string {
	finder := w.v.elements
	visible, gone := finder.StartComparing(ctx, w.visible), finder.StartComparing(ctx, w.gone)
	return phrase.Notes(visible(), gone())
}

// awaitChange waits until the top document may have changed.
func (w *waitCall) awaitChange(ctx context.Context) error {
	d, err := w.v.tab.tree.TopDocument(ctx)
	if err != nil {
		return err
	}
	return d.AwaitChange(ctx)
}
