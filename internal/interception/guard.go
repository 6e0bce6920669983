package interception

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// The top document may be the result of a form that was sent by POST. A reload sends the form
// again, and a step in the history does if the browser finds no response in a cache. Only the
// browser knows which request it makes, so requests for documents are paused while a call could
// cause one.

// A ResubmissionGuard fails the requests by which the top frame of a tab would load again what was made by
// sending a form. The current document stays.
//
// A blanking ResubmissionGuard answers them with an empty page, for a step in the history whose page no cache has:
// the browser would show a page that asks its user to reload. The caller reloads the empty page, which
// sends the form.
type ResubmissionGuard struct {
	in      *Interception
	loader  cdp.LoaderID // of the top document before
	hint    string       // of its error
	blanks  bool
	failed  atomic.Bool // it has failed a request
	decided atomic.Bool // a request for the top document was paused
	reloads atomic.Bool // a script requested a reload
}

// documentPatterns pause the requests for documents, and their responses: only the response shows
// that no cache has a page of the history.
var documentPatterns = []map[string]any{
	{"urlPattern": "*", "resourceType": network.ResourceTypeDocument, "requestStage": "Request"},
	{"urlPattern": "*", "resourceType": network.ResourceTypeDocument, "requestStage": "Response"},
}

// GuardResubmission installs a guard until its End is called. hint is that of its error. blanks means that it is a
// blanking guard. send sends a command and waits for the response.
func (i *Interception) GuardResubmission(ctx context.Context, hint string, blanks bool, send func(ctx context.Context, method string, params, result any) error) (*ResubmissionGuard, error) {
	s := i.opts.Tree.Lock()
	g := &ResubmissionGuard{in: i, loader: s.Top().Loader(), hint: hint, blanks: blanks}
	s.Unlock()
	i.guard.Store(g)
	c := i.command(true)
	if err := send(ctx, c.Method, c.Params, nil); err != nil {
		g.End(ctx)
		return nil, err
	}
	return g, nil
}

// ResubmissionError returns ErrNavigationFailed if the guard has failed a request.
func (i *Interception) ResubmissionError() error { return i.guard.Load().error() }

// End removes the guard.
func (g *ResubmissionGuard) End(ctx context.Context) {
	if g == nil {
		return
	}
	g.in.guard.Store(nil)
	c := g.in.command(false)
	_, _ = g.in.opts.Tree.Session().Start(context.WithoutCancel(ctx), c.Method, c.Params)
}

// error returns ErrNavigationFailed if the guard has failed a request.
func (g *ResubmissionGuard) error() error {
	if g == nil || !g.failed.Load() {
		return nil
	}
	return executor.Errorf(executor.ErrNavigationFailed, g.hint, "this page was made by sending a form; loading it again sends it again")
}

// command returns the command that pauses the requests of the page that its components need
// paused. guarded means that a ResubmissionGuard is one of them.
func (i *Interception) command(guarded bool) cdpconn.Command {
	c := i.opts.Emulation.Headers().Interception()
	if i.filtering.Load() {
		c = i.opts.Filter.command()
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

// resendsForm reports whether a paused request for the top document would send the form again.
func (g *ResubmissionGuard) resendsForm(e fetch.EventRequestPaused) bool {
	s := g.in.opts.Tree.Lock()
	n, known := s.TopNavigation()
	s.Unlock()
	known = known && string(n.Loader) == string(e.NetworkID)
	switch {
	case e.Request.Method != "POST":
		return false
	case known && !n.Revisit: // a form that the page itself sends
		return false
	case isResponse(e):
		return e.ResponseErrorReason != ""
	default:
		// The browser takes the page of a history entry only from a cache if it was made by POST.
		return !known || !n.HistoryStep || g.blanks
	}
}

// answered records that a request for the top document was answered, by failing it or not. It is called after the answer
// was sent: the guard may end then, and the browser continues the requests that are still paused.
func (g *ResubmissionGuard) answered(failed bool) {
	g.failed.Store(g.failed.Load() || failed)
	g.decided.Store(true)
	g.in.opts.Tree.Changes.Notify()
}

// Await waits for the request that follows a reload, and returns the error of the guard.
func (g *ResubmissionGuard) Await(ctx context.Context) error {
	if g == nil {
		return nil
	}
	o := &g.in.opts
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Tree.Timing().ErrorPage)
	defer cancel()
	_ = o.Tree.Await(limit, func(s *frames.State) (bool, error) {
		return g.decided.Load() || o.Dialogs.Open() != nil || s.Top().Loader() != g.loader, nil
	})
	return g.error()
}

// Reloads reports whether a script has requested a reload.
func (g *ResubmissionGuard) Reloads() bool { return g.reloads.Load() }

// ReloadRequested records that a script requested a reload of a frame.
func (i *Interception) ReloadRequested(id cdp.FrameID) {
	if g := i.guard.Load(); g != nil && id == i.opts.Tree.TopFrame() {
		g.reloads.Store(true)
	}
}
