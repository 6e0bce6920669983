// Package emulate changes what the pages of a tab see of their device: the size of the viewport,
// media features, locale, network, CPU, position, permissions and additional headers of requests. It
// also emulates the focus, and denies passkeys.
package emulate

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

// settings are what a tab emulates. The zero value emulates nothing.
type settings struct {
	width, height int // set by Resize; 0 means the size of the device
	executor.Emulation
	agent   string // user agent of the device, unless UserAgent is set
	headers ExtraHeaders
}

// Options are the options of [New].
type Options struct {
	Tree *frames.Tree
	// OwnProcess means that no tab of the user can share a renderer process with the tab's pages.
	// Locale, timezone and CPU throttling apply to the complete process.
	OwnProcess bool
	// Intercepted means that the requests of the tab are paused anyway.
	Intercepted bool
	// DenyPasskeys means that requests for passkeys fail immediately, except during a handover.
	DenyPasskeys bool
	// HandedOver reports whether the tab is handed over to the user.
	HandedOver func() bool
	// SetPermission starts granting a permission in the browser context of the tab, or removing the
	// grant. nil means that only the user grants permissions.
	SetPermission func(ctx context.Context, grant executor.PageGrant, granted bool) (*cdpconn.Pending, error)
}

// An Emulator is the emulation of a tab. Its methods are safe for concurrent use.
type Emulator struct {
	opts Options
	tree *frames.Tree

	mu        sync.Mutex // guards the fields below
	current   settings
	changedBy *Controls // that last changed current
}

// New returns the Emulator of a tab, which emulates nothing.
func New(opts Options) *Emulator { return &Emulator{opts: opts, tree: opts.Tree} }

// get returns the current settings.
func (e *Emulator) get() settings {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current
}

// Touch reports whether the tab emulates a touch screen.
func (e *Emulator) Touch() bool { return e.get().touch() }

// CPURate returns the factor by which the tab emulates a slower CPU, at least 1.
func (e *Emulator) CPURate() float64 { return cmp.Or(e.get().CPUThrottling, 1) }

// Headers returns the additional headers.
func (e *Emulator) Headers() ExtraHeaders { return e.get().headers }

// change changes the settings for c, and returns what they were and are.
func (e *Emulator) change(c *Controls, change func(*settings)) (before, after settings) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before = e.current
	change(&e.current)
	e.changedBy = c
	return before, e.current
}

// reset removes the settings if c changed them last, and returns what they were.
func (e *Emulator) reset(c *Controls) (before settings, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changedBy != c {
		return settings{}, false
	}
	before = e.current
	e.current, e.changedBy = settings{}, nil
	return before, true
}

// Controls change the emulation of a tab for one client. Their methods must be called one at a
// time, as the calls on a tab are.
type Controls struct {
	emulator *Emulator
	client   *frames.Client
}

// For returns the controls of a client.
func (e *Emulator) For(client *frames.Client) *Controls { return &Controls{e, client} }

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

// commands returns the commands that apply s to a CDP target. Their number and order are always the
// same. top means that the target is the page itself, because frames have no viewport settings;
// ownProcess is Options.OwnProcess.
func (s settings) commands(top, ownProcess bool) []cdpconn.Command {
	features := []map[string]any{{"name": "prefers-color-scheme", "value": string(s.ColorScheme)}, {"name": "prefers-reduced-motion", "value": ""}}
	if s.ReducedMotion != nil {
		features[1]["value"] = map[bool]string{true: "reduce", false: "no-preference"}[*s.ReducedMotion]
	}
	net := networkProfiles[cmp.Or(s.Network, executor.NetworkOnline)]
	d, agent := devices[s.Device], map[string]any{"userAgent": s.agent, "acceptLanguage": s.Locale}
	switch {
	case s.UserAgent != "":
		agent["userAgent"] = s.UserAgent
	case s.agent != "":
		agent["platform"] = "Linux armv81"
		agent["userAgentMetadata"] = map[string]any{"platform": "Android", "platformVersion": "10.0.0", "architecture": "", "model": "K", "mobile": d.mobile != ""}
	}
	touch := map[string]any{"enabled": s.touch()}
	if s.touch() {
		touch["maxTouchPoints"] = 5
	}
	list := []cdpconn.Command{
		{Method: "Emulation.setEmulatedMedia", Params: map[string]any{"media": string(s.Media), "features": features}},
		{Method: "Emulation.setTouchEmulationEnabled", Params: touch},
		{Method: "Emulation.setUserAgentOverride", Params: agent},
		{Method: "Network.emulateNetworkConditions", Params: map[string]any{"offline": net.offline, "latency": net.latency, "downloadThroughput": net.down, "uploadThroughput": net.up}},
	}
	if ownProcess {
		list = append(list,
			cdpconn.Command{Method: "Emulation.setLocaleOverride", Params: map[string]any{"locale": s.Locale}},
			cdpconn.Command{Method: timezoneMethod, Params: map[string]any{"timezoneId": s.Timezone}},
			cdpconn.Command{Method: "Emulation.setCPUThrottlingRate", Params: map[string]any{"rate": cmp.Or(s.CPUThrottling, 1)}})
	}
	if top {
		list = append(list, s.metrics(), s.position())
	}
	return list
}

// touch reports whether the device has a touch screen.
func (s settings) touch() bool { return devices[s.Device].width != 0 }

// position returns the command that sets the position of the device.
func (s settings) position() cdpconn.Command {
	if s.Geolocation == nil {
		return cdpconn.Command{Method: "Emulation.clearGeolocationOverride"}
	}
	return cdpconn.Command{Method: "Emulation.setGeolocationOverride", Params: *s.Geolocation}
}

// metrics returns the command that sets the size of the viewport.
func (s settings) metrics() cdpconn.Command {
	d := devices[s.Device]
	width, height := s.width, s.height
	if width == 0 {
		width, height = d.width, d.height
	}
	if width == 0 {
		return cdpconn.Command{Method: "Emulation.clearDeviceMetricsOverride"}
	}
	params := map[string]any{"width": width, "height": height, "deviceScaleFactor": d.scale, "mobile": d.width != 0}
	if d.width != 0 {
		params["screenWidth"], params["screenHeight"] = width, height
		params["screenOrientation"] = map[string]any{"type": "portraitPrimary", "angle": 0}
		if width > height {
			params["screenOrientation"] = map[string]any{"type": "landscapePrimary", "angle": 90}
		}
	}
	return cdpconn.Command{Method: "Emulation.setDeviceMetricsOverride", Params: params}
}

const timezoneMethod = "Emulation.setTimezoneOverride"

// since returns the commands that change the emulation of a target from before to s.
func (s settings) since(before settings, top, ownProcess bool) []cdpconn.Command {
	previous := before.commands(top, ownProcess)
	var list []cdpconn.Command
	for i, c := range s.commands(top, ownProcess) {
		if reflect.DeepEqual(c, previous[i]) {
			continue
		}
		if c.Method == timezoneMethod && before.Timezone != "" {
			// If a timezone is set already, the browser accepts any name without an error.
			list = append(list, cdpconn.Command{Method: timezoneMethod, Params: map[string]any{"timezoneId": ""}})
		}
		list = append(list, c)
	}
	return list
}

// Commands returns the commands that apply the emulation to a target that was just attached.
func (e *Emulator) Commands(s *cdpconn.Session) []cdpconn.Command {
	var list []cdpconn.Command
	if !e.opts.HandedOver() {
		list = e.unattended(s == e.tree.Session(), true)
	}
	now := e.get()
	list = append(list, now.since(settings{}, s == e.tree.Session(), e.opts.OwnProcess)...)
	if c, ok := e.interceptionSince(settings{}, now); ok {
		list = append(list, c)
	}
	return list
}

// unattended returns the commands for a target that no user operates. They emulate the focus in the
// page: without it, a background tab gets no animation frames and no focus. And they make requests
// for passkeys fail immediately: without an authenticator, they fail only when they time out. If
// enabled is not set, the commands end both.
func (e *Emulator) unattended(top, enabled bool) (list []cdpconn.Command) {
	if top {
		list = append(list, cdpconn.Command{Method: "Emulation.setFocusEmulationEnabled", Params: map[string]any{"enabled": enabled}})
	}
	switch {
	case !e.opts.DenyPasskeys:
	case enabled:
		list = append(list, cdpconn.Command{Method: "WebAuthn.enable", Params: map[string]any{"enableUI": false}})
	default:
		list = append(list, cdpconn.Command{Method: "WebAuthn.disable"})
	}
	return list
}

// SetHandedOver disables what would hinder the user during a handover: passkeys that fail
// immediately, and the emulated focus. If handedOver is not set, it enables them again.
func (e *Emulator) SetHandedOver(ctx context.Context, handedOver bool) {
	for _, s := range e.tree.Sessions() {
		for _, c := range e.unattended(s == e.tree.Session(), !handedOver) {
			_, _ = s.Start(ctx, c.Method, c.Params)
		}
	}
}

// interceptionSince returns the command that changes which requests of a target are paused for
// additional headers.
func (e *Emulator) interceptionSince(before, after settings) (c cdpconn.Command, ok bool) {
	c = after.headers.Interception()
	return c, !e.opts.Intercepted && !reflect.DeepEqual(c, before.headers.Interception())
}

// Resize sets or resets the size of the viewport.
func (c *Controls) Resize(ctx context.Context, opts *executor.ResizeOptions) (*executor.Viewport, error) {
	o := *cmp.Or(opts, new(executor.ResizeOptions))
	switch {
	case o.Reset && (o.Width != 0 || o.Height != 0):
		return nil, executor.Errorf(executor.ErrBadArgs, "Set one or the other.", "both a size and reset are set")
	case !o.Reset && (min(o.Width, o.Height) < executor.MinViewport || max(o.Width, o.Height) > executor.MaxViewport):
		return nil, executor.Errorf(executor.ErrBadArgs, "Give both, or reset.", "width and height must be between %d and %d CSS pixels", executor.MinViewport, executor.MaxViewport)
	}
	now, err := c.emulate(ctx, executor.EmulateOptions{}, func(s *settings, _ measuredPage) { s.width, s.height = o.Width, o.Height })
	if err != nil {
		return nil, err
	}
	return &now.Viewport, nil
}

// Emulate changes the emulation of the tab.
func (c *Controls) Emulate(ctx context.Context, opts *executor.EmulateOptions) (*executor.Emulation, error) {
	o := *cmp.Or(opts, new(executor.EmulateOptions))
	if err := c.emulator.check(o); err != nil {
		return nil, err
	}
	return c.emulate(ctx, o, func(s *settings, page measuredPage) {
		if o.Reset {
			*s = settings{width: s.width, height: s.height}
		}
		s.change(o, page)
	})
}

// check returns an error for invalid options.
func (e *Emulator) check(o executor.EmulateOptions) error {
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
	case !e.opts.OwnProcess && (o.Locale != "" || o.Timezone != "" || o.CPUThrottling > 1):
		return executor.Errorf(executor.ErrBadArgs, "Omit them, or use the managed browser.",
			"locale, timezone and cpu cannot be emulated in the user's own browser: other tabs may share the page's process")
	case len(o.UserAgent) > maxUserAgent || strings.ContainsFunc(o.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }):
		return executor.Errorf(executor.ErrBadArgs, "Use printable ASCII characters.", "user agent is invalid or longer than %d characters", maxUserAgent)
	case o.Geolocation != nil && !(math.Abs(o.Geolocation.Latitude) <= 90 && math.Abs(o.Geolocation.Longitude) <= 180 && o.Geolocation.Accuracy >= 0): // also rejects NaN
		return executor.Errorf(executor.ErrBadArgs, "The latitude is from -90 to 90, the longitude from -180 to 180.", "the geolocation is not a position")
	}
	return e.checkPermissions(o)
}

// maxUserAgent is the maximum length of a user agent, in characters.
const maxUserAgent = 1000

func (e *Emulator) checkPermissions(o executor.EmulateOptions) error {
	for _, p := range o.Permissions {
		switch {
		case p != executor.PermissionGeolocation && p != executor.PermissionNotifications:
			return executor.Errorf(executor.ErrBadArgs, "Use geolocation or notifications.", "permission %q cannot be granted", pagetext.FirstLine(string(p)))
		case e.opts.SetPermission == nil:
			return executor.Errorf(executor.ErrBadArgs, "Ask the user to grant it, or use the managed browser.", "permissions cannot be granted in the user's own browser")
		case p == executor.PermissionGeolocation && o.Geolocation == nil && (o.Reset || e.get().Geolocation == nil):
			return executor.Errorf(executor.ErrBadArgs, "Also emulate a geolocation.", "permission %q needs an emulated geolocation", string(p))
		}
	}
	return nil
}

// chromeVersion matches the version in the user agent of the browser. Nothing else in the user
// agent of Chrome for Android depends on the device.
var chromeVersion = lazyregexp.New(`Chrome/([0-9]+)`)

// change sets the fields that o sets.
func (s *settings) change(o executor.EmulateOptions, page measuredPage) {
	if o.Device != "" {
		s.Device, s.agent = o.Device, ""
		if o.Device == executor.DeviceDesktop {
			s.Device = ""
		} else if m := chromeVersion().FindStringSubmatch(page.Agent); m != nil {
			s.agent = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + m[1] + ".0.0.0" + devices[o.Device].mobile + " Safari/537.36"
		}
	}
	s.ColorScheme = cmp.Or(o.ColorScheme, s.ColorScheme)
	s.ReducedMotion = cmp.Or(o.ReducedMotion, s.ReducedMotion)
	s.Media = cmp.Or(o.Media, s.Media)
	s.Locale = cmp.Or(o.Locale, s.Locale)
	s.Timezone = cmp.Or(o.Timezone, s.Timezone)
	if s.Network = cmp.Or(o.Network, s.Network); s.Network == executor.NetworkOnline {
		s.Network = ""
	}
	if s.CPUThrottling = cmp.Or(o.CPUThrottling, s.CPUThrottling); s.CPUThrottling == 1 {
		s.CPUThrottling = 0
	}
	s.changeHeaders(o.Headers)
	s.UserAgent = cmp.Or(o.UserAgent, s.UserAgent)
	s.Geolocation = cmp.Or(o.Geolocation, s.Geolocation)
	for _, p := range o.Permissions {
		if g := (executor.PageGrant{Origin: page.origin, Permission: p}); !slices.Contains(s.Permissions, g) {
			s.Permissions = append(slices.Clone(s.Permissions), g)
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
func (c *Controls) emulate(ctx context.Context, o executor.EmulateOptions, change func(*settings, measuredPage)) (*executor.Emulation, error) {
	e, timing := c.emulator, c.emulator.tree.Timing()
	ctx, cancel := context.WithTimeout(ctx, timing.Emulate)
	defer cancel()
	d, err := c.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	if len(o.Permissions) > 0 && (d.Origin == executor.OriginInternal || d.Origin == executor.OriginOpaque) {
		return nil, executor.Errorf(executor.ErrNotActionable, "Navigate to the site first.", "the page has no site that permissions can be granted to")
	}
	if err := c.checkHeaders(ctx, d, o.Headers); err != nil {
		return nil, err
	}
	measured := measuredPage{origin: d.Origin}
	if err := d.Call(ctx, &measured, "viewport", nil, 0); err != nil {
		return nil, frames.TimeoutAs(err, "the page to return its size")
	}
	before, after := e.change(c, func(s *settings) { change(s, measured) })
	if err := e.apply(ctx, before, after); err != nil {
		e.change(c, func(s *settings) { *s = before })
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.Emulate)
		defer cancel()
		return nil, errors.Join(err, e.apply(undo, after, before))
	}
	if d, err = c.client.Document(ctx, executor.OpRead); err != nil {
		return nil, err
	}
	var old any
	if !reflect.DeepEqual(before.metrics(), after.metrics()) {
		old = measured
	}
	if err := d.Call(ctx, &measured, "viewport", old, timing.ViewportChange.Milliseconds()); err != nil {
		return nil, frames.TimeoutAs(err, "the page to return its size")
	}
	result := after.Emulation
	result.Viewport = executor.Viewport{Width: int(math.Round(measured.Width)), Height: int(math.Round(measured.Height)), Scale: measured.Scale}
	return &result, nil
}

// apply changes the emulation of the tab's targets from before to after. It returns only
// errors of the page's own target: two frames may share a process and its timezone.
func (e *Emulator) apply(ctx context.Context, before, after settings) error {
	var first error
	for _, a := range e.send(ctx, before, after) {
		err := a.pending.Wait(ctx, nil)
		switch {
		case err == nil:
		case a.sess != e.tree.Session():
			e.tree.Log().Debug("setting the emulation of a frame", "error", err)
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

// send sends the commands that apply waits for.
func (e *Emulator) send(ctx context.Context, before, after settings) (list []pendingCommand) {
	for _, s := range e.tree.Sessions() {
		commands := after.since(before, s == e.tree.Session(), e.opts.OwnProcess)
		if c, ok := e.interceptionSince(before, after); ok {
			commands = append(commands, c)
		}
		for _, c := range commands {
			if p, err := s.Start(ctx, c.Method, c.Params); err == nil {
				list = append(list, pendingCommand{s, p})
			}
		}
	}
	for _, g := range slices.Concat(before.Permissions, after.Permissions) {
		granted := slices.Contains(after.Permissions, g)
		if granted == slices.Contains(before.Permissions, g) {
			continue
		}
		if p, err := e.opts.SetPermission(ctx, g, granted); err == nil {
			list = append(list, pendingCommand{e.tree.Session(), p})
		}
	}
	return list
}

// Reset removes the emulation that c has set. It does not wait for the browser.
func (c *Controls) Reset() {
	e := c.emulator
	if before, ok := e.reset(c); ok && e.tree.Attached() {
		e.send(context.Background(), before, settings{})
	}
}
