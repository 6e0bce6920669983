package page

import (
	"cmp"
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// An emulation is what a tab emulates. The zero value emulates nothing.
type emulation struct {
	width, height int // set by Resize; 0 means the size of the device
	executor.Emulation
	agent   string                       // user agent of the device, unless UserAgent is set
	headers map[string]map[string]string // by origin; never changed
}

// An emulationState is the current emulation of a tab. The zero value is ready to use. It is safe
// for concurrent use.
type emulationState struct {
	mu        sync.Mutex // guards the fields below
	current   emulation
	changedBy *View // the view that last changed current
}

// get returns the current emulation.
func (s *emulationState) get() emulation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// change changes the emulation for v, and returns what it was and is.
func (s *emulationState) change(v *View, change func(*emulation)) (before, after emulation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.current
	change(&s.current)
	s.changedBy = v
	return before, s.current
}

// reset removes the emulation if v changed it last, and returns what it was.
func (s *emulationState) reset(v *View) (before emulation, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changedBy != v {
		return emulation{}, false
	}
	before = s.current
	s.current, s.changedBy = emulation{}, nil
	return before, true
}

// A device describes what a page sees of an emulated device.
type device struct {
	width, height int
	scale         float64
	mobile        string // part of the user agent
}

// devices are the devices of executor.Device: a Pixel 7 and a 10-inch tablet.
var devices = map[executor.Device]device{
	executor.DeviceDesktop: {},
	executor.DevicePhone:   {412, 915, 2.625, " Mobile"},
	executor.DeviceTablet:  {800, 1280, 2, ""},
}

// A networkProfile holds parameters of Network.emulateNetworkConditions: the latency in ms, and the
// throughput in bytes per second, where -1 means no limit.
type networkProfile struct {
	offline  bool
	latency  float64
	down, up float64
}

// networkProfiles are the presets that Chrome DevTools has for these names.
var networkProfiles = map[executor.NetworkConditions]networkProfile{
	executor.NetworkOnline:  {false, 0, -1, -1},
	executor.NetworkOffline: {true, 0, 0, 0},
	executor.NetworkSlow3G:  {false, 2000, 50_000, 50_000},
	executor.NetworkFast3G:  {false, 562.5, 180_000, 84_375},
	executor.NetworkFast4G:  {false, 165, 1_012_500, 168_750},
}

// localePattern matches a locale: language, script and region.
var localePattern = lazyregexp.New(`^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?$`)

// commands returns the commands that apply e to a CDP target. Their number and order are always the
// same. top means that the target is the page itself, because frames have no viewport settings;
// ownProcess is the result of Tab.ownsRendererProcess.
func (e emulation) commands(top, ownProcess bool) []command {
	features := []map[string]any{{"name": "prefers-color-scheme", "value": string(e.ColorScheme)}, {"name": "prefers-reduced-motion", "value": ""}}
	if e.ReducedMotion != nil {
		features[1]["value"] = map[bool]string{true: "reduce", false: "no-preference"}[*e.ReducedMotion]
	}
	net := networkProfiles[cmp.Or(e.Network, executor.NetworkOnline)]
	d, agent := devices[e.Device], map[string]any{"userAgent": e.agent, "acceptLanguage": e.Locale}
	switch {
	case e.UserAgent != "":
		agent["userAgent"] = e.UserAgent
	case e.agent != "":
		agent["platform"] = "Linux armv81"
		agent["userAgentMetadata"] = map[string]any{"platform": "Android", "platformVersion": "10.0.0", "architecture": "", "model": "K", "mobile": d.mobile != ""}
	}
	touch := map[string]any{"enabled": e.touch()}
	if e.touch() {
		touch["maxTouchPoints"] = 5
	}
	list := []command{
		{"Emulation.setEmulatedMedia", map[string]any{"media": string(e.Media), "features": features}},
		{"Emulation.setTouchEmulationEnabled", touch},
		{"Emulation.setUserAgentOverride", agent},
		{"Network.emulateNetworkConditions", map[string]any{"offline": net.offline, "latency": net.latency, "downloadThroughput": net.down, "uploadThroughput": net.up}},
	}
	if ownProcess {
		list = append(list,
			command{"Emulation.setLocaleOverride", map[string]any{"locale": e.Locale}},
			command{timezoneMethod, map[string]any{"timezoneId": e.Timezone}},
			command{"Emulation.setCPUThrottlingRate", map[string]any{"rate": cmp.Or(e.CPUThrottling, 1)}})
	}
	if top {
		list = append(list, e.metrics(), e.position())
	}
	return list
}

// touch reports whether the device has a touch screen.
func (e emulation) touch() bool { return devices[e.Device].width != 0 }

// position returns the command that sets the position of the device.
func (e emulation) position() command {
	if e.Geolocation == nil {
		return command{"Emulation.clearGeolocationOverride", nil}
	}
	return command{"Emulation.setGeolocationOverride", *e.Geolocation}
}

// metrics returns the command that sets the size of the viewport.
func (e emulation) metrics() command {
	d := devices[e.Device]
	width, height := e.width, e.height
	if width == 0 {
		width, height = d.width, d.height
	}
	if width == 0 {
		return command{"Emulation.clearDeviceMetricsOverride", nil}
	}
	params := map[string]any{"width": width, "height": height, "deviceScaleFactor": d.scale, "mobile": d.width != 0}
	if d.width != 0 {
		params["screenWidth"], params["screenHeight"] = width, height
		params["screenOrientation"] = map[string]any{"type": "portraitPrimary", "angle": 0}
		if width > height {
			params["screenOrientation"] = map[string]any{"type": "landscapePrimary", "angle": 90}
		}
	}
	return command{"Emulation.setDeviceMetricsOverride", params}
}

const timezoneMethod = "Emulation.setTimezoneOverride"

// since returns the commands that change the emulation of a target from before to e.
func (e emulation) since(before emulation, top, ownProcess bool) []command {
	previous := before.commands(top, ownProcess)
	var list []command
	for i, c := range e.commands(top, ownProcess) {
		if reflect.DeepEqual(c, previous[i]) {
			continue
		}
		if c.method == timezoneMethod && before.Timezone != "" {
			// If a timezone is set already, the browser accepts any name without an error.
			list = append(list, command{timezoneMethod, map[string]any{"timezoneId": ""}})
		}
		list = append(list, c)
	}
	return list
}

// ownsRendererProcess reports whether no tab of the user can share a renderer process with the
// tab's pages. Locale, timezone and CPU throttling apply to the complete process.
func (t *Tab) ownsRendererProcess() bool { return t.opts.Own && t.opts.Attach == nil }

// emulated returns the commands that apply the tab's emulation to a target that was just attached.
func (t *Tab) emulated(s *cdpconn.Session) []command {
	e := t.emulation.get()
	list := e.since(emulation{}, s == t.sess, t.ownsRendererProcess())
	if c, ok := t.interceptionSince(emulation{}, e); ok {
		list = append(list, c)
	}
	return list
}

// interceptionSince returns the command that changes which requests of a target are paused for
// additional headers. A RequestFilter that runs from the start pauses all of them.
func (t *Tab) interceptionSince(before, after emulation) (c command, ok bool) {
	c = after.interception()
	return c, t.opts.RequestFilter == nil && !reflect.DeepEqual(c, before.interception())
}

// Resize sets or resets the size of the viewport.
func (v *View) Resize(ctx context.Context, o executor.ResizeOptions) (*executor.Viewport, error) {
	switch {
	case o.Reset && (o.Width != 0 || o.Height != 0):
		return nil, executor.Errorf(executor.ErrBadArgs, "Set one or the other.", "both a size and reset are set")
	case !o.Reset && (min(o.Width, o.Height) < executor.MinViewport || max(o.Width, o.Height) > executor.MaxViewport):
		return nil, executor.Errorf(executor.ErrBadArgs, "Give both, or reset.", "width and height must be between %d and %d CSS pixels", executor.MinViewport, executor.MaxViewport)
	}
	e, err := v.emulate(ctx, executor.EmulateOptions{}, func(e *emulation, _ measuredPage) { e.width, e.height = o.Width, o.Height })
	if err != nil {
		return nil, err
	}
	return &e.Viewport, nil
}

// Emulate changes the emulation of the tab.
func (v *View) Emulate(ctx context.Context, o executor.EmulateOptions) (*executor.Emulation, error) {
	if err := v.checkEmulation(o); err != nil {
		return nil, err
	}
	return v.emulate(ctx, o, func(e *emulation, page measuredPage) {
		if o.Reset {
			*e = emulation{width: e.width, height: e.height}
		}
		e.change(o, page)
	})
}

func (v *View) checkEmulation(o executor.EmulateOptions) error {
	unknown := func(what, value string) error {
		return executor.Errorf(executor.ErrBadArgs, "Use one of the listed values.", "%s %q is unknown", what, pagetext.FirstLine(value))
	}
	if _, ok := devices[o.Device]; o.Device != "" && !ok {
		return unknown("device", string(o.Device))
	}
	if _, ok := networkProfiles[o.Network]; o.Network != "" && !ok {
		return unknown("network", string(o.Network))
	}
	switch {
	case !slices.Contains([]executor.ColorScheme{"", executor.SchemeLight, executor.SchemeDark}, o.ColorScheme):
		return unknown("color scheme", string(o.ColorScheme))
	case !slices.Contains([]executor.MediaType{"", executor.MediaScreen, executor.MediaPrint}, o.Media):
		return unknown("media type", string(o.Media))
	case o.Locale != "" && !localePattern().MatchString(o.Locale):
		return executor.Errorf(executor.ErrBadArgs, "Write it like nb-NO.", "invalid locale %q", pagetext.FirstLine(o.Locale))
	case o.CPUThrottling != 0 && !(o.CPUThrottling >= 1 && o.CPUThrottling <= executor.MaxCPUThrottling): // also rejects NaN
		return executor.Errorf(executor.ErrBadArgs, "1 means no throttling.", "cpu throttling must be between 1 and %d", executor.MaxCPUThrottling)
	case !v.tab.ownsRendererProcess() && (o.Locale != "" || o.Timezone != "" || o.CPUThrottling > 1):
		return executor.Errorf(executor.ErrBadArgs, "Omit them, or use the managed browser.",
			"locale, timezone and cpu cannot be emulated in the user's own Chrome: other tabs may share the page's process")
	case len(o.UserAgent) > maxUserAgent || strings.ContainsFunc(o.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }):
		return executor.Errorf(executor.ErrBadArgs, "Use printable ASCII characters.", "user agent is invalid or longer than %d characters", maxUserAgent)
	case o.Geolocation != nil && !(math.Abs(o.Geolocation.Latitude) <= 90 && math.Abs(o.Geolocation.Longitude) <= 180 && o.Geolocation.Accuracy >= 0): // also rejects NaN
		return executor.Errorf(executor.ErrBadArgs, "The latitude is from -90 to 90, the longitude from -180 to 180.", "the geolocation is not a position")
	}
	return v.checkPermissions(o)
}

// maxUserAgent is the maximum length of a user agent, in characters.
const maxUserAgent = 1000

func (v *View) checkPermissions(o executor.EmulateOptions) error {
	for _, p := range o.Permissions {
		switch {
		case p != executor.PermissionGeolocation && p != executor.PermissionNotifications:
			return executor.Errorf(executor.ErrBadArgs, "Use geolocation or notifications.", "permission %q cannot be granted", pagetext.FirstLine(string(p)))
		case v.tab.opts.SetPermission == nil:
			return executor.Errorf(executor.ErrBadArgs, "Ask the user to grant it, or use the managed browser.", "permissions cannot be granted in the user's own Chrome")
		case p == executor.PermissionGeolocation && o.Geolocation == nil && (o.Reset || v.tab.emulation.get().Geolocation == nil):
			return executor.Errorf(executor.ErrBadArgs, "Also emulate a geolocation.", "permission %q needs an emulated geolocation", string(p))
		}
	}
	return nil
}

// chromeVersion matches the version in the user agent of the browser. Nothing else in the user
// agent of Chrome for Android depends on the device.
var chromeVersion = lazyregexp.New(`Chrome/([0-9]+)`)

// change sets the fields that o sets.
func (e *emulation) change(o executor.EmulateOptions, page measuredPage) {
	if o.Device != "" {
		e.Device, e.agent = o.Device, ""
		if o.Device == executor.DeviceDesktop {
			e.Device = ""
		} else if m := chromeVersion().FindStringSubmatch(page.Agent); m != nil {
			e.agent = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + m[1] + ".0.0.0" + devices[o.Device].mobile + " Safari/537.36"
		}
	}
	e.ColorScheme = cmp.Or(o.ColorScheme, e.ColorScheme)
	e.ReducedMotion = cmp.Or(o.ReducedMotion, e.ReducedMotion)
	e.Media = cmp.Or(o.Media, e.Media)
	e.Locale = cmp.Or(o.Locale, e.Locale)
	e.Timezone = cmp.Or(o.Timezone, e.Timezone)
	if e.Network = cmp.Or(o.Network, e.Network); e.Network == executor.NetworkOnline {
		e.Network = ""
	}
	if e.CPUThrottling = cmp.Or(o.CPUThrottling, e.CPUThrottling); e.CPUThrottling == 1 {
		e.CPUThrottling = 0
	}
	e.changeHeaders(o.Headers)
	e.UserAgent = cmp.Or(o.UserAgent, e.UserAgent)
	e.Geolocation = cmp.Or(o.Geolocation, e.Geolocation)
	for _, p := range o.Permissions {
		if g := (executor.PageGrant{Origin: page.origin, Permission: p}); !slices.Contains(e.Permissions, g) {
			e.Permissions = append(slices.Clone(e.Permissions), g)
		}
	}
}

// A measuredPage is the viewport that a page reports, the user agent, and the origin of the page.
type measuredPage struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Scale  float64 `json:"scale"`
	Agent  string  `json:"agent,omitempty"`

	origin string
}

// emulate applies change to the emulation of the tab, and returns the result. change receives the
// page as it is before. What o refers to must be allowed in the page.
func (v *View) emulate(ctx context.Context, o executor.EmulateOptions, change func(*emulation, measuredPage)) (*executor.Emulation, error) {
	ctx, cancel := context.WithTimeout(ctx, v.tab.timing.Emulate)
	defer cancel()
	d, err := v.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	if len(o.Permissions) > 0 && (d.Origin == executor.OriginInternal || d.Origin == executor.OriginOpaque) {
		return nil, executor.Errorf(executor.ErrNotActionable, "Navigate to the site first.", "the page has no site that permissions can be granted to")
	}
	if err := v.checkHeaders(ctx, d, o.Headers); err != nil {
		return nil, err
	}
	measured := measuredPage{origin: d.Origin}
	if err := d.Call(ctx, &measured, "viewport", nil, 0); err != nil {
		return nil, frames.TimeoutAs(err, "the page to return its size")
	}
	t := v.tab
	before, after := t.emulation.change(v, func(e *emulation) { change(e, measured) })
	if err := t.applyEmulation(ctx, before, after); err != nil {
		t.emulation.change(v, func(e *emulation) { *e = before })
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.timing.Emulate)
		defer cancel()
		return nil, errors.Join(err, t.applyEmulation(undo, after, before))
	}
	if d, err = v.client.Document(ctx, executor.OpRead); err != nil {
		return nil, err
	}
	var old any
	if !reflect.DeepEqual(before.metrics(), after.metrics()) {
		old = measured
	}
	if err := d.Call(ctx, &measured, "viewport", old, t.timing.ViewportChange.Milliseconds()); err != nil {
		return nil, frames.TimeoutAs(err, "the page to return its size")
	}
	e := after.Emulation
	e.Viewport = executor.Viewport{Width: int(math.Round(measured.Width)), Height: int(math.Round(measured.Height)), Scale: measured.Scale}
	return &e, nil
}

// applyEmulation changes the emulation of the tab's targets from before to after. It returns only
// errors of the page's own target: two frames may share a process and its timezone.
func (t *Tab) applyEmulation(ctx context.Context, before, after emulation) error {
	var first error
	for _, a := range t.sendEmulation(ctx, before, after) {
		err := a.pending.Wait(ctx, nil)
		switch {
		case err == nil:
		case a.sess != t.sess:
			t.log.Debug("setting the emulation of a frame", "error", err)
		case first == nil:
			first = frames.TimeoutAs(err, "the browser to set the emulation")
			if ce, ok := errors.AsType[*cdpconn.Error](err); ok {
				first = executor.Errorf(executor.ErrBadArgs, "Use another value.", "the browser rejected the emulation: %s", pagetext.FirstLine(ce.Message))
			}
		}
	}
	return first
}

// A pendingCommand is a command without a response yet.
type pendingCommand struct {
	sess    *cdpconn.Session
	pending *cdpconn.Pending
}

// sendEmulation sends the commands that applyEmulation waits for.
func (t *Tab) sendEmulation(ctx context.Context, before, after emulation) (list []pendingCommand) {
	for _, s := range t.tree.Sessions() {
		commands := after.since(before, s == t.sess, t.ownsRendererProcess())
		if c, ok := t.interceptionSince(before, after); ok {
			commands = append(commands, c)
		}
		for _, c := range commands {
			if p, err := s.Start(ctx, c.method, c.params); err == nil {
				list = append(list, pendingCommand{s, p})
			}
		}
	}
	for _, g := range slices.Concat(before.Permissions, after.Permissions) {
		granted := slices.Contains(after.Permissions, g)
		if granted == slices.Contains(before.Permissions, g) {
			continue
		}
		if p, err := t.opts.SetPermission(ctx, g, granted); err == nil {
			list = append(list, pendingCommand{t.sess, p})
		}
	}
	return list
}

// resetEmulation removes the emulation that v has set. It does not wait for the browser.
func (v *View) resetEmulation() {
	if before, ok := v.tab.emulation.reset(v); ok && v.tab.Attached() {
		v.tab.sendEmulation(context.Background(), before, emulation{})
	}
}
