package page

import (
	"context"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/keylimit"
)

// largeScreenshots limits the screenshots of more than the viewport, by browser. The browser renders
// the complete area at the same time and has limited memory for that. With several such screenshots at
// the same time, parts of them are blank.
var largeScreenshots = keylimit.New[*cdpconn.Conn](1)

// lockLargeScreenshots waits until no other screenshot of more than the viewport is taken in the
// browser, and reserves that until unlock. The browser resizes the page for the screenshot, and waits
// for the page to handle that. While the page does not respond, others need not wait for it.
func (v *View) lockLargeScreenshots(ctx context.Context, top *document) (unlock func(), err error) {
	conn := v.tab.sess.Conn()
	if err := largeScreenshots.Acquire(ctx, conn); err != nil {
		return nil, timeoutAs(err, "another full-page screenshot")
	}
	ctx, cancel := context.WithCancel(ctx)
	hung := make(chan bool, 1)
	go func() {
		late := v.awaitHung(ctx, top)
		if late {
			largeScreenshots.Release(conn)
		}
		hung <- late
	}()
	return func() {
		cancel()
		if !<-hung {
			largeScreenshots.Release(conn)
		}
	}, nil
}

// awaitHung waits until the page does not respond for Timing.ResizedPage, and then returns true. It
// returns false if ctx is done before or the page is gone.
func (v *View) awaitHung(ctx context.Context, top *document) bool {
	for {
		select {
		case <-time.After(v.tab.timing.ResizedPage):
		case <-ctx.Done():
			return false
		}
		limit, cancel := context.WithTimeout(ctx, v.tab.timing.ResizedPage)
		var ratio float64
		err := top.call(limit, &ratio, "pixelRatio")
		late := err != nil && limit.Err() != nil
		cancel()
		if err != nil {
			return late && ctx.Err() == nil
		}
	}
}
