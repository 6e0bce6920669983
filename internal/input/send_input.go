package input

import (
	"context"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// input sends an input event and waits until the page has handled it. A dialog or a detached
// document, which the event may cause, is not an error.
func (a *Actor) input(ctx context.Context, method string, params any) error {
	ctx, cancel := context.WithTimeout(deadline.Caller(ctx), a.timing.Input)
	defer cancel()
	p, err := a.StartInput(ctx, method, params)
	if err != nil {
		return err
	}
	return ignoreInterruption(a.tree.Wait(ctx, p, nil))
}

// Block starts to block input in the documents of the tab that the client may not act on, and
// returns the blocker.
func (a *Actor) Block(ctx context.Context) *shield.Blocker {
	return a.shield.Block(ctx, a.client)
}

// StartInput waits until input is blocked in denied documents and sends input. It does not wait for
// the response. All input must use it. It returns ErrPolicyDenied, and sends nothing, if the page
// has become an error page of the browser since the call was checked.
func (a *Actor) StartInput(ctx context.Context, method string, params any) (*cdpconn.Pending, error) {
	if err := a.errorPageDenial(params); err != nil {
		return nil, err
	}
	b := a.Block(ctx)
	if e, ok := params.(mouseEvent); ok && e.Button == executor.ButtonMiddle {
		if err := b.Ready(ctx); err != nil {
			return nil, err
		}
		a.blockPaste(ctx)
	}
	return b.Send(ctx, method, params)
}

// blockPaste prevents the middle button from pasting: see js/kept_content.js.
func (a *Actor) blockPaste(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.timing.PasteBlock)
	defer cancel()
	var wg sync.WaitGroup
	for _, d := range a.tree.Documents() {
		wg.Go(func() { _ = d.Call(ctx, nil, "blockPaste", a.timing.PasteRelease.Milliseconds()) })
	}
	wg.Wait()
}
