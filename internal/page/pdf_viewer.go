package page

import (
	"context"
	"errors"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
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
