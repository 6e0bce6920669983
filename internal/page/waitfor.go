package page

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gobwas/glob"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// lookInterval is how often WaitFor looks again when nothing in the document
// changed: a class, a value or a clock may have.
const lookInterval = 100 * time.Millisecond

// WaitFor waits until all conditions hold at once.
func (v *View) WaitFor(ctx context.Context, cond executor.WaitCondition) (*executor.WaitResult, error) {
	timeout := cond.Timeout
	if timeout <= 0 {
		timeout = executor.DefaultWaitTimeout
	}
	if cond.Selector == "" && cond.Text == "" && cond.TextGone == "" && cond.Gone == "" && cond.URL == "" && cond.Expression == "" && cond.Time <= 0 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Give selector, text, textGone, gone, url, timeMs or expression.", "nothing to wait for")
	}
	w := &waiter{v: v, cond: cond, unmet: named(cond)}
	if cond.URL != "" {
		g, err := urlGlob(cond.URL)
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
	if err := v.tab.pass(limit, cond.Time); err != nil {
		return nil, err
	}
	for {
		err := w.look(limit)
		waited := time.Since(start).Milliseconds()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && len(w.unmet) == 0:
			return &executor.WaitResult{Matched: true, Ref: w.ref, WaitedMS: waited}, nil
		case err != nil && !errors.Is(err, errDocumentGone) && limit.Err() == nil && !errors.Is(err, executor.ErrTimeout):
			return nil, err
		case errors.Is(err, cdpconn.ErrNoAnswer) && !w.looked && timeout >= hangAnswer:
			return nil, timeoutAs(err, "the page to answer")
		case limit.Err() != nil:
			return &executor.WaitResult{WaitedMS: waited, Unmet: w.unmet}, nil
		}
		if err := w.change(limit); err != nil && ctx.Err() == nil && limit.Err() == nil && !errors.Is(err, errDocumentGone) {
			return nil, err
		}
	}
}

// pass lets time pass, unless a dialog opens meanwhile or the tab goes.
func (t *Tab) pass(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := t.await(limit, func() (bool, error) {
		if t.dialog != nil {
			return false, t.dialog.error()
		}
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

// A waiter is one WaitFor.
type waiter struct {
	v         *View
	cond      executor.WaitCondition
	url       *glob.Pattern
	ref       executor.Ref
	consented string   // origin for which the user consented to the expression
	unmet     []string // all of them until the page was checked
	// looked: the page has answered at least once
	looked bool
}

// named lists the conditions of the page that are waited for.
func named(cond executor.WaitCondition) []string {
	var names []string
	for _, c := range []struct{ name, value string }{
		{"url", cond.URL}, {"selector", cond.Selector}, {"gone", cond.Gone}, {"text", cond.Text}, {"textGone", cond.TextGone}, {"expression", cond.Expression},
	} {
		if c.value != "" {
			names = append(names, c.name)
		}
	}
	return names
}

// look sets unmet to the conditions that do not hold now.
func (w *waiter) look(ctx context.Context) error {
	v := w.v
	top, err := v.document(ctx, executor.OpRead)
	if err != nil {
		return err
	}
	var unmet []string
	if w.url != nil && !w.url.Match(top.url) {
		unmet = append(unmet, "url")
	}
	if w.cond.Selector != "" {
		el, visible, err := w.match(ctx, w.cond.Selector)
		if err != nil {
			return err
		}
		if visible {
			w.ref = v.mint(el.doc.world, el.id, label{})
		} else {
			unmet = append(unmet, "selector")
		}
	}
	if w.cond.Gone != "" {
		gone, err := w.gone(ctx)
		if err != nil {
			return err
		}
		if !gone {
			unmet = append(unmet, "gone")
		}
	}
	if w.cond.Text != "" || w.cond.TextGone != "" {
		has, hasGone := false, false
		for _, d := range v.allowed(ctx, executor.OpRead) {
			var got [2]bool
			if err := d.call(ctx, &got, "hasText", w.cond.Text, w.cond.TextGone); err != nil {
				if errors.Is(err, errDocumentGone) && !d.top() {
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
		if err := v.check(ctx, top, executor.OpEval, ""); err != nil {
			return err
		}
		if w.consented != top.origin { // one prompt for all attempts
			if err := v.consent(ctx, top); err != nil {
				return err
			}
			w.consented = top.origin
		}
		remote, exception, err := top.evaluate(ctx, "!!("+w.cond.Expression+"\n)", true)
		if err != nil {
			return err
		}
		if exception != nil && isSyntaxError(exception) {
			return executor.Errorf(executor.ErrEvalFailed, "Correct the expression.", "%s", pagetext.Text(exceptionText(exception)))
		}
		if exception != nil || string(remote.Value) != "true" {
			unmet = append(unmet, "expression")
		}
	}
	w.unmet, w.looked = unmet, true
	return nil
}

// match finds a visible match of a selector.
func (w *waiter) match(ctx context.Context, selector string) (el *element, visible bool, err error) {
	el, err = w.v.query(ctx, selector, executor.OpRead)
	if err != nil || el == nil {
		return nil, false, err
	}
	err = el.doc.call(ctx, &visible, "isShown", el.id)
	return el, visible, err
}

// gone reports whether nothing visible is left of cond.Gone.
func (w *waiter) gone(ctx context.Context) (bool, error) {
	if ref, err := executor.ParseRef(w.cond.Gone); err == nil {
		el, err := w.v.resolveRef(ctx, ref, executor.OpRead)
		if errors.Is(err, executor.ErrRefExpired) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		var visible bool
		err = el.doc.call(ctx, &visible, "isShown", el.id)
		return !visible, err
	}
	_, visible, err := w.match(ctx, w.cond.Gone)
	return !visible, err
}

// change waits until something in the top document may have changed.
func (w *waiter) change(ctx context.Context) error {
	d, err := w.v.tab.document(ctx)
	if err != nil {
		return err
	}
	return d.call(ctx, nil, "nextChange", lookInterval.Milliseconds())
}

// urlGlob compiles a pattern on URLs in which * stands for any run of
// characters and everything else for itself.
func urlGlob(pattern string) (*glob.Pattern, error) {
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = glob.QuoteMeta(p)
	}
	g, err := glob.Compile(strings.Join(parts, "*"))
	if err != nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "Use * for any run of characters.", "pattern %q: %w", pattern, err)
	}
	return g, nil
}
