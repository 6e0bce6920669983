package page

import (
	"context"
	"time"
)

// drawnFor is how much longer a tab that is not in front is drawn after a
// call: the next one mostly comes soon.
const drawnFor = 3 * time.Second

// draw has a tab that shares its window drawn, in front or not: a hidden one
// has no frames once its page has changed, so what moves by frames stands
// still in it, and the pictures that are taken of it are old. A screencast of
// which no frame is ever sent does it. It waits for nothing.
func (t *Tab) draw(ctx context.Context) {
	if !t.opts.Shared || t.opts.Wake == nil {
		return
	}
	t.mu.Lock()
	if t.fade != nil {
		t.fade.Stop()
		t.fade = nil
	}
	drawn := t.drawn
	t.drawn = true
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
			t.drawn = false // the next call tries again
			t.mu.Unlock()
		}
	})
}

// undraw lets a tab be hidden again, a moment after the last call. t.mu must
// not be held.
func (t *Tab) undraw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.drawn || t.fade != nil {
		return
	}
	var fade *time.Timer
	fade = time.AfterFunc(drawnFor, func() {
		t.mu.Lock()
		due := t.fade == fade && t.drawn
		if due {
			t.fade, t.drawn = nil, false
		}
		t.mu.Unlock()
		if due {
			t.sess.Start(context.Background(), "Page.stopScreencast", nil)
		}
	})
	t.fade = fade
}
