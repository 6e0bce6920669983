package capture

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/keylimit"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// largeScreenshots limits the screenshots of more than the viewport, by browser. The browser
// renders the complete area at the same time and has limited memory for that. With several such
// screenshots at the same time, parts of them are blank.
var largeScreenshots = keylimit.New[*cdpconn.Conn](1)

// captureLarge waits until no other screenshot of more than the viewport is taken in the browser,
// and then calls capture, which takes one of the document top. The browser resizes the page for it,
// and waits for the page to handle that. While the page does not respond, others need not wait for
// it. If another document replaces top, the browser may never reply: then captureLarge cancels the
// context of capture and returns ErrFramesChanged.
func (c *Capturer) captureLarge(ctx context.Context, top *frames.Document, capture func(ctx context.Context) error) error {
	conn := c.client.Tree.Session().Conn()
	if err := largeScreenshots.Acquire(ctx, conn); err != nil {
		return frames.TimeoutAs(err, "another full-page screenshot")
	}
	release := sync.OnceFunc(func() { largeScreenshots.Release(conn) })
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	var watches sync.WaitGroup
	watches.Go(func() {
		if c.awaitHung(ctx, top) {
			release()
		}
	})
	watches.Go(func() {
		if top.AwaitReplaced(ctx) == nil {
			cancel(shield.ErrFramesChanged)
		}
	})
	err := capture(ctx)
	if err != nil && errors.Is(context.Cause(ctx), shield.ErrFramesChanged) {
		err = shield.ErrFramesChanged
	}
	cancel(nil)
	watches.Wait()
	return err
}

// awaitHung waits until the page does not respond for Timing.ResizedPage, and then returns true. It
// returns false if ctx is done before or the document is gone.
func (c *Capturer) awaitHung(ctx context.Context, top *frames.Document) bool {
	for {
		select {
		case <-time.After(c.client.Tree.Timing().ResizedPage):
		case <-ctx.Done():
			return false
		}
		limit, cancel := context.WithTimeout(ctx, c.client.Tree.Timing().ResizedPage)
		var ratio float64
		err := top.Call(limit, &ratio, "pixelRatio")
		late := err != nil && limit.Err() != nil
		cancel()
		if err != nil {
			return late && ctx.Err() == nil
		}
	}
}
