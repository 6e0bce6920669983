package extension

import (
	"flag"
	"net"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdpsuite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/policy"
	"github.com/chrome-mcp/chrome-mcp/relay"
)

var cdpCases = flag.String("cdp-cases", "", "`pattern` of the names of the cases of TestCDPConformance")

// TestCDPConformance runs stock CDP clients on the user's Chrome and on a plain Chromium. Each case
// must have the same result in both, except for the exceptions of tools/cdp/user-chrome.mjs.
func TestCDPConformance(t *testing.T) {
	tier.Deep(t)
	site := cdpsuite.NewSite(t)
	b := shareTab(t, site, "/frames.html")
	run := &cdpsuite.Run{
		Plain: cdpsuite.StartPlain(t, site.URL+"/frames.html"), Site: site.URL, Other: site.Other, Nothing: site.Nothing,
		Uploads: t.TempDir(), Only: *cdpCases, UserChrome: true,
	}
	run.Ours = serveCDP(t, b, run)
	equal, excepted := run.Clients(t)
	moreEqual, moreExcepted := run.Chromedp(t)
	equal, excepted = equal+moreEqual, excepted+moreExcepted
	t.Logf("%d cases are equal, %d are exceptions", equal, excepted)
	if run.Only == "" && equal < 60 {
		t.Errorf("%d cases are equal, want 60", equal)
	}
}

// shareTab starts a Chrome whose user allows scripts on a site and shares a tab with one of its pages.
func shareTab(t *testing.T, site *cdpsuite.Site, path string) *Backend {
	t.Helper()
	server, u := startRealUser(t, func(string) {})
	b := newBackend(t, server)
	waitConnected(t, b)
	consent(t, b, u, site.URL)
	consent(t, b, u, site.Other)
	u.toggle(u.open(site.URL + path))
	awaitTabs(t, b, 1)
	return b
}

// consent allows scripts on a site, as the user does.
func consent(t *testing.T, b *Backend, u *userBrowser, site string) {
	t.Helper()
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := openTab(t, s, site+"/one.html")
	ran := make(chan error, 1)
	go func() {
		_, err := pagetest.Of(s, id).Eval(t.Context(), "1", nil)
		ran <- err
	}()
	u.answer("session")
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	if _, err := pagetest.Of(s, id).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// serveCDP serves CDP clients of a backend until the test ends.
func serveCDP(t *testing.T, b *Backend, run *cdpsuite.Run) cdpsuite.Endpoint {
	t.Helper()
	rules, err := policy.New(policy.Config{AllowDomains: []string{run.Site, run.Other, run.Nothing}, Eval: true, UploadsDir: run.Uploads})
	if err != nil {
		t.Fatal(err)
	}
	return startRelay(t, b, policy.NewGuard(rules, nil).Network(), run.Uploads)
}

// startRelay serves CDP clients of a backend until the test ends.
func startRelay(t *testing.T, b *Backend, rules relay.Policy, uploads string) cdpsuite.Endpoint {
	t.Helper()
	server, err := relay.New(&relay.Options{Browser: b, Policy: rules, UploadsDir: uploads})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	host := l.Addr().String() + server.Path()
	return cdpsuite.Endpoint{URL: "http://" + host, WebSocket: "ws://" + host + "/devtools/browser/user"}
}
