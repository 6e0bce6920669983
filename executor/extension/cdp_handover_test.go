package extension

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/handovertest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestCDPClientHandover hands tabs over to the user while a CDP client is attached.
func TestCDPClientHandover(t *testing.T) {
	env := newCDPEnv(t)
	p, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}, Eval: true})
	if err != nil {
		t.Fatal(err)
	}
	handovertest.Run(t, handovertest.Browser{
		Relay:      startRelay(t, env.b, policy.NewGuard(p, nil).Network(), "").WebSocket,
		UserChrome: true,
		Open: func(t *testing.T, url string) (executor.Page, func()) {
			env.t, env.u.t = t, t
			env.site.URL, _, _ = strings.Cut(url, "/page")
			_, id := env.share(strings.TrimPrefix(url, env.site.URL))
			page := pagetest.Of(env.s, id)
			if _, err := page.Text(t.Context(), nil); err != nil { // attaches the debugger
				t.Fatal(err)
			}
			return page, func() {
				env.u.WithSession(t, env.u.Find(t, "page", url).ID, func(session string) {
					for _, kind := range []string{"mousePressed", "mouseReleased"} {
						env.u.Call(t, session, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": 100, "y": 100, "button": "left", "clickCount": 1}, nil)
					}
				})
			}
		},
	})
}
