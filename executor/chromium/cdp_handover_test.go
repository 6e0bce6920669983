package chromium

import (
	"net"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/handovertest"
	"github.com/chrome-mcp/chrome-mcp/policy"
	"github.com/chrome-mcp/chrome-mcp/relay"
)

// TestCDPClientHandover hands pages over to the user while a CDP client is attached.
func TestCDPClientHandover(t *testing.T) {
	p, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true, Eval: true})
	if err != nil {
		t.Fatal(err)
	}
	guard := policy.NewGuard(p, nil)
	o := fullOptions(t)
	o.CDPClients = true
	b := newBrowser(t, o)
	manager := executor.NewManager(&executor.ManagerOptions{CDP: b, Session: executor.SessionOptions{Gate: guard}})
	s := guard.Wrap(manager)
	t.Cleanup(func() { s.Close() })
	server, err := relay.New(&relay.Options{Browser: b, Policy: guard.Network()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(l) })
	t.Cleanup(func() {
		server.Close()
		serving.Wait()
	})
	handovertest.Run(t, handovertest.Browser{
		Relay: "ws://" + l.Addr().String() + server.Path() + "/devtools/browser/x",
		Open: func(t *testing.T, url string) (executor.Page, func()) {
			page, tab, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			v := watch(t, s, tab.ID)
			return page, func() {
				for _, in := range []executor.LiveInput{
					{Type: executor.LiveMouseMove, X: 100, Y: 100},
					{Type: executor.LiveMouseDown, X: 100, Y: 100, Button: executor.ButtonLeft, Buttons: 1, Clicks: 1},
					{Type: executor.LiveMouseUp, X: 100, Y: 100, Button: executor.ButtonLeft, Clicks: 1},
				} {
					if err := v.view.Input(t.Context(), in); err != nil {
						t.Error(err)
					}
				}
			}
		},
	})
}
