package chromium

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/leaktest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/relay"
)

// TestLongCDPClientLeaks visits the pages of all routes with a stock Playwright client. It requires
// Node and tools/node_modules (make setup).
func TestLongCDPClientLeaks(t *testing.T) {
	tier.Deep(t)
	node := tier.Node(t, "playwright-core")
	for name, where := range map[string]string{"new context": "new", "default context": "default"} {
		t.Run(name, func(t *testing.T) {
			leaktest.Denied(t, leaktest.Harness{Backend: "chromium", Start: func(t *testing.T, setup leaktest.Setup) leaktest.Browser {
				return startCDPClient(t, setup, node, where)
			}})
		})
	}
}

// startCDPClient launches a browser, and connects a Playwright client to it that opens its tabs in
// new browser contexts or in the default one.
func startCDPClient(t *testing.T, setup leaktest.Setup, node, where string) leaktest.Browser {
	o := fullOptions(t)
	log, flag := leaktest.NetLog(t)
	names := &leaktest.Resolver{}
	o.Isolated, o.CDPClients, o.ExtraArgs = true, true, append(setup.Flags, flag)
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil)) // says why a browser exited
	o.Network, o.resolver = leaktest.PublicNamesPolicy{Policy: setup.Policy}, names
	b := newBrowser(t, o)
	server, err := relay.New(&relay.Options{Browser: b, Policy: setup.Policy})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(l) })
	client := leaktest.StartPlaywright(t, node, "http://"+l.Addr().String()+server.Path(), where)
	return leaktest.Browser{
		NewTab: client.NewTab,
		Close: func(t *testing.T) []string {
			client.Close(t)
			if err := errors.Join(server.Close(), b.Close()); err != nil {
				t.Errorf("closing the relay and the browser: %v", err)
			}
			serving.Wait()
			return append(names.Asked(), leaktest.LookedUp(t, log)...)
		},
	}
}
