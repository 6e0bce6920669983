package page

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// maxReattach is the maximum number of times that a detached debugger is attached again during one
// navigation.
const maxReattach = 5

// notePDF is the note on a navigation to a PDF.
const notePDF = "this is a PDF in the browser's viewer, whose text cannot be read; download it instead"

// navigateWith calls start, which starts a navigation, waits until opts.Until is reached and
// returns the result. what names the destination in messages.
//
// The browser detaches an extension's debugger when its PDF viewer, which is also an extension, is
// added to the page. The debugger can attach again immediately.
func (v *View) navigateWith(ctx context.Context, opts *executor.NavigateOptions, what string, start func(context.Context) (*navigationResult, error)) (*executor.Navigation, error) {
	before := v.navigationState().loader
	nav, err := v.navigateAttached(ctx, opts, what, start)
	for n := 0; n < maxReattach && errors.Is(err, executor.ErrDetached) && v.tab.responses.ShowPDF(); n++ {
		if v.tab.EnsureAttached(ctx) != nil {
			return nil, err
		}
		loader := v.navigationState().loader
		if loader == "" || loader == before {
			return nil, err
		}
		nav, err = v.waitAfterReattach(ctx, loader, opts, what)
	}
	return nav, err
}

// waitAfterReattach waits until the document of loader, which has already committed, has reached
// opts.Until, and returns the navigation's result.
func (v *View) waitAfterReattach(ctx context.Context, loader cdp.LoaderID, opts *executor.NavigateOptions, what string) (*executor.Navigation, error) {
	until := untilOf(opts)
	if err := v.waitForLifecycle(ctx, loader, until); err != nil {
		return nil, frames.TimeoutAs(err, fmt.Sprintf("%s of %s", until, what))
	}
	nav := &executor.Navigation{TabID: v.opts.ID}
	if err := v.fillNavigation(ctx, nav); err != nil {
		return nil, err
	}
	res := v.tab.responses.Newest() // the document's own was forgotten when the debugger was detached
	nav.HTTPStatus = res.Status
	if res.PDF {
		nav.Note = notePDF
	}
	return nav, nil
}
