package extension

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/leaktest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestLongCDPClientLeaks visits the pages of all routes with a stock Playwright client in the user's
// Chrome. It requires Node and tools/node_modules (make setup).
func TestLongCDPClientLeaks(t *testing.T) {
	tier.Deep(t)
	node := tier.Node(t, "playwright-core")
	h := leaktest.Harness{Backend: "extension", Start: func(t *testing.T, setup leaktest.Setup) leaktest.Browser {
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
