package page

import (
	"context"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/dialogs"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/interception"
)

// The hints of an [interception.ResubmissionGuard].
const (
	hintResubmit = "Stay on the page. To send the form again, use Page.Reload with NavigateOptions.Resubmit."
	hintHistory  = "Stay on the page, or load another one with Page.Navigate. To send the form again, pass NavigateOptions.Resubmit."
)

// guardResubmission installs a guard until its End is called. Another client may intercept the
// requests of the tab. Then it returns an error, unless the document is known to be made by GET,
// and a nil guard otherwise.
func (v *View) guardResubmission(ctx context.Context, hint string, blanks bool) (*interception.ResubmissionGuard, error) {
	g, err := v.tab.Interception.GuardResubmission(ctx, hint, blanks, v.tab.tree.Command)
	if executor.CodeOf(err) == executor.ErrCDP && v.tab.madeByGET() {
		return nil, nil
	}
	return g, err
}

// madeByGET reports whether the top document is known to be the result of a GET request.
func (t *Tab) madeByGET() bool {
	s := t.tree.Lock()
	defer s.Unlock()
	f := s.Top()
	return t.responses.Of(f.Loader()).Method == "GET" || frames.IsBlank(f.URL())
}

// loadAgain runs a command that loads a page again, and waits until the page has committed. It
// returns ErrNavigationFailed if that would send a form again, unless resubmit is set.
func (n *navigation) loadAgain(ctx context.Context, resubmit bool, method string, params any) error {
	hint := hintHistory
	if method == cdppage.CommandReload {
		if resubmit {
			return n.send(ctx, true, method, params)
		}
		hint = hintResubmit
	}
	g, err := n.v.guardResubmission(ctx, hint, false)
	if err != nil {
		return err
	}
	err = n.send(ctx, false, method, params)
	resends := n.tab.Interception.ResubmissionError() != nil
	g.End(ctx)
	if !resends || !resubmit {
		return err
	}
	// No cache has the page of the history.
	if g, err = n.v.guardResubmission(ctx, hint, true); err != nil {
		return err
	}
	err = n.send(ctx, true, method, params)
	g.End(ctx)
	if err != nil {
		return err
	}
	n.before = navigationStateOf(n.tab.tree)
	return n.send(ctx, true, cdppage.CommandReload, nil)
}

// send runs a command that loads a page again, and waits until the page has committed. resubmit means
// that it may send a form.
func (n *navigation) send(ctx context.Context, resubmit bool, method string, params any) error {
	n.tab.acted.Store(resubmit)
	err := n.tab.tree.Command(ctx, method, params, nil)
	if err == nil {
		err = n.waitForCommit(ctx)
	}
	if d := n.tab.dialogs.Open(); d != nil && resubmit {
		d.Resubmit.Store(true)
	}
	if ctx.Err() != nil {
		n.stop() // before the guard ends
	}
	return err
}

// guardScript is called before a script of the client runs, and done after it. The script may
// reload the page. done returns ErrNavigationFailed if that would have sent a form again.
func (v *View) guardScript(ctx context.Context) (done func() error, err error) {
	t := v.tab
	if t.madeByGET() {
		return func() error { return nil }, nil
	}
	g, err := v.guardResubmission(ctx, hintResubmit, false)
	if executor.CodeOf(err) == executor.ErrCDP { // another client intercepts the requests: a script needs a grant anyway
		g, err = nil, nil
	}
	if err != nil || g == nil {
		return func() error { return nil }, err
	}
	return func() error {
		defer g.End(ctx)
		if !g.Reloads() {
			return nil
		}
		return g.Await(ctx)
	}, nil
}

// guardLeaving is called before the answer to a dialog that delays leaving the page: the page may
// be left because it is loaded again. It returns nil if no guard is needed.
func (v *View) guardLeaving(ctx context.Context, d *dialogs.Dialog, a executor.DialogAnswer) (*interception.ResubmissionGuard, error) {
	if d.Type != executor.DialogBeforeUnload || !a.Accept || d.Resubmit.Load() || v.tab.madeByGET() {
		return nil, nil
	}
	return v.tab.Interception.GuardResubmission(ctx, hintResubmit, false, v.tab.sess.Call) // Tree.Command does not wait while a dialog is open
}
