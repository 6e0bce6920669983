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
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// resize sets the viewport size and checks the result.
func resize(c *suite.Case, width, height int) {
	c.Helper()
	v, err := c.Page().Resize(c.Ctx, &executor.ResizeOptions{Width: width, Height: height})
	if err != nil {
		c.Fatalf("resize: %v", err)
	}
	if v.Width != width || v.Height != height || v.Scale == 0 {
		c.Errorf("resized to %dx%d: %+v", width, height, v)
	}
}

// emulate changes emulation settings.
func emulate(c *suite.Case, opts executor.EmulateOptions) *executor.Emulation {
	c.Helper()
	e, err := c.Page().Emulate(c.Ctx, &opts)
	if err != nil {
		c.Fatalf("emulate %+v: %v", opts, err)
	}
	return e
}

// wantUsable checks that clicks and screenshots still work, on a page whose bottom right corner is
// red.
func wantUsable(c *suite.Case, width, height int) {
	c.Helper()
	c.Click(suite.Selector("#button"), nil)
	if r := c.Await("click", "button"); !r.Trusted {
		c.Errorf("the click is %+v", r)
	}
	shot, img := c.Shot(nil)
	if shot.Width != width || shot.Height != height {
		c.Errorf("the screenshot is %dx%d, want %dx%d", shot.Width, shot.Height, width, height)
	}
	c.WantColor(img, width-5, height-5, color.RGBA{R: 255})
	c.WantColor(img, width-105, height-5, color.RGBA{255, 255, 255, 255})
}

func emulation(s *suite.Runner, t *testing.T) {
	still, moving := true, false
	s.Page(t, "size", "emulate.html", func(c *suite.Case) {
		before := c.EvalString("seen()")
		resize(c, 640, 480)
		wantUsable(c, 640, 480)
		c.GoTo(c.OtherURL("emulate.html"), nil)
		c.WantValue("seen()", "640x480 light moving screen mouse own")
		resize(c, 500, 900)
		wantUsable(c, 500, 900)
		c.Must(c.Page().Resize(c.Ctx, &executor.ResizeOptions{Reset: true}))
		c.WantValue("seen()", before)
	})
	s.Shared().Page(t, "no size", "emulate.html", func(c *suite.Case) {
		before := c.EvalString("seen()")
		_, err := c.Page().Resize(c.Ctx, nil)
		c.WantCode(err, executor.ErrBadArgs)
		c.Must(c.Page().Emulate(c.Ctx, nil))
		for _, o := range []executor.ResizeOptions{{}, {Width: 800}, {Width: 99, Height: 500}, {Width: 500, Height: 5001}, {Width: -800, Height: 600}, {Width: 800, Height: 600, Reset: true}} {
			_, err := c.Page().Resize(c.Ctx, &o)
			c.WantCode(err, executor.ErrBadArgs)
		}
		for _, o := range []executor.EmulateOptions{{Device: "watch"}, {ColorScheme: "red"}, {Media: "braille"}, {Network: "5g"}, {Locale: "Norwegian"}, {CPUThrottling: 21}, {CPUThrottling: 0.5},
			{UserAgent: "Lamp/1.0\r\nX-Lamp: 1"}, {Geolocation: &executor.Geolocation{Latitude: 91}}, {Geolocation: &executor.Geolocation{Longitude: math.NaN()}},
			{Permissions: []executor.PagePermission{"camera"}}, {Permissions: []executor.PagePermission{executor.PermissionGeolocation}},
			{Headers: map[string]map[string]string{"example.com": {"X-Lamp": "on"}}}, {Headers: map[string]map[string]string{c.Origin(): {"Host": "a.test"}}},
			{Headers: map[string]map[string]string{c.Origin(): {"X Lamp": "on"}}}, {Headers: map[string]map[string]string{c.Origin(): {"X-Lamp": "on\r\nCookie: a=b"}}},
			{ColorScheme: executor.SchemeDark, Timezone: "Mars/Olympus"}} {
			_, err := c.Page().Emulate(c.Ctx, &o)
			c.WantCode(err, executor.ErrBadArgs)
		}
		c.WantValue("seen()", before)
	})
	s.Shared().Page(t, "preferences", "emulate.html", func(c *suite.Case) {
		size := strings.Fields(c.EvalString("seen()"))[0]
		emulate(c, executor.EmulateOptions{ColorScheme: executor.SchemeDark, ReducedMotion: &still})
		c.WantValue("seen()", size+" dark still screen mouse own")
		awaitFrame(c, "dark")
		e := emulate(c, executor.EmulateOptions{Media: executor.MediaPrint, ReducedMotion: &moving})
		if e.ColorScheme != executor.SchemeDark || *e.ReducedMotion || e.Media != executor.MediaPrint {
			c.Errorf("emulated: %+v", e)
		}
		c.WantValue("seen()", size+" dark moving print mouse own")
		c.GoTo(c.OtherURL("emulate.html"), nil)
		c.WantValue("seen()", size+" dark moving print mouse own")
		c.GoTo(c.URL("emulate.html"), nil) // with a new frame
		awaitFrame(c, "dark")
		if e := emulate(c, executor.EmulateOptions{Reset: true, ColorScheme: executor.SchemeLight}); e.Media != "" || e.ReducedMotion != nil {
			c.Errorf("after reset: %+v", e)
		}
		c.WantValue("seen()", size+" light moving screen mouse own")
	})
	s.Shared().Page(t, "phone", "emulate.html", func(c *suite.Case) {
		before := c.EvalString("seen()")
		e := emulate(c, executor.EmulateOptions{Device: executor.DevicePhone})
		if e.Device != executor.DevicePhone || e.Viewport != (executor.Viewport{Width: 412, Height: 915, Scale: 2.625}) {
			c.Errorf("emulated: %+v", e)
		}
		c.WantValue("seen()", "412x915 light moving screen touch android")
		wantUsable(c, 412, 915)
		c.GoTo(c.OtherURL("emulate.html"), nil)
		c.WantValue("seen()", "412x915 light moving screen touch android")
		resize(c, 915, 412)
		c.WantValue("screen.orientation.type", "landscape-primary")
		wantUsable(c, 915, 412)
		c.GoTo(c.Path("/asked"), nil)
		if got := c.EvalString("document.body.innerText"); !strings.Contains(got, "Android 10; K") || !strings.Contains(got, " Mobile Safari/") {
			c.Errorf("the server received %q", got)
		}
		emulate(c, executor.EmulateOptions{Device: executor.DeviceDesktop})
		c.Must(c.Page().Resize(c.Ctx, &executor.ResizeOptions{Reset: true}))
		c.GoTo(c.URL("emulate.html"), nil)
		c.WantValue("seen()", before)
	})
	s.Shared().Page(t, "user agent", "emulate.html", func(c *suite.Case) {
		before := c.EvalString("navigator.userAgent")
		e := emulate(c, executor.EmulateOptions{UserAgent: "Lamp/1.0", Device: executor.DevicePhone, Geolocation: &executor.Geolocation{Latitude: 1}})
		if e.UserAgent != "Lamp/1.0" || e.Device != executor.DevicePhone || e.Geolocation.Latitude != 1 {
			c.Errorf("emulated: %+v", e)
		}
		c.WantValue("navigator.userAgent", "Lamp/1.0")
		c.GoTo(c.Path("/asked"), nil)
		c.WantIn(c.EvalString("document.body.innerText"), "Lamp/1.0")
		emulate(c, executor.EmulateOptions{Reset: true})
		c.GoTo(c.URL("emulate.html"), nil)
		c.WantValue("navigator.userAgent", before)
	})
	s.Shared().Page(t, "geolocation", "emulate.html", func(c *suite.Case) {
		// grant allows the origin of url, which the tab shows, to query the position.
		grant := func(url, origin string) {
			c.Helper()
			if c.H.UserAnswers { // only the user grants permissions
				c.H.Raw(c.T, url, "Browser.grantPermissions", map[string]any{"origin": origin, "permissions": []string{"geolocation"}})
				return
			}
			emulate(c, executor.EmulateOptions{Permissions: []executor.PagePermission{executor.PermissionGeolocation}})
		}
		wantPosition := func(want string) {
			c.Helper()
			const where = "new Promise((done) => navigator.geolocation.getCurrentPosition((p) => done([p.coords.latitude, p.coords.longitude, p.coords.accuracy].join()), (e) => done('error ' + e.code)))"
			if got := c.EvalString(where); got != want {
				c.Errorf("position %s, want %s", got, want)
			}
		}
		e := emulate(c, executor.EmulateOptions{Geolocation: &executor.Geolocation{Latitude: 59.91, Longitude: 10.75, Accuracy: 20}})
		if e.Geolocation == nil || *e.Geolocation != (executor.Geolocation{Latitude: 59.91, Longitude: 10.75, Accuracy: 20}) {
			c.Errorf("emulated: %+v", e)
		}
		grant(c.URL("emulate.html"), c.Origin())
		wantPosition("59.91,10.75,20")
		_, err := c.Page().Emulate(c.Ctx, &executor.EmulateOptions{Geolocation: &executor.Geolocation{Latitude: 91}})
		c.WantCode(err, executor.ErrBadArgs)
		wantPosition("59.91,10.75,20")
		emulate(c, executor.EmulateOptions{Geolocation: &executor.Geolocation{Latitude: -33.5, Longitude: 151.25}})
		wantPosition("-33.5,151.25,0")
		c.GoTo(c.OtherURL("emulate.html"), nil)
		grant(c.OtherURL("emulate.html"), c.OtherOrigin())
		wantPosition("-33.5,151.25,0")
	})
	s.Page(t, "permissions", "emulate.html", func(c *suite.Case) {
		state := func(name string) string {
			return c.EvalString("navigator.permissions.query({name: '" + name + "'}).then((p) => p.state)")
		}
		both := []executor.PagePermission{executor.PermissionGeolocation, executor.PermissionNotifications}
		e := emulate(c, executor.EmulateOptions{Geolocation: &executor.Geolocation{Latitude: 59.91, Longitude: 10.75}, Permissions: both})
		if len(e.Permissions) != 2 || e.Permissions[0].Origin != c.Origin() {
			c.Errorf("emulated: %+v", e)
		}
		if got := state("geolocation") + state("notifications"); got != "grantedgranted" {
			c.Errorf("permissions: %s", got)
		}
		c.GoTo(c.OtherURL("emulate.html"), nil)
		if got := state("geolocation") + state("notifications"); strings.Contains(got, "granted") {
			c.Errorf("permissions of another origin: %s", got)
		}
		c.GoTo(c.URL("emulate.html"), nil)
		emulate(c, executor.EmulateOptions{Reset: true})
		if got := state("geolocation") + state("notifications"); strings.Contains(got, "granted") {
			c.Errorf("permissions after reset: %s", got)
		}
		blank := c.OpenURL("")
		_, err := pagetest.Of(c.Exec, blank.ID).Emulate(c.Ctx, &executor.EmulateOptions{Permissions: both[1:]})
		c.WantCode(err, executor.ErrNotActionable)
	})
	s.Page(t, "headers of requests to an origin", "emulate.html", func(c *suite.Case) {
		received := func(url string) string {
			c.Helper()
			return c.EvalString("fetch(" + suite.Quote(url) + ").then((r) => r.text(), () => 'failed')")
		}
		e := emulate(c, executor.EmulateOptions{Headers: map[string]map[string]string{c.Origin(): {"X-Lamp": "on"}}})
		if fmt.Sprint(e.Headers) != fmt.Sprintf("[{%s [X-Lamp]}]", c.Origin()) {
			c.Errorf("emulated: %+v", e)
		}
		hop := func(to string) string { return c.Path("/redirect/1?to=" + url.QueryEscape(to)) }
		asked, elsewhere := c.Path("/asked"), c.OtherOrigin()+"/asked"
		for _, tc := range []struct {
			url, value string
		}{{asked, `lamp "on"`}, {hop(asked), `lamp "on"`}, {elsewhere, `lamp ""`}, {hop(elsewhere), `lamp ""`}} {
			c.WantIn(received(tc.url), tc.value)
			c.GoTo(tc.url, nil)
			c.WantIn(c.EvalString("document.body.innerText"), tc.value)
			c.GoTo(c.URL("emulate.html"), nil)
		}
		// Other tabs are not affected, and neither is the tab after the headers were removed.
		other := c.Open("emulate.html")
		res, err := pagetest.Of(c.Exec, other).Eval(c.Ctx, "fetch("+suite.Quote(asked)+").then((r) => r.text())", nil)
		if err != nil || !strings.Contains(string(res.Value), `lamp \"\"`) {
			c.Errorf("another tab: %+v, %v", res, err)
		}
		if e := emulate(c, executor.EmulateOptions{Headers: map[string]map[string]string{c.Origin(): {}}}); len(e.Headers) != 0 {
			c.Errorf("emulated: %+v", e)
		}
		c.WantIn(received(asked), `lamp ""`)
	})
	s.Gated(t, "headers to a denied origin", "emulate.html", func(c *suite.Case, k *suite.Keeper) {
		if strings.HasPrefix(string(c.Tab), "ext:") {
			c.Skip("user's browser: no headers are added")
		}
		k.DenyOrigin(c.OtherOrigin())
		_, err := c.Page().Emulate(c.Ctx, &executor.EmulateOptions{Headers: map[string]map[string]string{c.OtherOrigin(): {"X-Lamp": "on"}}})
		c.WantCode(err, executor.ErrPolicyDenied)
	})
	s.Page(t, "permissions in the user's browser", "emulate.html", func(c *suite.Case) {
		if !strings.HasPrefix(string(c.Tab), "ext:") {
			c.Skip("this one is not its user's")
		}
		_, err := c.Page().Emulate(c.Ctx, &executor.EmulateOptions{Permissions: []executor.PagePermission{executor.PermissionNotifications}})
		c.WantCode(err, executor.ErrBadArgs, "user's own browser")
		_, err = c.Page().Emulate(c.Ctx, &executor.EmulateOptions{Headers: map[string]map[string]string{c.Origin(): {"X-Lamp": "on"}}})
		c.WantCode(err, executor.ErrBadArgs, "user's own browser")
	})
	s.Shared().Page(t, "phone, page without viewport meta tag", "click.html", func(c *suite.Case) {
		emulate(c, executor.EmulateOptions{Device: executor.DevicePhone})
		width := 0
		if c.Eval("innerWidth", &width); width <= 412 {
			c.Errorf("the page is %d pixels wide: not zoomed out", width)
		}
		c.Click(suite.Selector("#plain"), nil)
		c.Await("click", "plain")
		c.Click(suite.ByRef(c.Ref("button", "Save order")), nil)
		c.Await("click", "save")
		c.Shot(nil)
	})
	s.Shared().Page(t, "click is a tap on a device with a touch screen", "touch.html", func(c *suite.Case) {
		pressed := func(id string) string {
			c.Eval("events = []", nil)
			c.Click(suite.Selector(id), nil)
			return c.EvalString("events.join(', ')")
		}
		const mouse = "plain pointerdown mouse, plain mousedown, plain pointerup mouse, plain mouseup, plain click mouse"
		if got := pressed("#plain"); got != mouse {
			c.Errorf("without emulation: %s", got)
		}
		emulate(c, executor.EmulateOptions{Device: executor.DevicePhone})
		if got, want := pressed("#plain"), "plain pointerdown touch, plain touchstart, plain pointerup touch, plain touchend, plain mousedown, plain mouseup, plain click touch"; got != want {
			c.Errorf("on a phone: %s", got)
		}
		c.Click(suite.Selector("#own"), nil) // without a click
		c.Await("touch", "own")
		a := c.Click(suite.Selector("#leaves"), nil)
		c.WantIn(a.Note, "removed")
		c.WantUntouched("below")
		c.Eval("const cover = document.createElement('div'); cover.style = 'position: fixed; inset: 0'; document.body.append(cover); 0", nil)
		_, err := c.Page().Click(c.Ctx, suite.Selector("#plain"), nil)
		c.WantCode(err, executor.ErrNotActionable, "cover")
		c.Eval("document.body.lastChild.remove(); 0", nil)
		emulate(c, executor.EmulateOptions{Device: executor.DeviceDesktop})
		if got := pressed("#plain"); got != mouse {
			c.Errorf("after emulation: %s", got)
		}
	})
	s.Shared().Gated(t, "tap in frames", "", func(c *suite.Case, k *suite.Keeper) {
		c.Tab = c.Open("touch.html")
		emulate(c, executor.EmulateOptions{Device: executor.DevicePhone})
		c.Eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'width: 300px; height: 400px'; f.src = %q; document.body.replaceChildren(f); })", c.OtherURL("touch.html")), nil)
		below := c.Ref("button", "Below")
		c.Click(suite.ByRef(below), nil)
		c.Await("click", "below")
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpAct && a.Origin == c.OtherOrigin() })
		for _, target := range []executor.Target{suite.ByRef(below), suite.Selector("iframe")} {
			_, err := c.Page().Click(c.Ctx, target, nil)
			c.WantCode(err, executor.ErrPolicyDenied)
		}
	})
	s.Shared().Page(t, "network", "", func(c *suite.Case) {
		// navigator.onLine belongs to the renderer, and another page that closes resets it. A site that no
		// other case opens has its own renderer.
		c.Tab = c.OpenURL(fmt.Sprintf("http://network%s.localhost:%d/p/%s/emulate.html", c.ID, c.Port, c.ID)).ID
		emulate(c, executor.EmulateOptions{Network: executor.NetworkOffline})
		fetched := `fetch("/nothing?" + Math.random()).then(() => "loaded", () => "lost")`
		wantEventually(c, fetched, "lost")
		wantEventually(c, `new Promise((done) => { const check = () => navigator.onLine || done("offline"); addEventListener("offline", check); check(); })`, "offline")
		_, err := c.Page().Navigate(c.Ctx, c.OtherURL("second.html"), nil)
		c.WantCode(err, executor.ErrNavigationFailed, "ERR_INTERNET_DISCONNECTED")
		emulate(c, executor.EmulateOptions{Network: executor.NetworkOnline})
		c.GoTo(c.URL("second.html"), nil)
		emulate(c, executor.EmulateOptions{Network: executor.NetworkSlow3G})
		start := time.Now()
		wantEventually(c, fetched, "loaded")
		if took := time.Since(start); took < 1900*time.Millisecond {
			c.Errorf("a request took %v", took)
		}
		emulate(c, executor.EmulateOptions{Network: executor.NetworkOnline})
		wantEventually(c, fetched, "loaded")
		wantEventually(c, `new Promise((done) => { const check = () => navigator.onLine && done("online"); addEventListener("online", check); check(); })`, "online")
	})
	s.Page(t, "locale, time zone and CPU throttling", "emulate.html", func(c *suite.Case) {
		here := c.EvalString("Intl.DateTimeFormat().resolvedOptions().timeZone + navigator.language")
		emulate(c, executor.EmulateOptions{Locale: "nb-NO", Timezone: "Asia/Tokyo", CPUThrottling: 2})
		_, err := c.Page().Emulate(c.Ctx, &executor.EmulateOptions{Timezone: "Asia/Tokio"})
		c.WantCode(err, executor.ErrBadArgs)
		for range 2 {
			c.WantValue("Intl.DateTimeFormat().resolvedOptions().timeZone", "Asia/Tokyo")
			c.WantValue("new Date(0).getHours()", "9")
			c.WantValue("(1.5).toLocaleString()", "1,5")
			c.WantValue("navigator.language", "nb-NO")
			c.GoTo(c.OtherURL("emulate.html"), nil)
		}
		c.GoTo(c.Path("/asked"), nil)
		if got := c.EvalString("document.body.innerText"); !strings.Contains(got, "nb-NO") || strings.Contains(got, "Android") {
			c.Errorf("the server received %q", got)
		}
		emulate(c, executor.EmulateOptions{Reset: true})
		c.WantValue("Intl.DateTimeFormat().resolvedOptions().timeZone + navigator.language", here)
	})
	s.Shared().Page(t, "separate per tab", "emulate.html", func(c *suite.Case) {
		before := c.EvalString("seen()")
		first := c.Tab
		c.Tab = c.Open("emulate.html")
		resize(c, 700, 500)
		emulate(c, executor.EmulateOptions{ColorScheme: executor.SchemeDark})
		c.Tab = first
		c.WantValue("seen()", before)
	})
	s.Shared().Gated(t, "denied page", "emulate.html", func(c *suite.Case, k *suite.Keeper) {
		before := c.EvalString("seen()")
		k.DenyOrigin(c.Origin())
		_, err := c.Page().Resize(c.Ctx, &executor.ResizeOptions{Width: 500, Height: 500})
		c.WantCode(err, executor.ErrPolicyDenied)
		_, err = c.Page().Emulate(c.Ctx, &executor.EmulateOptions{ColorScheme: executor.SchemeDark})
		c.WantCode(err, executor.ErrPolicyDenied)
		k.Deny(func(executor.Access) bool { return false })
		c.WantValue("seen()", before)
	})
}

// awaitFrame waits until the cross-site frame reports its preferred color scheme.
func awaitFrame(c *suite.Case, scheme string) {
	c.Helper()
	c.Eval(fmt.Sprintf(`new Promise((done) => { if (frame === %q) done(1); else addEventListener("message", (e) => e.data === %[1]q && done(1)) })`, scheme), nil)
}

// wantEventually is like WantValue for a promise.
func wantEventually(c *suite.Case, expression, want string) {
	c.Helper()
	if got := c.EvalString(fmt.Sprintf("(%s).then(String)", expression)); got != want {
		c.Errorf("%s = %q, want %q", expression, got, want)
	}
}
