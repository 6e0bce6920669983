package extension

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestEmulationResetOnDisconnect checks that the emulation of a tab of the user ends with the session,
// however it ends, and that settings that would affect other tabs are rejected.
func TestEmulationResetOnDisconnect(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{})
	const seen = `[innerWidth, innerHeight, devicePixelRatio, matchMedia("(prefers-color-scheme: dark)").matches, navigator.maxTouchPoints, /Android/.test(navigator.userAgent), navigator.onLine].join(" ")`
	for _, way := range []struct {
		name string
		end  func(tab int)
	}{
		{"session", func(int) {
			env.s.Close()
			next, err := env.b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { next.Close() })
			env.s = next
		}},
		{"unshared", func(tab int) { env.u.toggle(tab) }},
		{"stopped", func(int) {
			if refusal := env.u.act("stopAll", nil); refusal != "" {
				t.Fatal(refusal)
			}
		}},
		{"server", func(int) { env.server.Close() }},
	} {
		t.Run(way.name, func(t *testing.T) {
			whole, user := env.t, env.u.t
			env.t, env.u.t = t, t
			defer func() { env.t, env.u.t = whole, user }()
			tab := env.u.open(env.site.URL + "/" + way.name)
			page := env.u.target("page", "/"+way.name)
			look := func() (s string) {
				env.u.eval(page, seen, &s)
				return s
			}
			before := look()
			env.u.toggle(tab)
			id := env.waitListed("/" + way.name)
			waitForPage(t, env.s, id, "/"+way.name)
			for _, o := range []executor.EmulateOptions{{Locale: "nb-NO"}, {Timezone: "Asia/Tokyo"}, {CPUThrottling: 2}} {
				_, err := pagetest.Of(env.s, id).Emulate(t.Context(), &o)
				wantCode(t, err, executor.ErrBadArgs)
			}
			still := true
			if _, err := pagetest.Of(env.s, id).Resize(t.Context(), &executor.ResizeOptions{Width: 500, Height: 400}); err != nil {
				t.Fatal(err)
			}
			if _, err := pagetest.Of(env.s, id).Emulate(t.Context(), &executor.EmulateOptions{
				Device: executor.DevicePhone, ColorScheme: executor.SchemeDark, ReducedMotion: &still, Network: executor.NetworkOffline,
			}); err != nil {
				t.Fatal(err)
			}
			if got := look(); got != "500 400 2.625 true 5 true false" && got != "980 784 2.625 true 5 true false" {
				t.Errorf("emulated: %s", got)
			}
			way.end(tab)
			await.Until(t, "the user's page to see "+before, func() bool { return look() == before })
		})
	}
}
