package page

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/dialogs"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// The top document may be the result of a form that was sent by POST. A reload sends the form
// again, and a step in the history does if the browser finds no response in a cache. Only the
// browser knows which request it makes, so requests for documents are paused while a call could
// cause one.

// A resubmissionGuard fails the requests by which the top frame of a tab would load again what was
// made by sending a form. The current document stays.
type resubmissionGuard struct {
	tab     *Tab
	before  navigationState
	hint    string // of its error
	denied  atomic.Bool
	decided atomic.Bool // a request for the top document was paused
	reloads atomic.Bool // a script requested a reload
}

// The hints of a resubmissionGuard. The page of a history entry can only be loaded again when it is
// shown.
const (
	hintResubmit = "Stay on the page. To send the form again, use Page.Reload with NavigateOptions.Resubmit."
	hintHistory  = "Stay on the page, or load another one with Page.Navigate."
)

// documentPatterns pause the requests for documents, and their responses: only the response shows
// that no cache has a page of the history.
var documentPatterns = []map[string]any{
	{"urlPattern": "*", "resourceType": network.ResourceTypeDocument, "requestStage": "Request"},
	{"urlPattern": "*", "resourceType": network.ResourceTypeDocument, "requestStage": "Response"},
}

// guardResubmission installs a guard until its end is called. Another client may intercept the
// requests of the tab. Then it returns an error, unless the document is known to be made by GET,
// and a nil guard otherwise.
func (v *View) guardResubmission(ctx context.Context, hint string) (*resubmissionGuard, error) {
	g, err := v.installGuard(ctx, hint, v.tab.tree.Command)
	if executor.CodeOf(err) == executor.ErrCDP && v.tab.madeByGET() {
		return nil, nil
	}
	return g, err
}

// installGuard installs a guard with send, which sends a command and waits for the response.
func (v *View) installGuard(ctx context.Context, hint string, send func(ctx context.Context, method string, params, result any) error) (*resubmissionGuard, error) {
	t := v.tab
	g := &resubmissionGuard{tab: t, before: v.navigationState(), hint: hint}
	t.Interception.guard.Store(g)
	c := t.Interception.command(true)
	if err := send(ctx, c.Method, c.Params, nil); err != nil {
		g.end(ctx)
		return nil, err
	}
	return g, nil
}

// end removes the guard.
func (g *resubmissionGuard) end(ctx context.Context) {
	if g == nil {
		return
	}
	g.tab.Interception.guard.Store(nil)
	c := g.tab.Interception.command(false)
	_, _ = g.tab.sess.Start(context.WithoutCancel(ctx), c.Method, c.Params)
}

// error returns ErrNavigationFailed if the guard has failed a request.
func (g *resubmissionGuard) error() error {
	if g == nil || !g.denied.Load() {
		return nil
	}
	return executor.Errorf(executor.ErrNavigationFailed, g.hint, "this page was made by sending a form; loading it again sends it again")
}

// command returns the command that pauses the requests of the page that its components need
// paused. guarded means that a resubmissionGuard is one of them.
func (i *interception) command(guarded bool) cdpconn.Command {
	c := i.emulation.Headers().Interception()
	if i.filtering.Load() {
		c = i.filter.command()
	}
	if !guarded {
		return c
	}
	params, _ := c.Params.(map[string]any)
	patterns, _ := params["patterns"].([]map[string]any)
	return cdpconn.Command{Method: "Fetch.enable", Params: map[string]any{
		"patterns": append(slices.Clone(patterns), documentPatterns...), "handleAuthRequests": params["handleAuthRequests"] == true,
	}}
}

// isResponse reports whether a request was paused at its response.
func isResponse(e fetch.EventRequestPaused) bool {
	return e.ResponseErrorReason != "" || e.ResponseStatusCode != 0
}

// denies decides on a paused request for the top document.
func (g *resubmissionGuard) denies(e fetch.EventRequestPaused) bool {
	s := g.tab.tree.Lock()
	n, known := s.TopNavigation()
	s.Unlock()
	known = known && string(n.Loader) == string(e.NetworkID)
	denied := false
	switch {
	case e.Request.Method != "POST":
	case known && !n.Again: // a form that the page itself sends
	case isResponse(e):
		denied = e.ResponseErrorReason != ""
	default:
		// The browser takes the page of a history entry only from a cache if it was made by POST.
		denied = !known || !n.History
	}
	return denied
}

// decide records that a request for the top document was answered. It is called after the answer
// was sent: the guard may end then, and the browser continues the requests that are still paused.
func (g *resubmissionGuard) decide(denied bool) {
	g.denied.Store(g.denied.Load() || denied)
	g.decided.Store(true)
	g.tab.tree.Changes.Notify()
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
func (v *View) loadAgain(ctx context.Context, resubmit bool, method string, params any) (*navigationResult, error) {
	before := v.navigationState()
	if !resubmit {
		hint := hintHistory
		if method == cdppage.CommandReload {
			hint = hintResubmit
		}
		g, err := v.guardResubmission(ctx, hint)
		if err != nil {
			return nil, err
		}
		defer g.end(ctx)
	}
	var n *navigationResult
	err := v.tab.tree.Command(ctx, method, params, nil)
	if err == nil {
		n, err = v.waitForCommit(ctx, before)
	}
	if d := v.tab.dialogs.Open(); d != nil && resubmit {
		d.Resubmit.Store(true)
	}
	if ctx.Err() != nil {
		v.stop() // before the guard ends
	}
	return n, err
}

// guardScript is called before a script of the client runs, and done after it. The script may
// reload the page. done returns ErrNavigationFailed if that would have sent a form again.
func (v *View) guardScript(ctx context.Context) (done func() error, err error) {
	t := v.tab
	if t.madeByGET() {
		return func() error { return nil }, nil
	}
	g, err := v.guardResubmission(ctx, hintResubmit)
	if executor.CodeOf(err) == executor.ErrCDP { // another client intercepts the requests: a script needs a grant anyway
		g, err = nil, nil
	}
	if err != nil || g == nil {
		return func() error { return nil }, err
	}
	return func() error {
		defer g.end(ctx)
		if !g.reloads.Load() {
			return nil
		}
		return g.await(ctx)
	}, nil
}

// await waits for the request that follows a reload, and returns the error of the guard.
func (g *resubmissionGuard) await(ctx context.Context) error {
	if g == nil {
		return nil
	}
	t := g.tab
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.timing.ErrorPage)
	defer cancel()
	_ = t.tree.Await(limit, func(s *frames.State) (bool, error) {
		return g.decided.Load() || t.dialogs.Open() != nil || s.Top().Loader() != g.before.loader, nil
	})
	return g.error()
}

// guardLeaving is called before the answer to a dialog that delays leaving the page: the page may
// be left because it is loaded again. It returns nil if no guard is needed.
func (v *View) guardLeaving(ctx context.Context, d *dialogs.Dialog, a executor.DialogAnswer) (*resubmissionGuard, error) {
	if d.Type != executor.DialogBeforeUnload || !a.Accept || d.Resubmit.Load() || v.tab.madeByGET() {
		return nil, nil
	}
	return v.installGuard(ctx, hintResubmit, v.tab.sess.Call) // Tree.Command does not wait while a dialog is open
}

// reloadRequested records that a script requested a reload of a frame.
func (i *interception) reloadRequested(id cdp.FrameID) {
	if g := i.guard.Load(); g != nil && id == i.tree.TopFrame() {
		g.reloads.Store(true)
	}
}
