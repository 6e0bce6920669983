package extension

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/leaktest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// cdpRoutes are routes that differ in the mechanism that blocks them: rules for subresources, for
// documents and redirects, for frames, for workers and sockets, and for tabs that pages open in ways
// in which the extension learns their opener differently. The exhaustive tier visits all routes.
var cdpRoutes = []string{
	"img", "img-redirect-twice", "link-prefetch", "css-import", "iframe", "iframe-data-fetch", "form-iframe",
	"fetch-keepalive-unload", "beacon-unload", "websocket", "webrtc-stun", "worker-data-fetch", "shared-worker-data-fetch", "service-worker-websocket",
	"redirect-twice", "meta-refresh", "form-post", "history-back", "download-redirect", "speculation-prerender",
	"open-noopener", "open-blank-location", "blank-target-control", "popup-sandboxed-escaped", "clients-open-window",
	"picture-in-picture-open", "stranger-open", "stranger-shared-worker", "same-site-location", "same-site-websocket",
}

// TestLongCDPClientLeaks visits the pages of routes with a stock Playwright client in the user's
// Chrome. It requires Node and tools/node_modules (make setup).
func TestLongCDPClientLeaks(t *testing.T) {
	tier.Long(t)
	node := tier.Node(t, "playwright-core")
	h := leaktest.Harness{Backend: "extension", Routes: cdpRoutes, Start: func(t *testing.T, setup leaktest.Setup) leaktest.Browser {
		l := newLeakBrowser(t, setup, func(dir string) { agreeEverywhere(t, filepath.Join(dir, "consent.js")) })
		server := startRelay(t, l.b, setup.Policy, "")
		client := leaktest.StartPlaywright(t, node, server.URL, "default")
		return leaktest.Browser{
			NewTab: func(t *testing.T) leaktest.Tab {
				l.visit()
				return client.NewTab(t)
			},
			Close: func(t *testing.T) []string {
				client.Close(t)
				return l.close(t)
			},
		}
	}}
	if tier.ExhaustiveEnabled() {
		h.Routes = nil
	}
	leaktest.Denied(t, h)
}

// agreeEverywhere is agree for all sites.
func agreeEverywhere(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const before = "if (origin === '') return undefined;"
	text := strings.Replace(string(data), before, before+" else return true;", 1)
	if text == string(data) {
		t.Fatal("the extension checks consent by other code")
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
