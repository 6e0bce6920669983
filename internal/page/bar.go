package page

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// barLimit is how long denied frames may take to take a bar: one that is busy
// longer learns of it before the press, which waits behind it.
const barLimit = 200 * time.Millisecond

// barScript keeps what is pressed from a document for a moment, before any
// listener of its page hears of it. It stands alone: most documents that are
// denied have none of our other scripts but those that came with them.
var barScript = fmt.Sprintf(`function () {
  globalThis.__cmBar?.();
  const until = performance.now() + %d;
  const types = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick', 'touchstart', 'touchmove', 'touchend'];
  const hold = (e) => {
    if (!e.isTrusted || performance.now() > until || !types.includes(e.type)) return;
    e.preventDefault();
    e.stopImmediatePropagation();
  };
  const early = globalThis.__cmEarly;
  early?.add(hold);
  for (const type of types) addEventListener(type, hold, { capture: true, passive: false });
  Object.defineProperty(globalThis, '__cmBar', { configurable: true, value: () => {
    early?.delete(hold);
    for (const type of types) removeEventListener(type, hold, { capture: true });
    delete globalThis.__cmBar;
  } });
}`, inputTimeout.Milliseconds())

const liftScript = `function () { globalThis.__cmBar?.(); }`

// barDenied keeps presses from the frames that are denied, until lift is
// called or inputTimeout is over: a page may move one under the pointer after
// it was looked at what is there.
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
		if p, err := run(ctx, d, barScript); err == nil {
			list = append(list, barred{d, p})
		}
	}
	for _, b := range list {
		_ = b.doc.finish(ctx, b.pending, nil) // one that is gone takes no press
	}
	return func() {
		for _, b := range list {
			_, _ = run(context.WithoutCancel(ctx), b.doc, liftScript)
		}
	}
}
