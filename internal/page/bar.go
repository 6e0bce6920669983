package page

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// barLimit is how long denied frames may take to put up a bar: one that is busy
// longer does so before it hears of the press, which waits behind it.
const barLimit = 200 * time.Millisecond

// barDenied keeps presses from the frames that are denied until lift is called.
func (v *View) barDenied(ctx context.Context) (lift func()) {
	ctx, cancel := context.WithTimeout(ctx, barLimit)
	defer cancel()
	run := func(ctx context.Context, d *document, script string) (*cdpconn.Pending, error) {
		return d.sess.Start(ctx, runtime.CommandCallFunctionOn, functionCall{Function: script, World: d.world, Silent: true})
	}
	type barred struct {
		doc     *document
		pending *cdpconn.Pending
	}
	var list []barred
	for _, d := range v.tab.documents() {
		if d.top() || v.check(ctx, d, executor.OpList, "") == nil {
			continue
		}
		if p, err := run(ctx, d, wire.BarScript); err == nil {
			list = append(list, barred{d, p})
		}
	}
	for _, b := range list {
		_ = b.doc.finish(ctx, b.pending, nil) // one that is gone takes no press
	}
	return func() {
		for _, b := range list {
			_, _ = run(context.WithoutCancel(ctx), b.doc, wire.LiftScript)
		}
	}
}
