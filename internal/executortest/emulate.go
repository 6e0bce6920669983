package executortest

import (
	"fmt"
	"image/color"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// resize sets the viewport size and checks the result.
func (c *testCase) resize(width, height int) {
	c.Helper()
	v, err := c.page().Resize(c.ctx, executor.ResizeOptions{Width: width, Height: height})
	if err != nil {
		c.Fatalf("resize: %v", err)
	}
	if v.Width != width || v.Height != height || v.Scale == 0 {
		c.Errorf("resized to %dx%d: %+v", width, height, v)
	}
}

// emulate changes emulation settings.
func (c *testCase) emulate(opts executor.EmulateOptions) *executor.Emulation {
	c.Helper()
	e, err := c.page().Emulate(c.ctx, opts)
	if err != nil {
		c.Fatalf("emulate %+v: %v", opts, err)
	}
	return e
}

// wantUsable checks that clicks and screenshots still work, on a page whose bottom right corner is
// red.
func (c *testCase) wantUsable(width, height int) {
	c.Helper()
	c.click(css("#button"), nil)
	if r := c.await("click", "button"); !r.Trusted {
		c.Errorf("the click is %+v", r)
	}
	shot, img := c.shot(nil)
	if shot.Width != width || shot.Height != height {
		c.Errorf("the screenshot is %dx%d, want %dx%d", shot.Width, shot.Height, width, height)
	}
	c.wantColor(img, width-5, height-5, color.RGBA{R: 255})
	c.wantColor(img, width-105, height-5, color.RGBA{255, 255, 255, 255})
}

func (s *suite) emulation(t *testing.T) {
	still, moving := true, false
	s.page(t, "size", "emulate.html", func(c *testCase) {
		before := c.evalString("seen()")
		c.resize(640, 480)
		c.wantUsable(640, 480)
		c.goTo(c.otherURL("emulate.html"), nil)
		c.wantValue("seen()", "640x480 light moving screen mouse own")
		c.resize(500, 900)
		c.wantUsable(500, 900)
		if _, err := c.page().Resize(c.ctx, executor.ResizeOptions{Reset: true}); err != nil {
			c.Fatal(err)
		}
		c.wantValue("seen()", before)
	})
	s.page(t, "no size", "emulate.html", func(c *testCase) {
		before := c.evalString("seen()")
		for _, o := range []executor.ResizeOptions{{}, {Width: 800}, {Width: 99, Height: 500}, {Width: 500, Height: 5001}, {Width: -800, Height: 600}, {Width: 800, Height: 600, Reset: true}} {
			_, err := c.page().Resize(c.ctx, o)
			c.wantCode(err, executor.ErrBadArgs)
		}
		for _, o := range []executor.EmulateOptions{{Device: "watch"}, {ColorScheme: "red"}, {Media: "braille"}, {Network: "5g"}, {Locale: "Norwegian"}, {CPUThrottling: 21}, {CPUThrottling: 0.5},
			{ColorScheme: executor.SchemeDark, Timezone: "Mars/Olympus"}} {
			_, err := c.page().Emulate(c.ctx, o)
			c.wantCode(err, executor.ErrBadArgs)
		}
		c.wantValue("seen()", before)
	})
	s.page(t, "preferences", "emulate.html", func(c *testCase) {
		size := strings.Fields(c.evalString("seen()"))[0]
		c.emulate(executor.EmulateOptions{ColorScheme: executor.SchemeDark, ReducedMotion: &still})
		c.wantValue("seen()", size+" dark still screen mouse own")
		c.awaitFrame("dark")
		e := c.emulate(executor.EmulateOptions{Media: executor.MediaPrint, ReducedMotion: &moving})
		if e.ColorScheme != executor.SchemeDark || *e.ReducedMotion || e.Media != executor.MediaPrint {
			c.Errorf("emulated: %+v", e)
		}
		c.wantValue("seen()", size+" dark moving print mouse own")
		c.goTo(c.otherURL("emulate.html"), nil)
		c.wantValue("seen()", size+" dark moving print mouse own")
		c.goTo(c.url("emulate.html"), nil) // with a new frame
		c.awaitFrame("dark")
		if e := c.emulate(executor.EmulateOptions{Reset: true, ColorScheme: executor.SchemeLight}); e.Media != "" || e.ReducedMotion != nil {
			c.Errorf("after reset: %+v", e)
		}
		c.wantValue("seen()", size+" light moving screen mouse own")
	})
	s.page(t, "phone", "emulate.html", func(c *testCase) {
		before := c.evalString("seen()")
		e := c.emulate(executor.EmulateOptions{Device: executor.DevicePhone})
		if e.Device != executor.DevicePhone || e.Viewport != (executor.Viewport{Width: 412, Height: 915, Scale: 2.625}) {
			c.Errorf("emulated: %+v", e)
		}
		c.wantValue("seen()", "412x915 light moving screen touch android")
		c.wantUsable(412, 915)
		c.goTo(c.otherURL("emulate.html"), nil)
		c.wantValue("seen()", "412x915 light moving screen touch android")
		c.resize(915, 412)
		c.wantValue("screen.orientation.type", "landscape-primary")
		c.wantUsable(915, 412)
		c.goTo(c.path("/asked"), nil)
		if got := c.evalString("document.body.innerText"); !strings.Contains(got, "Android 10; K") || !strings.Contains(got, " Mobile Safari/") {
			c.Errorf("the server received %q", got)
		}
		c.emulate(executor.EmulateOptions{Device: executor.DeviceDesktop})
		if _, err := c.page().Resize(c.ctx, executor.ResizeOptions{Reset: true}); err != nil {
			c.Fatal(err)
		}
		c.goTo(c.url("emulate.html"), nil)
		c.wantValue("seen()", before)
	})
	s.page(t, "phone, page without viewport meta tag", "click.html", func(c *testCase) {
		c.emulate(executor.EmulateOptions{Device: executor.DevicePhone})
		width := 0
		if c.eval("innerWidth", &width); width <= 412 {
			c.Errorf("the page is %d pixels wide: not zoomed out", width)
		}
		c.click(css("#plain"), nil)
		c.await("click", "plain")
		c.click(byRef(c.ref("button", "Save order")), nil)
		c.await("click", "save")
		c.shot(nil)
	})
	s.page(t, "network", "emulate.html", func(c *testCase) {
		c.emulate(executor.EmulateOptions{Network: executor.NetworkOffline})
		fetched := `fetch("/nothing?" + Math.random()).then(() => "loaded", () => "lost")`
		c.wantEventually(fetched, "lost")
		c.wantValue("navigator.onLine", "false")
		_, err := c.page().Navigate(c.ctx, c.otherURL("second.html"), nil)
		c.wantCode(err, executor.ErrNavigationFailed, "ERR_INTERNET_DISCONNECTED")
		c.emulate(executor.EmulateOptions{Network: executor.NetworkSlow3G})
		c.goTo(c.url("second.html"), nil)
		start := time.Now()
		c.wantEventually(fetched, "loaded")
		if took := time.Since(start); took < 1900*time.Millisecond {
			c.Errorf("a request took %v", took)
		}
		c.emulate(executor.EmulateOptions{Network: executor.NetworkOnline})
		c.wantEventually(fetched, "loaded")
		c.wantValue("navigator.onLine", "true")
	})
	s.page(t, "locale, time zone and CPU throttling", "emulate.html", func(c *testCase) {
		here := c.evalString("Intl.DateTimeFormat().resolvedOptions().timeZone + navigator.language")
		c.emulate(executor.EmulateOptions{Locale: "nb-NO", Timezone: "Asia/Tokyo", CPUThrottling: 2})
		_, err := c.page().Emulate(c.ctx, executor.EmulateOptions{Timezone: "Asia/Tokio"})
		c.wantCode(err, executor.ErrBadArgs)
		for range 2 {
			c.wantValue("Intl.DateTimeFormat().resolvedOptions().timeZone", "Asia/Tokyo")
			c.wantValue("new Date(0).getHours()", "9")
			c.wantValue("(1.5).toLocaleString()", "1,5")
			c.wantValue("navigator.language", "nb-NO")
			c.goTo(c.otherURL("emulate.html"), nil)
		}
		c.goTo(c.path("/asked"), nil)
		if got := c.evalString("document.body.innerText"); !strings.Contains(got, "nb-NO") || strings.Contains(got, "Android") {
			c.Errorf("the server received %q", got)
		}
		c.emulate(executor.EmulateOptions{Reset: true})
		c.wantValue("Intl.DateTimeFormat().resolvedOptions().timeZone + navigator.language", here)
	})
	s.page(t, "separate per tab", "emulate.html", func(c *testCase) {
		before := c.evalString("seen()")
		first := c.tab
		c.tab = c.open("emulate.html")
		c.resize(700, 500)
		c.emulate(executor.EmulateOptions{ColorScheme: executor.SchemeDark})
		c.tab = first
		c.wantValue("seen()", before)
	})
	s.gated(t, "denied page", "emulate.html", func(c *testCase, k *keeper) {
		before := c.evalString("seen()")
		k.denyOrigin(c.origin())
		_, err := c.page().Resize(c.ctx, executor.ResizeOptions{Width: 500, Height: 500})
		c.wantCode(err, executor.ErrPolicyDenied)
		_, err = c.page().Emulate(c.ctx, executor.EmulateOptions{ColorScheme: executor.SchemeDark})
		c.wantCode(err, executor.ErrPolicyDenied)
		k.deny(func(executor.Access) bool { return false })
		c.wantValue("seen()", before)
	})
}

// awaitFrame waits until the cross-site frame reports its preferred color scheme.
func (c *testCase) awaitFrame(scheme string) {
	c.Helper()
	c.eval(fmt.Sprintf(`new Promise((done) => { if (frame === %q) done(1); else addEventListener("message", (e) => e.data === %[1]q && done(1)) })`, scheme), nil)
}

// wantEventually is wantValue for a promise.
func (c *testCase) wantEventually(expression, want string) {
	c.Helper()
	if got := c.evalString(fmt.Sprintf("(%s).then(String)", expression)); got != want {
		c.Errorf("%s = %q, want %q", expression, got, want)
	}
}
