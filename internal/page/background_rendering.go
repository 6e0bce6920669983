package page

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/live"
)

// renderingIdleTimeout is how long a background tab keeps rendering after a call, because the next
// call usually follows soon.
const renderingIdleTimeout = 3 * time.Second

// backgroundRendering is whether a tab renders even if it is in the background. It is safe for
// concurrent use.
type backgroundRendering struct {
	opts *Options
	sess *cdpconn.Session
	wg   *sync.WaitGroup
	live atomic.Pointer[live.View] // uses the screencast of the tab; nil if there is none

	mu        sync.Mutex // guards the fields below
	on        bool
	stopTimer *time.Timer // ends rendering; nil while a call runs
}

// start cancels a pending stop and reports whether rendering must be started.
func (r *backgroundRendering) start() (needed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopTimer != nil {
		r.stopTimer.Stop()
		r.stopTimer = nil
	}
	needed = !r.on
	r.on = true
	return needed
}

// stopped records that the tab does not keep rendering, so that the next call starts it again.
func (r *backgroundRendering) stopped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = false
}

// stopLater ends keep renderingIdleTimeout after the last call, unless start is called before.
func (r *backgroundRendering) stopLater() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.on || r.stopTimer != nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(renderingIdleTimeout, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.stopTimer == timer && r.on {
			r.stopTimer, r.on = nil, false
			r.sess.Start(context.Background(), "Page.stopScreencast", nil) // before a start that follows
		}
	})
	r.stopTimer = timer
}

// keep makes a tab that shares its window render even if it is in the background. A hidden
// tab draws no animation frames after its page has changed, so that its animations stop and its
// screenshots are outdated. keep starts a screencast that sends no frames. It does not wait for the
// browser.
func (r *backgroundRendering) keep(ctx context.Context) {
	if !r.opts.Shared || r.opts.Attach == nil || !r.start() {
		return
	}
	p, err := r.sess.Start(context.WithoutCancel(ctx), "Page.startScreencast", map[string]any{
		"format": "jpeg", "quality": 1, "maxWidth": 1, "maxHeight": 1, "everyNthFrame": 1 << 30,
	})
	r.wg.Go(func() {
		if err == nil {
			err = p.Wait(context.Background(), nil)
		}
		if err != nil {
			r.stopped()
		}
	})
}

// notRendered reports whether the browser does not render the tab now, because another tab of its
// window is in front.
func (r *backgroundRendering) notRendered() bool {
	return r.opts.Shared && r.opts.Attach == nil && r.live.Load() == nil // other tabs keep rendering during calls
}
