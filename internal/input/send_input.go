package input

import (
	"context"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A sender sends input to a tab for a client. All input must pass through it.
type sender struct {
	client *frames.Client
	tree   *frames.Tree
	timing *timing.Timing
	shield *shield.Shield
	sent   func() // Options.Sent
}

// send sends an input event and waits until the page has handled it. A dialog or a detached
// document, which the event may cause, is not an error.
func (s *sender) send(ctx context.Context, method string, params any) error {
	ctx, cancel := context.WithTimeout(deadline.Caller(ctx), s.timing.Input)
	defer cancel()
	p, err := s.StartInput(ctx, method, params)
	return s.await(ctx, p, err)
}

// await waits until the page has handled input, unless it was not sent because of err.
func (s *sender) await(ctx context.Context, p *cdpconn.Pending, err error) error {
	if err != nil {
		return err
	}
	return ignoreInterruption(s.tree.Wait(ctx, p, nil))
}

// Block starts to block input in the documents of the tab that the client may not act on, and
// returns the blocker.
func (s *sender) Block(ctx context.Context) *shield.Blocker {
	return s.shield.Block(ctx, s.client)
}

// StartInput waits until input is blocked in denied documents and sends input. It does not wait for
// the response. It returns ErrPolicyDenied, and sends nothing, if the page
// has become an error page of the browser since the call was checked.
func (s *sender) StartInput(ctx context.Context, method string, params any) (*cdpconn.Pending, error) {
	if err := s.errorPageDenial(params); err != nil {
		return nil, err
	}
	b := s.Block(ctx)
	if e, ok := params.(pointerstate.MouseEvent); ok && e.Button == executor.ButtonMiddle {
		if err := b.Ready(ctx); err != nil {
			return nil, err
		}
		s.blockPaste(ctx)
	}
	p, err := b.Send(ctx, method, params)
	if err == nil {
		s.sent()
	}
	return p, err
}

// pause waits for about two animation frames of the top document. It reports whether it succeeded.
func (s *sender) pause(ctx context.Context) bool {
	d, err := s.tree.TopDocument(ctx)
	return err == nil && d.Call(ctx, nil, "waitForQuiet", "", map[string]int{"quiet": 0, "max": 0}) == nil
}

// blockPaste prevents the middle button from pasting: see js/kept_content.js.
func (s *sender) blockPaste(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.timing.PasteBlock)
	defer cancel()
	var wg sync.WaitGroup
	for _, d := range s.tree.Documents() {
		wg.Go(func() { _ = d.Call(ctx, nil, "blockPaste", s.timing.PasteRelease.Milliseconds()) })
	}
	wg.Wait()
}

// frameAt returns the document of the frame in the element of parent with the given element id, or
// nil if it is unknown.
func (s *sender) frameAt(ctx context.Context, parent *frames.Document, id int) *frames.Document {
	for _, d := range s.tree.Documents() {
		if d.Parent != parent.Frame {
			continue
		}
		if owner, err := d.Owner(ctx, parent); err == nil && owner == id {
			return d
		}
	}
	return nil
}
