package relay_test

import (
	"fmt"
	"net"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/policy"
	"github.com/chrome-mcp/chrome-mcp/relay"
)

// A program prints the URL for Playwright's connectOverCDP.
func Example() {
	p, err := policy.New(policy.Config{AllowDomains: []string{"example.com"}})
	if err != nil {
		panic(err)
	}
	network := policy.NewGuard(p, nil).Network()
	browser, err := chromium.New(&chromium.Options{CDPClients: true, Isolated: true, Network: network})
	if err != nil {
		panic(err)
	}
	defer browser.Close()
	server, err := relay.New(&relay.Options{Browser: browser, Policy: network})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("http://" + l.Addr().String() + server.Path())
	_ = server.Serve(l)
}
