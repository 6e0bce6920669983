package extension

import (
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// TestEmulationResetOnDisconnect checks that the emulation of a tab of the user ends with the session,
// however it ends.
func TestEmulationResetOnDisconnect(t *testing.T) {
	l := newTestEnv(t, nil, userBrowserOptions{})
	const seen = `[innerWidth, innerHeight, devicePixelRatio, matchMedia("(prefers-color-scheme: dark)").matches, navigator.maxTouchPoints, /Android/.test(navigator.userAgent), navigator.onLine].join(" ")`
	for _, way := range []struct {
		name string
		end  func(tab int)
	}{
		{"session", func(int) {
			l.s.Close()
			next, err := l.b.NewSession(executor.SessionOptions{Gate: executor.AllowAll})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { next.Close() })
			l.s = next
		}},
		{"unshared", func(tab int) { l.u.toggle(tab) }},
		{"stopped", func(int) {
			if refusal := l.u.act("stopAll", nil); refusal != "" {
				t.Fatal(refusal)
			}
		}},
		{"server", func(int) { l.server.Close() }},
	} {
		t.Run(way.name, func(t *testing.T) {
			whole, user := l.t, l.u.t
			l.t, l.u.t = t, t
			defer func() { l.t, l.u.t = whole, user }()
			tab := l.u.open(l.site.URL + "/" + way.name)
			page := l.u.target("page", "/"+way.name)
			look := func() (s string) {
				l.u.eval(page, seen, &s)
				return s
			}
			before := look()
			l.u.toggle(tab)
			id := l.waitListed("/" + way.name)
			waitForPage(t, l.s, id, "/"+way.name)
			still := true
			if _, err := pagetest.Of(l.s, id).Resize(t.Context(), executor.ResizeOptions{Width: 500, Height: 400}); err != nil {
				t.Fatal(err)
			}
			if _, err := pagetest.Of(l.s, id).Emulate(t.Context(), executor.EmulateOptions{
				Device: executor.DevicePhone, ColorScheme: executor.SchemeDark, ReducedMotion: &still, Network: executor.NetworkOffline,
			}); err != nil {
				t.Fatal(err)
			}
			if got := look(); got != "500 400 2.625 true 5 true false" && got != "980 784 2.625 true 5 true false" {
				t.Errorf("emulated: %s", got)
			}
			way.end(tab)
			for end := time.Now().Add(userbrowser.WaitTimeout); look() != before; {
				if time.Now().After(end) {
					t.Fatalf("the user's page sees %s, before %s", look(), before)
				}
			}
		})
	}
}

// TestUnsupportedEmulation checks that settings that would affect other tabs are rejected.
func TestUnsupportedEmulation(t *testing.T) {
	l := newTestEnv(t, nil, userBrowserOptions{})
	_, id := l.share("/page")
	for _, o := range []executor.EmulateOptions{{Locale: "nb-NO"}, {Timezone: "Asia/Tokyo"}, {CPUThrottling: 2}} {
		_, err := pagetest.Of(l.s, id).Emulate(t.Context(), o)
		wantCode(t, err, executor.ErrBadArgs)
	}
}
