package executortest

import (
	"fmt"
	"image/color"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
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
		c.must(c.page().Resize(c.ctx, executor.ResizeOptions{Reset: true}))
		c.wantValue("seen()", before)
	})
	s.page(t, "no size", "emulate.html", func(c *testCase) {
		before := c.evalString("seen()")
		for _, o := range []executor.ResizeOptions{{}, {Width: 800}, {Width: 99, Height: 500}, {Width: 500, Height: 5001}, {Width: -800, Height: 600}, {Width: 800, Height: 600, Reset: true}} {
			_, err := c.page().Resize(c.ctx, o)
			c.wantCode(err, executor.ErrBadArgs)
		}
		for _, o := range []executor.EmulateOptions{{Device: "watch"}, {ColorScheme: "red"}, {Media: "braille"}, {Network: "5g"}, {Locale: "Norwegian"}, {CPUThrottling: 21}, {CPUThrottling: 0.5},
			{UserAgent: "Lamp/1.0\r\nX-Lamp: 1"}, {Geolocation: &executor.Geolocation{Latitude: 91}}, {Geolocation: &executor.Geolocation{Longitude: math.NaN()}},
			{Permissions: []executor.PagePermission{"camera"}}, {Permissions: []executor.PagePermission{executor.PermissionGeolocation}},
			{Headers: map[string]map[string]string{"example.com": {"X-Lamp": "on"}}}, {Headers: map[string]map[string]string{c.origin(): {"Host": "a.test"}}},
			{Headers: map[string]map[string]string{c.origin(): {"X Lamp": "on"}}}, {Headers: map[string]map[string]string{c.origin(): {"X-Lamp": "on\r\nCookie: a=b"}}},
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
		c.must(c.page().Resize(c.ctx, executor.ResizeOptions{Reset: true}))
		c.goTo(c.url("emulate.html"), nil)
		c.wantValue("seen()", before)
	})
	s.page(t, "user agent", "emulate.html", func(c *testCase) {
		before := c.evalString("navigator.userAgent")
		e := c.emulate(executor.EmulateOptions{UserAgent: "Lamp/1.0", Device: executor.DevicePhone, Geolocation: &executor.Geolocation{Latitude: 1}})
		if e.UserAgent != "Lamp/1.0" || e.Device != executor.DevicePhone || e.Geolocation.Latitude != 1 {
			c.Errorf("emulated: %+v", e)
		}
		c.wantValue("navigator.userAgent", "Lamp/1.0")
		c.goTo(c.path("/asked"), nil)
		c.wantIn(c.evalString("document.body.innerText"), "Lamp/1.0")
		c.emulate(executor.EmulateOptions{Reset: true})
		c.goTo(c.url("emulate.html"), nil)
		c.wantValue("navigator.userAgent", before)
	})
	s.page(t, "geolocation and permissions", "emulate.html", func(c *testCase) {
		const where = "new Promise((done) => navigator.geolocation.getCurrentPosition((p) => done([p.coords.latitude, p.coords.longitude].join()), (e) => done('error ' + e.code)))"
		state := func(name string) string {
			return c.evalString("navigator.permissions.query({name: '" + name + "'}).then((p) => p.state)")
		}
		both := []executor.PagePermission{executor.PermissionGeolocation, executor.PermissionNotifications}
		e := c.emulate(executor.EmulateOptions{Geolocation: &executor.Geolocation{Latitude: 59.91, Longitude: 10.75}, Permissions: both})
		if len(e.Permissions) != 2 || e.Permissions[0].Origin != c.origin() {
			c.Errorf("emulated: %+v", e)
		}
		if got := c.evalString(where); got != "59.91,10.75" {
			c.Errorf("position %s", got)
		}
		if got := state("geolocation") + state("notifications"); got != "grantedgranted" {
			c.Errorf("permissions: %s", got)
		}
		c.goTo(c.otherURL("emulate.html"), nil)
		if got := state("geolocation") + state("notifications"); strings.Contains(got, "granted") {
			c.Errorf("permissions of another origin: %s", got)
		}
		c.goTo(c.url("emulate.html"), nil)
		c.emulate(executor.EmulateOptions{Geolocation: &executor.Geolocation{Latitude: -33.5, Longitude: 151.25}})
		if got := c.evalString(where); got != "-33.5,151.25" {
			c.Errorf("position %s", got)
		}
		c.emulate(executor.EmulateOptions{Reset: true})
		if got := state("geolocation") + state("notifications"); strings.Contains(got, "granted") {
			c.Errorf("permissions after reset: %s", got)
		}
		blank := c.openURL("")
		_, err := pagetest.Of(c.exec, blank.ID).Emulate(c.ctx, executor.EmulateOptions{Permissions: both[1:]})
		c.wantCode(err, executor.ErrNotActionable)
	})
	s.page(t, "headers of requests to an origin", "emulate.html", func(c *testCase) {
		received := func(url string) string {
			c.Helper()
			return c.evalString("fetch(" + quote(url) + ").then((r) => r.text(), () => 'failed')")
		}
		e := c.emulate(executor.EmulateOptions{Headers: map[string]map[string]string{c.origin(): {"X-Lamp": "on"}}})
		if fmt.Sprint(e.Headers) != fmt.Sprintf("[{%s [X-Lamp]}]", c.origin()) {
			c.Errorf("emulated: %+v", e)
		}
		hop := func(to string) string { return c.path("/redirect/1?to=" + url.QueryEscape(to)) }
		asked, elsewhere := c.path("/asked"), c.otherOrigin()+"/asked"
		for _, tc := range []struct {
			url, value string
		}{{asked, `lamp "on"`}, {hop(asked), `lamp "on"`}, {elsewhere, `lamp ""`}, {hop(elsewhere), `lamp ""`}} {
			c.wantIn(received(tc.url), tc.value)
			c.goTo(tc.url, nil)
			c.wantIn(c.evalString("document.body.innerText"), tc.value)
			c.goTo(c.url("emulate.html"), nil)
		}
		// Other tabs are not affected, and neither is the tab after the headers were removed.
		other := c.open("emulate.html")
		res, err := pagetest.Of(c.exec, other).Eval(c.ctx, "fetch("+quote(asked)+").then((r) => r.text())", nil)
		if err != nil || !strings.Contains(string(res.Value), `lamp \"\"`) {
			c.Errorf("another tab: %+v, %v", res, err)
		}
		if e := c.emulate(executor.EmulateOptions{Headers: map[string]map[string]string{c.origin(): {}}}); len(e.Headers) != 0 {
			c.Errorf("emulated: %+v", e)
		}
		c.wantIn(received(asked), `lamp ""`)
	})
	s.gated(t, "headers to a denied origin", "emulate.html", func(c *testCase, k *keeper) {
		if strings.HasPrefix(string(c.tab), "ext:") {
			c.Skip("user's browser: no headers are added")
		}
		k.denyOrigin(c.otherOrigin())
		_, err := c.page().Emulate(c.ctx, executor.EmulateOptions{Headers: map[string]map[string]string{c.otherOrigin(): {"X-Lamp": "on"}}})
		c.wantCode(err, executor.ErrPolicyDenied)
	})
	s.page(t, "permissions in the user's browser", "emulate.html", func(c *testCase) {
		if !strings.HasPrefix(string(c.tab), "ext:") {
			c.Skip("this one is not its user's")
		}
		_, err := c.page().Emulate(c.ctx, executor.EmulateOptions{Permissions: []executor.PagePermission{executor.PermissionNotifications}})
		c.wantCode(err, executor.ErrBadArgs, "user's own Chrome")
		_, err = c.page().Emulate(c.ctx, executor.EmulateOptions{Headers: map[string]map[string]string{c.origin(): {"X-Lamp": "on"}}})
		c.wantCode(err, executor.ErrBadArgs, "user's own Chrome")
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
	s.page(t, "click is a tap on a device with a touch screen", "touch.html", func(c *testCase) {
		pressed := func(id string) string {
			c.eval("events = []", nil)
			c.click(css(id), nil)
			return c.evalString("events.join(', ')")
		}
		const mouse = "plain pointerdown mouse, plain mousedown, plain pointerup mouse, plain mouseup, plain click mouse"
		if got := pressed("#plain"); got != mouse {
			c.Errorf("without emulation: %s", got)
		}
		c.emulate(executor.EmulateOptions{Device: executor.DevicePhone})
		if got, want := pressed("#plain"), "plain pointerdown touch, plain touchstart, plain pointerup touch, plain touchend, plain mousedown, plain mouseup, plain click touch"; got != want {
			c.Errorf("on a phone: %s", got)
		}
		c.click(css("#own"), nil) // without a click
		c.await("touch", "own")
		a := c.click(css("#leaves"), nil)
		c.wantIn(a.Note, "removed")
		c.wantUntouched("below")
		c.eval("const cover = document.createElement('div'); cover.style = 'position: fixed; inset: 0'; document.body.append(cover); 0", nil)
		_, err := c.page().Click(c.ctx, css("#plain"), nil)
		c.wantCode(err, executor.ErrNotActionable, "cover")
		c.eval("document.body.lastChild.remove(); 0", nil)
		c.emulate(executor.EmulateOptions{Device: executor.DeviceDesktop})
		if got := pressed("#plain"); got != mouse {
			c.Errorf("after emulation: %s", got)
		}
	})
	s.gated(t, "tap in frames", "", func(c *testCase, k *keeper) {
		c.tab = c.open("touch.html")
		c.emulate(executor.EmulateOptions{Device: executor.DevicePhone})
		c.eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'width: 300px; height: 400px'; f.src = %q; document.body.replaceChildren(f); })", c.otherURL("touch.html")), nil)
		below := c.ref("button", "Below")
		c.click(byRef(below), nil)
		c.await("click", "below")
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpAct && a.Origin == c.otherOrigin() })
		for _, target := range []executor.Target{byRef(below), css("iframe")} {
			_, err := c.page().Click(c.ctx, target, nil)
			c.wantCode(err, executor.ErrPolicyDenied)
		}
	})
	s.page(t, "network", "", func(c *testCase) {
		// navigator.onLine belongs to the renderer, and another page that closes resets it. A site that no
		// other case opens has its own renderer.
		c.tab = c.openURL(fmt.Sprintf("http://network%s.localhost:%d/p/%s/emulate.html", c.id, c.port, c.id)).ID
		c.emulate(executor.EmulateOptions{Network: executor.NetworkOffline})
		fetched := `fetch("/nothing?" + Math.random()).then(() => "loaded", () => "lost")`
		c.wantEventually(fetched, "lost")
		c.wantEventually(`new Promise((done) => { const check = () => navigator.onLine || done("offline"); addEventListener("offline", check); check(); })`, "offline")
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
		c.wantEventually(`new Promise((done) => { const check = () => navigator.onLine && done("online"); addEventListener("online", check); check(); })`, "online")
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
