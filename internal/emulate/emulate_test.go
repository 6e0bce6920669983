package emulate

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/frametest"
)

// A testTab is a tab of a fake browser, and its emulation.
type testTab struct {
	*frametest.Tab
	*Emulator

	mu       sync.Mutex // guards the fields below
	sent     []string   // commands that change the emulation, as text
	rejected string     // the method of the commands that the browser rejects
}

// attach returns a tab that shows https://a.test/1 in a viewport of 640 by 480 CSS pixels.
func attach(t *testing.T, opts Options) *testTab {
	t.Helper()
	tab := new(testTab)
	tab.Tab = frametest.Attach(t, cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		tab.mu.Lock()
		defer tab.mu.Unlock()
		method := string(cmd.Method)
		if domain, _, _ := strings.Cut(method, "."); slices.Contains([]string{"Emulation", "Fetch", "Network", "WebAuthn"}, domain) {
			var params any
			json.Unmarshal(cmd.Params, &params)
			sorted, _ := json.Marshal(params)
			tab.sent = append(tab.sent, fmt.Sprint(method, " ", string(sorted)))
		}
		switch method {
		case tab.rejected:
			b.Fail(cmd, -32000, "invalid")
		case "Runtime.callFunctionOn":
			b.Reply(cmd, `{"result":{"type":"object","value":{"width":640,"height":480,"scale":2,"agent":"Mozilla/5.0 (X11) Chrome/156.0.0.0 Safari/537.36"}}}`)
		default:
			b.Reply(cmd, "{}")
		}
	}))
	if opts.HandedOver == nil {
		opts.HandedOver = func() bool { return false }
	}
	opts.Tree = tab.Tree
	tab.Emulator = New(opts)
	tab.Load(t, 1)
	return tab
}

// want checks which commands were sent since it was last called.
func (tab *testTab) want(t *testing.T, when string, want ...string) {
	t.Helper()
	if err := tab.Command(t.Context(), "Page.enable", nil, nil); err != nil { // the last one
		t.Fatal(err)
	}
	tab.mu.Lock()
	defer tab.mu.Unlock()
	if !slices.Equal(tab.sent, want) {
		t.Errorf("%s, sent\n%s\nwant\n%s", when, strings.Join(tab.sent, "\n"), strings.Join(want, "\n"))
	}
	tab.sent = nil
}

// reject makes the browser reject the commands of a method, or none if it is empty.
func (tab *testTab) reject(method string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.rejected = method
}

// methods returns the methods of commands.
func methods(commands []cdpconn.Command) (list []string) {
	for _, c := range commands {
		list = append(list, c.Method)
	}
	return list
}

// TestResize checks that Resize changes the size of the viewport, and nothing else, and returns the size
// that the page reports.
func TestResize(t *testing.T) {
	tab := attach(t, Options{})
	c := tab.For(tab.Client(executor.AllowAll))
	got, err := c.Resize(t.Context(), &executor.ResizeOptions{Width: 800, Height: 600})
	if want := (executor.Viewport{Width: 640, Height: 480, Scale: 2}); err != nil || *got != want {
		t.Errorf("%+v, %v", got, err)
	}
	tab.want(t, "to resize", `Emulation.setDeviceMetricsOverride {"deviceScaleFactor":0,"height":600,"mobile":false,"width":800}`)
	if _, err := c.Resize(t.Context(), &executor.ResizeOptions{Reset: true}); err != nil {
		t.Error(err)
	}
	tab.want(t, "to reset the size", "Emulation.clearDeviceMetricsOverride null")
	for _, o := range []*executor.ResizeOptions{nil, {Width: 800}, {Width: 800, Height: 600, Reset: true}, {Width: 800, Height: executor.MaxViewport + 1}} {
		if _, err := c.Resize(t.Context(), o); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("%+v: %v", o, err)
		}
	}
	tab.want(t, "for bad arguments")
}

// TestEmulate checks that Emulate sends only what it changes, and returns all that is emulated.
func TestEmulate(t *testing.T) {
	tab := attach(t, Options{OwnProcess: true})
	c := tab.For(tab.Client(executor.AllowAll))
	if tab.Touch() || tab.CPURate() != 1 || len(tab.Headers()) > 0 {
		t.Error("a new tab emulates something")
	}
	if _, err := c.Emulate(t.Context(), &executor.EmulateOptions{CPUThrottling: 4}); err != nil {
		t.Fatal(err)
	}
	tab.want(t, "for the CPU", `Emulation.setCPUThrottlingRate {"rate":4}`)
	got, err := c.Emulate(t.Context(), &executor.EmulateOptions{Device: executor.DevicePhone})
	if err != nil || got.Device != executor.DevicePhone || got.CPUThrottling != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	if !tab.Touch() || tab.CPURate() != 4 {
		t.Errorf("touch %t, CPU rate %v", tab.Touch(), tab.CPURate())
	}
	tab.mu.Lock()
	sent := strings.Join(tab.sent, "\n")
	tab.mu.Unlock()
	for _, text := range []string{`"maxTouchPoints":5`, "Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile", `"screenWidth":412`} {
		if !strings.Contains(sent, text) {
			t.Errorf("no %s in\n%s", text, sent)
		}
	}
	if strings.Contains(sent, "CPU") {
		t.Errorf("the CPU is set again:\n%s", sent)
	}
}

// TestRejectedEmulation checks that a value that the browser rejects is an error of the arguments, and that
// the other changes of the call are undone.
func TestRejectedEmulation(t *testing.T) {
	tab := attach(t, Options{OwnProcess: true})
	c := tab.For(tab.Client(executor.AllowAll))
	tab.reject("Emulation.setTimezoneOverride")
	_, err := c.Emulate(t.Context(), &executor.EmulateOptions{Timezone: "Mars/Olympus", CPUThrottling: 4})
	if executor.CodeOf(err) != executor.ErrBadArgs {
		t.Errorf("error %v", err)
	}
	tab.want(t, "for the rejected call",
		`Emulation.setTimezoneOverride {"timezoneId":"Mars/Olympus"}`, `Emulation.setCPUThrottlingRate {"rate":4}`,
		`Emulation.setTimezoneOverride {"timezoneId":""}`, `Emulation.setTimezoneOverride {"timezoneId":""}`, `Emulation.setCPUThrottlingRate {"rate":1}`)
	if tab.CPURate() != 1 {
		t.Errorf("CPU rate %v", tab.CPURate())
	}
	tab.reject("")
	if got, err := c.Emulate(t.Context(), nil); err != nil || got.Timezone != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestInvalidEmulation checks that arguments that cannot be emulated are rejected before anything changes.
func TestInvalidEmulation(t *testing.T) {
	tab := attach(t, Options{}) // of the user's own browser
	c := tab.For(tab.Client(executor.AllowAll))
	for _, o := range []executor.EmulateOptions{
		{Device: "watch"}, {Network: "5g"}, {ColorScheme: "sepia"}, {Media: "braille"}, {Locale: "norsk bokmål"},
		{CPUThrottling: 0.5}, {UserAgent: "a\nb"}, {Geolocation: &executor.Geolocation{Latitude: 91}},
		{Locale: "nb-NO"}, {Timezone: "Europe/Oslo"}, {CPUThrottling: 2},
		{Permissions: []executor.PagePermission{executor.PermissionNotifications}},
		{Headers: map[string]map[string]string{"https://a.test": {"X-A": "1"}}},
	} {
		if _, err := c.Emulate(t.Context(), &o); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("%+v: %v", o, err)
		}
	}
	tab.want(t, "for bad arguments")
}

// TestNewTarget checks that a target that is attached later gets the emulation of the tab, and what a target
// without a user needs.
func TestNewTarget(t *testing.T) {
	handedOver := false
	tab := attach(t, Options{DenyPasskeys: true, HandedOver: func() bool { return handedOver }})
	c := tab.For(tab.Client(executor.AllowAll))
	if _, err := c.Emulate(t.Context(), &executor.EmulateOptions{ColorScheme: executor.SchemeDark}); err != nil {
		t.Fatal(err)
	}
	want := []string{"Emulation.setFocusEmulationEnabled", "WebAuthn.enable", "Emulation.setEmulatedMedia"}
	if got := methods(tab.Commands(tab.Session())); !slices.Equal(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
	if got := methods(tab.Commands(new(cdpconn.Session))); !slices.Equal(got, want[1:]) { // of a frame
		t.Errorf("commands for a frame %q, want %q", got, want[1:])
	}
	handedOver = true
	if got := methods(tab.Commands(tab.Session())); !slices.Equal(got, want[2:]) {
		t.Errorf("commands during a handover %q, want %q", got, want[2:])
	}
}

// TestSetHandedOver checks that the user has focus and passkeys during a handover only.
func TestSetHandedOver(t *testing.T) {
	tab := attach(t, Options{DenyPasskeys: true})
	tab.SetHandedOver(t.Context(), true)
	tab.SetHandedOver(t.Context(), false)
	tab.want(t, "for a handover",
		`Emulation.setFocusEmulationEnabled {"enabled":false}`, "WebAuthn.disable null",
		`Emulation.setFocusEmulationEnabled {"enabled":true}`, `WebAuthn.enable {"enableUI":false}`)
}

// TestReset checks that the end of a session resets the emulation only if the session changed it last.
func TestReset(t *testing.T) {
	tab := attach(t, Options{})
	first, second := tab.For(tab.Client(executor.AllowAll)), tab.For(tab.Client(executor.AllowAll))
	for _, c := range []*Controls{first, second} {
		if _, err := c.Emulate(t.Context(), &executor.EmulateOptions{Network: executor.NetworkOffline, Media: executor.MediaPrint}); err != nil {
			t.Fatal(err)
		}
	}
	tab.mu.Lock()
	tab.sent = nil
	tab.mu.Unlock()
	first.Reset()
	tab.want(t, "at the end of the first session")
	second.Reset()
	second.Reset()
	tab.want(t, "at the end of the second session",
		`Emulation.setEmulatedMedia {"features":[{"name":"prefers-color-scheme","value":""},{"name":"prefers-reduced-motion","value":""}],"media":""}`,
		`Network.emulateNetworkConditions {"downloadThroughput":-1,"latency":0,"offline":false,"uploadThroughput":-1}`)
}

// TestPermissions checks that a permission is granted to the site of the page, and removed at the end.
func TestPermissions(t *testing.T) {
	granted := make(map[executor.PageGrant]bool)
	var tab *testTab
	tab = attach(t, Options{SetPermission: func(ctx context.Context, grant executor.PageGrant, on bool) (*cdpconn.Pending, error) {
		granted[grant] = on
		return tab.Session().Start(ctx, "Browser.setPermission", nil)
	}})
	c := tab.For(tab.Client(executor.AllowAll))
	grant := executor.PageGrant{Origin: "https://a.test", Permission: executor.PermissionNotifications}
	got, err := c.Emulate(t.Context(), &executor.EmulateOptions{Permissions: []executor.PagePermission{grant.Permission}})
	if err != nil || !slices.Equal(got.Permissions, []executor.PageGrant{grant}) || !granted[grant] {
		t.Errorf("%+v, %v", got, err)
	}
	if c.Reset(); granted[grant] {
		t.Error("the grant is not removed")
	}
}

// TestExtraHeaders checks that requests to an origin are paused and get its headers, in place of those of
// the page with the same names, and that other requests are not changed.
func TestExtraHeaders(t *testing.T) {
	tab := attach(t, Options{OwnProcess: true})
	denied := executor.Errorf(executor.ErrPolicyDenied, "", "denied")
	c := tab.For(tab.Client(executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if a.Op == executor.OpNavigate && a.Destination != "https://api.test/" {
			return denied
		}
		return nil
	})))
	emulate := func(origin string, headers map[string]string) (*executor.Emulation, error) {
		return c.Emulate(t.Context(), &executor.EmulateOptions{Headers: map[string]map[string]string{origin: headers}})
	}
	got, err := emulate("https://api.test", map[string]string{"Authorization": "secret"})
	if want := []executor.OriginHeaders{{Origin: "https://api.test", Names: []string{"Authorization"}}}; err != nil || !reflect.DeepEqual(got.Headers, want) {
		t.Errorf("%+v, %v", got, err)
	}
	tab.want(t, "for the headers", `Fetch.enable {"patterns":[{"requestStage":"Request","urlPattern":"https://api.test/*"}]}`)
	request := func(url string) fetch.EventRequestPaused {
		return fetch.EventRequestPaused{Request: &network.Request{URL: url, Headers: network.Headers{"authorization": "page", "Accept": "*/*"}}}
	}
	want := []map[string]string{{"name": "Accept", "value": "*/*"}, {"name": "Authorization", "value": "secret"}}
	if got := tab.Headers().Add(request("https://api.test/x")); !reflect.DeepEqual(got, want) {
		t.Errorf("headers %v, want %v", got, want)
	}
	if got := tab.Headers().Add(request("https://other.test/x")); got != nil {
		t.Errorf("headers of another origin: %v", got)
	}
	for origin, code := range map[string]executor.Code{"https://other.test": executor.ErrPolicyDenied, "https://api.test/x": executor.ErrBadArgs, "api.test": executor.ErrBadArgs} {
		if _, err := emulate(origin, map[string]string{"X-A": "1"}); executor.CodeOf(err) != code {
			t.Errorf("%s: %v", origin, err)
		}
	}
	for _, headers := range []map[string]string{{"Cookie": "a=b"}, {"Sec-Fetch-Site": "none"}, {"X A": "1"}, {"X-A": "1\n2"}, {"X-A": strings.Repeat("x", maxExtraHeaderBytes)}} {
		if _, err := emulate("https://api.test", headers); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("%.40v: %v", headers, err)
		}
	}
	if _, err := emulate("https://api.test", nil); err != nil || tab.Headers().Interception().Method != "Fetch.disable" {
		t.Errorf("%+v, %v", tab.Headers().Interception(), err)
	}
}
