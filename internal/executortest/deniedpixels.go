package executortest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// attackedShots returns the number of screenshots of each page that moves its denied frames.
func attackedShots() int {
	if tier.DeepEnabled() {
		return 12
	}
	return 3
}

// deniedPixels tests pages that move denied frames during a screenshot.
func deniedPixels(s *suite.Runner, t *testing.T) {
	deniedKinds(s, t)
	s = s.Shared()
	deniedTransition(s, t)
	deniedRestored(s, t)
	deniedTopLayer(s, t)
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
			s = s.Deep()
		}
		s.Gated(t, m.name, "", func(c *suite.Case, k *suite.Keeper) {
			mode, pinch := m.mode, m.mode == "pinch"
			if pinch {
				mode = "message"
			}
			seed := rand.Uint32N(1 << 20)
			c.Logf("seed %d", seed)
			openMoving(c, k, mode, seed)
			if pinch {
				c.Must(c.Page().CDP(c.Ctx, "Emulation.setPageScaleFactor", map[string]any{"pageScaleFactor": 1.5}))
			}
			kinds := []*executor.ScreenshotOptions{
				nil, {Target: suite.Selector("#around")}, {FullPage: true}, nil, {Format: executor.FormatJPEG, Quality: 90}, nil,
			}
			taken, shots := 0, attackedShots()
			if m.thirds == 0 {
				shots /= 3 // each is denied after waiting for the frame to be drawn
			}
			for i := range shots {
				shot, err := c.Page().Screenshot(c.Ctx, kinds[i%len(kinds)])
				if err != nil {
					if code := executor.CodeOf(err); code != executor.ErrPolicyDenied && code != executor.ErrTargetGone {
						c.Fatalf("screenshot %d: %v", i, err)
					}
					c.Logf("screenshot %d: %v", i, err)
					continue
				}
				taken++
				if n := deniedFramePixels(c.Decode(shot)); n > 0 {
					c.Errorf("screenshot %d shows %d pixels of a denied frame", i, n)
				}
			}
			if tier.DeepEnabled() && taken*3 < shots*m.thirds { // fewer on a busy machine
				c.Errorf("%d of %d screenshots succeeded", taken, shots)
			}
			k.Deny(nil)
			c.Eval("shown = true; 0", nil)
			wantFramesVisible(c, "allowed again")
		})
	}
}

// deniedKinds tests denied documents of all kinds on a page that does not move.
func deniedKinds(s *suite.Runner, t *testing.T) {
	s.Shared().Gated(t, "denied documents of any kind are masked", "manyframes.html", func(c *suite.Case, k *suite.Keeper) {
		// Opaque origins are never allowed.
		k.Deny(func(a executor.Access) bool { return a.Origin == executor.OriginOpaque })
		for _, id := range []string{"page", "dressed", "drawing"} {
			for c.Ctx.Err() == nil { // until it is drawn
				if _, img := c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#" + id)}); deniedFramePixels(img) > 5000 {
					break
				}
			}
		}
		k.Deny(func(a executor.Access) bool { return a.Origin != c.Origin() && a.Origin != executor.OriginInternal })
		for what, opts := range map[string]*executor.ScreenshotOptions{
			"viewport": nil, "full page": {FullPage: true}, "near": {Target: suite.Selector("#near")}, "dressed": {Target: suite.Selector("#dressed")},
		} {
			if _, img := c.Shot(opts); deniedFramePixels(img) > 0 {
				c.Errorf("%s shows %d pixels of a denied frame", what, deniedFramePixels(img))
			}
		}
		k.Deny(func(a executor.Access) bool { return a.Origin == executor.OriginOpaque })
		if _, img := c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#dressed")}); deniedFramePixels(img) < 5000 {
			c.Errorf("allowed again, %d pixels of the frame are visible", deniedFramePixels(img))
		}
	})
}

// deniedTransition tests a view transition that started before the frames were
// hidden, and so shows their content.
func deniedTransition(s *suite.Runner, t *testing.T) {
	s.Gated(t, "view transition with old page content: screenshot denied", "", func(c *suite.Case, k *suite.Keeper) {
		openMoving(c, k, "still", 1)
		c.Shot(nil)
		c.Eval("document.startViewTransition(() => new Promise(() => {})).ready.catch(() => 0); 0", nil)
		_, err := c.Page().Screenshot(c.Ctx, nil)
		c.WantCode(err, executor.ErrPolicyDenied, "transition")
		c.Eval("document.activeViewTransition?.skipTransition(); 0", nil)
	})
	// A transition of an element in a shadow root, which shows the old state of the element
	// elsewhere.
	s.Gated(t, "view transition with old element content: screenshot denied", "", func(c *suite.Case, k *suite.Keeper) {
		openMoving(c, k, "element", 1)
		var seen int
		c.Eval(`(async () => {
			const scope = around.shadowRoot.querySelector("div");
			window.transition = scope.startViewTransition(() => { scope.firstChild.style.width = "179px" });
			await transition.ready;
			return document.getAnimations().length + (document.activeViewTransition ? 1 : 0);
		})()`, &seen)
		if seen != 0 {
			c.Errorf("the document has %d animations", seen)
		}
		shot, err := c.Page().Screenshot(c.Ctx, nil)
		if err == nil {
			c.Errorf("%d pixels of denied frames are visible", deniedFramePixels(c.Decode(shot)))
		}
		c.WantCode(err, executor.ErrPolicyDenied, "transition")
		c.Eval("transition.skipTransition(); 0", nil)
	})
}

// deniedTopLayer tests a frame that shows a popover in a closed shadow root, and checks that hiding
// changes neither its focus nor its scroll position.
func deniedTopLayer(s *suite.Runner, t *testing.T) {
	s.Gated(t, "denied frame keeps its focus and scroll position", "", func(c *suite.Case, k *suite.Keeper) {
		openMoving(c, k, "still&kind=popover", 1)
		const state = `Promise.all(frames.map((f) => new Promise((done) => {
			const {port1, port2} = new MessageChannel();
			port1.onmessage = (e) => done(e.data.y + " " + e.data.field);
			f.contentWindow.postMessage("state", "*", [port2]);
		}))).then((states) => states.join())`
		before := ""
		for before != "300 true,300 false" && before != "300 true,300 true" { // until the field of the first frame has the focus
			if c.Ctx.Err() != nil {
				c.Fatalf("the frames stay at %q", before)
			}
			c.Eval(`for (const f of frames) f.contentWindow.postMessage("scroll", "*");
				frames[0].focus(); frames[0].contentWindow.postMessage("focus", "*"); 0`, nil)
			before = c.EvalString(state)
		}
		for _, opts := range []*executor.ScreenshotOptions{nil, {FullPage: true}} {
			if _, img := c.Shot(opts); deniedFramePixels(img) > 0 {
				c.Errorf("%d pixels of denied frames are visible", deniedFramePixels(img))
			}
		}
		if after := c.EvalString(state); after != before {
			c.Errorf("the frames were at %q, and then at %q", before, after)
		}
	})
}

// deniedRestored tests a page with frames that is restored from the bfcache.
func deniedRestored(s *suite.Runner, t *testing.T) {
	s.Gated(t, "denied frames restored from bfcache are masked", "", func(c *suite.Case, k *suite.Keeper) {
		origin := openMoving(c, k, "still", 1)
		// Chrome may evict any page from the bfcache, and then loads it again.
		for stayed := false; !stayed; {
			k.Deny(nil)
			c.Eval("window.stayed = true", nil)
			c.Must(c.Page().Navigate(c.Ctx, c.URL("click.html"), nil))
			k.Deny(func(a executor.Access) bool {
				return a.Frame != "" && a.Origin != origin && a.Origin != executor.OriginInternal
			})
			c.Must(c.Page().Back(c.Ctx, nil))
			c.Eval("Boolean(window.stayed)", &stayed)
		}
		for _, opts := range []*executor.ScreenshotOptions{nil, {FullPage: true}} {
			if _, img := c.Shot(opts); deniedFramePixels(img) > 0 {
				c.Errorf("%d pixels of denied frames are visible", deniedFramePixels(img))
			}
		}
		k.Deny(nil)
		wantFramesVisible(c, "allowed again")
		if n := strings.Count(c.Snap(nil), "SECRET heading"); n != 2 {
			c.Errorf("allowed again, %d of 2 frames are readable", n)
		}
	})
}

// openMoving opens movingframes.html, checks that its frames are visible, and denies them. It
// returns the origin of the page.
func openMoving(c *suite.Case, k *suite.Keeper, mode string, seed uint32) (origin string) {
	c.Helper()
	origin = fmt.Sprintf("http://moving%s.localhost:%d", c.ID, c.Port)
	tab := c.OpenURL(fmt.Sprintf("%s/p/%s/movingframes.html?mode=%s&seed=%d", origin, c.ID, mode, seed))
	c.Tab = tab.ID
	c.Must(c.Page().Resize(c.Ctx, &executor.ResizeOptions{Width: 480, Height: 360}))
	wantFramesVisible(c, "without denial")
	c.Eval("shown = false; 0", nil)
	k.Deny(func(a executor.Access) bool { return a.Origin != origin && a.Origin != executor.OriginInternal })
	return origin
}

// wantFramesVisible waits for a screenshot that shows the frames.
func wantFramesVisible(c *suite.Case, when string) {
	c.Helper()
	for c.Ctx.Err() == nil {
		shot, err := c.Page().Screenshot(c.Ctx, nil)
		if err == nil && deniedFramePixels(c.Decode(shot)) > 500 {
			return
		}
	}
	c.Fatalf("%s the frames are not visible", when)
}
