package chromium

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/attach"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
)

func TestDialRealChromium(t *testing.T) {
	dir := t.TempDir()
	pid, ws := startForeign(t, dir)
	u, err := url.Parse(ws)
	if err != nil {
		t.Fatal(err)
	}
	name := "localhost:" + u.Port()
	for _, address := range []string{ws, "http://" + u.Host, "http://" + u.Host + "/", "http://" + name} {
		tr, e, err := attach.Dial(t.Context(), attach.Endpoint{URL: address})
		if err != nil {
			t.Fatalf("dial %s: %v", address, err)
		}
		if !strings.HasPrefix(e.Version.Product, "Chrome/") {
			t.Errorf("dial %s: product %q", address, e.Version.Product)
		}
		if _, err := cdpconn.GetVersion(t.Context(), tr); err != nil {
			t.Error(err)
		}
		if err := tr.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if !profiles.Uses(pid, dir) {
			t.Fatal("detaching terminated the browser")
		}
	}

	// Errors of a real Chromium.
	for address, code := range map[string]executor.Code{
		"ws://" + u.Host:                       executor.ErrLaunchFailed,
		"ws://" + u.Host + "/devtools/page/no": executor.ErrLaunchFailed,
	} {
		if _, _, err := attach.Dial(t.Context(), attach.Endpoint{URL: address}); executor.CodeOf(err) != code {
			t.Errorf("dial %s: %v, want %s", address, err, code)
		}
	}
}

func TestLocalEndpoint(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"http://127.0.0.1:9222": true, "http://LOCALHOST:9222": true, "ws://localhost.:9222/": true, "http://127.0.0.2:1": true,
		"http://[::1]:9222": true, "http://[0:0:0:0:0:0:0:1]:9222": true, "http://[::ffff:127.0.0.1]:1": true, "auto": true,
		"http://10.0.0.1:9222": false, "http://localhost.example:9222": false, "http://[::]:1": false, "%": false,
	} {
		o := Options{CDPEndpoint: endpoint}
		if got := o.local(); got != want {
			t.Errorf("%s: %v, want %v", endpoint, got, want)
		}
	}
}
