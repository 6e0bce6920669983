package page

import (
	"context"
	"time"
)

// renderingIdleTimeout is how long a background tab keeps rendering after a call, because the next
// call usually follows soon.
const renderingIdleTimeout = 3 * time.Second

// keepRendering makes a tab that shares its window render even if it is in the background. A hidden
// tab draws no animation frames after its page has changed, so that its animations stop and its
// screenshots are outdated. keepRendering starts a screencast that sends no frames. It does not
// wait for the browser.
func (t *Tab) keepRendering(ctx context.Context) {
	if !t.opts.Shared || t.opts.Attach == nil {
		return
	}
	t.mu.Lock()
	if t.stopRenderingTimer != nil {
		t.stopRenderingTimer.Stop()
		t.stopRenderingTimer = nil
	}
	drawn := t.rendering
	t.rendering = true
	t.mu.Unlock()
	if drawn {
		return
	}
	p, err := t.sess.Start(context.WithoutCancel(ctx), "Page.startScreencast", map[string]any{
		"format": "jpeg", "quality": 1, "maxWidth": 1, "maxHeight": 1, "everyNthFrame": 1 << 30,
	})
	t.wg.Go(func() {
		if err == nil {
			err = p.Wait(context.Background(), nil)
		}
		if err != nil {
			t.mu.Lock()
			t.rendering = false // the next call tries again
			t.mu.Unlock()
		}
	})
}

// stopRenderingLater ends keepRendering renderingIdleTimeout after the last call. t.mu must not be
// held.
func (t *Tab) stopRenderingLater() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.rendering || t.stopRenderingTimer != nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(renderingIdleTimeout, func() {
		t.mu.Lock()
		due := t.stopRenderingTimer == timer && t.rendering
		if due {
			t.stopRenderingTimer, t.rendering = nil, false
		}
		t.mu.Unlock()
		if due {
			t.sess.Start(context.Background(), "Page.stopScreencast", nil)
		}
	})
	t.stopRenderingTimer = timer
}
