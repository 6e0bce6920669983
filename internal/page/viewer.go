package page

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// maxReturns is how often a debugger that was taken away is attached again in
// one navigation.
const maxReturns = 5

// notePDF is what a navigation to a PDF tells.
const notePDF = "this is a PDF in the browser's viewer, whose text cannot be read; use download_file"

// goTo runs start, which sends the tab to another document, waits for it and
// tells where it ended.
//
// The browser takes an extension's debugger away when its PDF viewer, which is
// an extension too, comes into the page, and lets it come back at once.
func (v *View) goTo(ctx context.Context, opts *executor.NavigateOptions, what string, start func(context.Context) (*navigated, error)) (*executor.Navigation, error) {
	before := v.committed().loader
	nav, err := v.goAttached(ctx, opts, what, start)
	for n := 0; n < maxReturns && errors.Is(err, executor.ErrDetached) && v.tab.atPDF(); n++ {
		if v.tab.Wake(ctx) != nil {
			return nil, err
		}
		loader := v.committed().loader
		if loader == "" || loader == before {
			return nil, err
		}
		nav, err = v.returned(ctx, loader, opts, what)
	}
	return nav, err
}

// atPDF reports whether what the tab went to last, or a frame in it, is for the
// PDF viewer.
func (t *Tab) atPDF() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pdf || t.innerPDF
}

// returned waits until a document, which is there already, has come as far as
// opts.Until, and tells of it.
func (v *View) returned(ctx context.Context, loader cdp.LoaderID, opts *executor.NavigateOptions, what string) (*executor.Navigation, error) {
	until := executor.UntilLoad
	if opts != nil && opts.Until != "" {
		until = opts.Until
	}
	if err := v.reach(ctx, loader, until); err != nil {
		return nil, timeoutAs(err, fmt.Sprintf("%s of %s", until, what))
	}
	nav := &executor.Navigation{TabID: v.opts.ID}
	if err := v.arrive(ctx, nav); err != nil {
		return nil, err
	}
	v.tab.mu.Lock()
	defer v.tab.mu.Unlock()
	nav.HTTPStatus = v.tab.answered // the newest: what the document came with was forgotten with the debugger
	if v.tab.pdf {
		nav.Note = notePDF
	}
	return nav, nil
}
