package executortest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// attackedShots returns the number of screenshots of each page that moves its denied frames.
func attackedShots() int {
	if tier.LongEnabled() {
		return 12
	}
	return 6
}

// deniedPixels tests pages that move denied frames during a screenshot.
func (s *suite) deniedPixels(t *testing.T) {
	s.deniedKinds(t)
	s.deniedTransition(t)
	s.deniedRestored(t)
	s.deniedTopLayer(t)
	for _, m := range []struct {
		name, mode string
		thirds     int // minimum part of the screenshots that must succeed, in thirds
		long       bool
	}{
		{"in an open shadow root, by frames and messages", "message", 2, false},
		{"by tasks", "task", 2, true},
		{"by a rule of a style sheet, by frames and messages", "rule", 2, true},
		{"in an allowed frame rotated by 45 degrees", "turned", 2, false},
		{"in an allowed frame rotated by 30 degrees and skewed", "slanted", 2, true},
		{"in an allowed frame in perspective", "perspective", 2, true},
		{"in an allowed frame that rotates", "turning", 2, true},
		{"into the viewport for single animation frames", "flash", 2, false},
		{"into the viewport at random times", "late", 2, true},
		{"into the viewport by scrolling", "scroll", 2, true},
		{"into the viewport by an animation", "steps", 0, true}, // no script can read the animated position: denied while it is out of view
		{"with a dialog in a closed shadow root, by frames and messages", "message&kind=dialog", 2, true},
		{"with a dialog in the closed shadow root of a custom element", "message&kind=custom", 2, true},
		{"with a popover in a closed shadow root", "message&kind=popover", 2, true},
		{"with a visible popover in the closed shadow root of a custom element", "message&kind=visible", 2, true},
		{"with a popover in a closed shadow root that reopens", "message&kind=reopened", 2, true},
		{"with a popover in a new shadow root, by frames and messages", "message&kind=late", 2, false},
		{"with a dialog in a closed shadow root, by scrolling", "scroll&kind=dialog", 2, true},
		{"with a root that is a table", "message&kind=table", 2, true},
		{"while it reloads repeatedly", "reload", 2, false},
		{"on a pinch-zoomed page", "pinch", 2, true},
	} {
		s := s
		if m.long {
			s = s.long()
		}
		s.gated(t, m.name, "", func(c *testCase, k *keeper) {
			mode, pinch := m.mode, m.mode == "pinch"
			if pinch {
				mode = "message"
			}
			seed := rand.Uint32N(1 << 20)
			c.Logf("seed %d", seed)
			c.openMoving(k, mode, seed)
			if pinch {
				c.must(c.page().CDP(c.ctx, "Emulation.setPageScaleFactor", map[string]any{"pageScaleFactor": 1.5}))
			}
			kinds := []*executor.ScreenshotOptions{
				nil, {Target: css("#around")}, {FullPage: true}, nil, {Format: executor.FormatJPEG, Quality: 90}, nil,
			}
			taken, shots := 0, attackedShots()
			if m.thirds == 0 {
				shots /= 3 // each is denied after waiting for the frame to be drawn
			}
			for i := range shots {
				shot, err := c.page().Screenshot(c.ctx, kinds[i%len(kinds)])
				if err != nil {
					if code := executor.CodeOf(err); code != executor.ErrPolicyDenied && code != executor.ErrTargetGone {
						c.Fatalf("screenshot %d: %v", i, err)
					}
					c.Logf("screenshot %d: %v", i, err)
					continue
				}
				taken++
				if n := deniedFramePixels(c.decode(shot)); n > 0 {
					c.Errorf("screenshot %d shows %d pixels of a denied frame", i, n)
				}
			}
			if tier.LongEnabled() && taken*3 < shots*m.thirds { // fewer on a busy machine
				c.Errorf("%d of %d screenshots succeeded", taken, shots)
			}
			k.deny(nil)
			c.eval("shown = true; 0", nil)
			c.wantFramesVisible("allowed again")
		})
	}
}

// deniedKinds tests denied documents of all kinds on a page that does not move.
func (s *suite) deniedKinds(t *testing.T) {
	s.gated(t, "denied documents of any kind are masked", "manyframes.html", func(c *testCase, k *keeper) {
		// Opaque origins are never allowed.
		k.deny(func(a executor.Access) bool { return a.Origin == executor.OriginOpaque })
		for _, id := range []string{"page", "dressed", "drawing"} {
			for c.ctx.Err() == nil { // until it is drawn
				if _, img := c.shot(&executor.ScreenshotOptions{Target: css("#" + id)}); deniedFramePixels(img) > 5000 {
					break
				}
			}
		}
		k.deny(func(a executor.Access) bool { return a.Origin != c.origin() && a.Origin != executor.OriginInternal })
		for what, opts := range map[string]*executor.ScreenshotOptions{
			"viewport": nil, "full page": {FullPage: true}, "near": {Target: css("#near")}, "dressed": {Target: css("#dressed")},
		} {
			if _, img := c.shot(opts); deniedFramePixels(img) > 0 {
				c.Errorf("%s shows %d pixels of a denied frame", what, deniedFramePixels(img))
			}
		}
		k.deny(func(a executor.Access) bool { return a.Origin == executor.OriginOpaque })
		if _, img := c.shot(&executor.ScreenshotOptions{Target: css("#dressed")}); deniedFramePixels(img) < 5000 {
			c.Errorf("allowed again, %d pixels of the frame are visible", deniedFramePixels(img))
		}
	})
}

// deniedTransition tests a view transition that started before the frames were
// hidden, and so shows their content.
func (s *suite) deniedTransition(t *testing.T) {
	s.gated(t, "view transition with old page content: screenshot denied", "", func(c *testCase, k *keeper) {
		c.openMoving(k, "still", 1)
		c.shot(nil)
		c.eval("document.startViewTransition(() => new Promise(() => {})).ready.catch(() => 0); 0", nil)
		_, err := c.page().Screenshot(c.ctx, nil)
		c.wantCode(err, executor.ErrPolicyDenied, "transition")
		c.eval("document.activeViewTransition?.skipTransition(); 0", nil)
	})
	// A transition of an element in a shadow root, which shows the old state of the element
	// elsewhere.
	s.gated(t, "view transition with old element content: screenshot denied", "", func(c *testCase, k *keeper) {
		c.openMoving(k, "element", 1)
		var seen int
		c.eval(`(async () => {
			const scope = around.shadowRoot.querySelector("div");
			window.transition = scope.startViewTransition(() => { scope.firstChild.style.width = "179px" });
			await transition.ready;
			return document.getAnimations().length + (document.activeViewTransition ? 1 : 0);
		})()`, &seen)
		if seen != 0 {
			c.Errorf("the document has %d animations", seen)
		}
		shot, err := c.page().Screenshot(c.ctx, nil)
		if err == nil {
			c.Errorf("%d pixels of denied frames are visible", deniedFramePixels(c.decode(shot)))
		}
		c.wantCode(err, executor.ErrPolicyDenied, "transition")
		c.eval("transition.skipTransition(); 0", nil)
	})
}

// deniedTopLayer tests a frame that shows a popover in a closed shadow root, and checks that hiding
// changes neither its focus nor its scroll position.
func (s *suite) deniedTopLayer(t *testing.T) {
	s.gated(t, "denied frame keeps its focus and scroll position", "", func(c *testCase, k *keeper) {
		c.openMoving(k, "still&kind=popover", 1)
		const state = `Promise.all(frames.map((f) => new Promise((done) => {
			const {port1, port2} = new MessageChannel();
			port1.onmessage = (e) => done(e.data.y + " " + e.data.field);
			f.contentWindow.postMessage("state", "*", [port2]);
		}))).then((states) => states.join())`
		before := ""
		for before != "300 true,300 false" && before != "300 true,300 true" { // until the field of the first frame has the focus
			if c.ctx.Err() != nil {
				c.Fatalf("the frames stay at %q", before)
			}
			c.eval(`for (const f of frames) f.contentWindow.postMessage("scroll", "*");
				frames[0].focus(); frames[0].contentWindow.postMessage("focus", "*"); 0`, nil)
			before = c.evalString(state)
		}
		for _, opts := range []*executor.ScreenshotOptions{nil, {FullPage: true}} {
			if _, img := c.shot(opts); deniedFramePixels(img) > 0 {
				c.Errorf("%d pixels of denied frames are visible", deniedFramePixels(img))
			}
		}
		if after := c.evalString(state); after != before {
			c.Errorf("the frames were at %q, and then at %q", before, after)
		}
	})
}

// deniedRestored tests a page with frames that is restored from the bfcache.
func (s *suite) deniedRestored(t *testing.T) {
	s.gated(t, "denied frames restored from bfcache are masked", "", func(c *testCase, k *keeper) {
		origin := c.openMoving(k, "still", 1)
		// Chrome may evict any page from the bfcache, and then loads it again.
		for stayed := false; !stayed; {
			k.deny(nil)
			c.eval("window.stayed = true", nil)
			c.must(c.page().Navigate(c.ctx, c.url("click.html"), nil))
			k.deny(func(a executor.Access) bool {
				return a.Frame != "" && a.Origin != origin && a.Origin != executor.OriginInternal
			})
			c.must(c.page().Back(c.ctx, nil))
			c.eval("Boolean(window.stayed)", &stayed)
		}
		for _, opts := range []*executor.ScreenshotOptions{nil, {FullPage: true}} {
			if _, img := c.shot(opts); deniedFramePixels(img) > 0 {
				c.Errorf("%d pixels of denied frames are visible", deniedFramePixels(img))
			}
		}
		k.deny(nil)
		c.wantFramesVisible("allowed again")
		if n := strings.Count(c.snap(nil), "SECRET heading"); n != 2 {
			c.Errorf("allowed again, %d of 2 frames are readable", n)
		}
	})
}

// openMoving opens movingframes.html, checks that its frames are visible, and denies them. It
// returns the origin of the page.
func (c *testCase) openMoving(k *keeper, mode string, seed uint32) (origin string) {
	c.Helper()
	origin = fmt.Sprintf("http://moving%s.localhost:%d", c.id, c.port)
	tab := c.openURL(fmt.Sprintf("%s/p/%s/movingframes.html?mode=%s&seed=%d", origin, c.id, mode, seed))
	c.tab = tab.ID
	c.must(c.page().Resize(c.ctx, executor.ResizeOptions{Width: 480, Height: 360}))
	c.wantFramesVisible("without denial")
	c.eval("shown = false; 0", nil)
	k.deny(func(a executor.Access) bool { return a.Origin != origin && a.Origin != executor.OriginInternal })
	return origin
}

// wantFramesVisible waits for a screenshot that shows the frames.
func (c *testCase) wantFramesVisible(when string) {
	c.Helper()
	for c.ctx.Err() == nil {
		shot, err := c.page().Screenshot(c.ctx, nil)
		if err == nil && deniedFramePixels(c.decode(shot)) > 500 {
			return
		}
	}
	c.Fatalf("%s the frames are not visible", when)
}
