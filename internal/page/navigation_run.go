package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// maxReattach is the maximum number of times that a detached debugger is attached again during one
// navigation.
const maxReattach = 5

// notePDF is the note on a navigation to a PDF.
const notePDF = "this is a PDF in the browser's viewer, whose text cannot be read. Download it with Page.Download"

// run calls start, which starts the navigation, waits until n.until is reached and returns the
// result.
//
// The browser detaches an extension's debugger when its PDF viewer, which is also an extension, is
// added to the page. The debugger can attach again immediately.
func (n *navigation) run(ctx context.Context, start func(context.Context) error) (*executor.Navigation, error) {
	before := navigationStateOf(n.tab.tree).loader
	nav, err := n.runAttached(ctx, start)
	for i := 0; i < maxReattach && errors.Is(err, executor.ErrDetached) && n.tab.responses.ShowPDF(); i++ {
		attached := n.tab.EnsureAttached(ctx) == nil
		n.loader = navigationStateOf(n.tab.tree).loader
		if !attached || n.loader == "" || n.loader == before {
			return nil, err
		}
		nav, err = n.waitAfterReattach(ctx)
	}
	return nav, err
}

// runAttached is run without attaching to the tab again if the debugger is detached during the
// navigation.
func (n *navigation) runAttached(ctx context.Context, start func(context.Context) error) (*executor.Navigation, error) {
	n.v.ReleaseButtons(ctx)
	if _, ok := lifecycleEvents[n.until]; !ok {
		return nil, executor.Errorf(executor.ErrBadArgs, "Use load, domcontentloaded, networkidle or commit.", "waitUntil %q is unknown", string(n.until))
	}
	if err := n.tab.recoverPage(ctx); err != nil {
		return nil, err
	}
	n.autoClosed, n.externalNavigations = n.tab.dialogs.autoClosed.Count(), n.tab.externalNavigations.Count()
	if n.v.opts.Downloads != nil {
		n.downloads = n.v.opts.Downloads.Started()
	}
	n.before = navigationStateOf(n.tab.tree)
	if err := start(ctx); err != nil {
		late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, executor.ErrTimeout)
		if late || ctx.Err() != nil {
			n.stop()
		}
		if late {
			err = frames.TimeoutAs(context.DeadlineExceeded, n.what+" to respond")
		}
		return nil, err
	}
	return n.result(ctx)
}

// result waits until the new document has reached n.until, and returns the result of the call.
func (n *navigation) result(ctx context.Context) (*executor.Navigation, error) {
	t := n.tab
	nav := &executor.Navigation{TabID: n.v.opts.ID}
	switch {
	case n.download:
		nav.Note = "the URL is a download; the page did not change; " + n.downloadNote(ctx)
	case n.failure == netErrAborted && t.externalNavigations.Count() > n.externalNavigations:
		nav.Note = n.v.externalNavigationsNote(ctx, n.externalNavigations)
	case n.failure == netErrAborted && hasNoContent(t.responses.Of(n.loader).Status):
		nav.Note = "the server returned no content; the page did not change"
		nav.HTTPStatus = t.responses.Of(n.loader).Status
	case n.failure == netErrInvalidAuth:
		n.waitForErrorPage(ctx)
		if err := n.policyError(ctx); err != nil {
			return nil, n.redirected(err)
		}
		nav.URL, nav.HTTPStatus, nav.Note = n.failedURL(), http.StatusUnauthorized, noteAuth
		nav.Obstacle = t.obstacles.ofResponse(nav.URL, "", nav.HTTPStatus)
		return nav, nil
	case n.failure == netErrAborted: // it has no error page
		return nil, n.redirected(n.failureError(ctx))
	case n.failure != "":
		n.waitForErrorPage(ctx)
		return nil, n.redirected(n.failureError(ctx))
	case n.loader != "":
		if err := n.waitForLifecycle(ctx, n.until); err != nil {
			return nil, frames.TimeoutAs(err, fmt.Sprintf("%s of %s", n.until, n.what))
		}
		if err := n.proxyFailure(); err != nil {
			return nil, n.redirected(err)
		}
	}
	if err := n.fill(ctx, nav); err != nil {
		return nil, n.redirected(err)
	}
	if n.loader != "" && nav.Note == "" {
		res := t.responses.Of(navigationStateOf(t.tree).loader)
		nav.HTTPStatus = res.Status
		if res.PDF {
			nav.Note = notePDF
		}
		nav.Note = phrase.Notes(nav.Note, truncatedNote(t.tree))
		nav.Obstacle = t.obstacles.ofResponse(nav.URL, nav.Title, nav.HTTPStatus)
	}
	nav.Note = phrase.Notes(nav.Note, n.v.autoClosedNote(ctx, n.autoClosed))
	return nav, nil
}

// waitAfterReattach waits until the document of n.loader, which has already committed, has reached
// n.until, and returns the result of the call.
func (n *navigation) waitAfterReattach(ctx context.Context) (*executor.Navigation, error) {
	if err := n.waitForLifecycle(ctx, n.until); err != nil {
		return nil, frames.TimeoutAs(err, fmt.Sprintf("%s of %s", n.until, n.what))
	}
	nav := &executor.Navigation{TabID: n.v.opts.ID}
	if err := n.fill(ctx, nav); err != nil {
		return nil, err
	}
	res := n.tab.responses.Newest() // the document's own was forgotten when the debugger was detached
	nav.HTTPStatus = res.Status
	if res.PDF {
		nav.Note = notePDF
	}
	return nav, nil
}
