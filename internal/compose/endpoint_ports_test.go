package compose

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/profilelease"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// openerOf returns a function that opens sessions of one server.
func openerOf(t *testing.T) func(principal string, settings server.Settings) *Workspace {
	data := t.TempDir()
	opener := &Opener{Data: data, Pool: new(chromium.Pool), Vault: secrets.Open(data), Profiles: profilelease.New(), Board: new(dashboard.Board), Desk: new(handover.Desk), Log: slog.New(slog.DiscardHandler)}
	return func(principal string, settings server.Settings) *Workspace {
		t.Helper()
		settings["--prefer"] = []string{"cdp"}
		s, err := opener.Open(server.OpenRequest{
			Principal: principal, Name: "default", Settings: settings,
			Limit: func(context.Context) (func(), error) { return func() {}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close("the test has ended") })
		return s.(*Workspace)
	}
}

// TestPagesCannotReachEndpointsOfOthers checks that the pages of a session cannot reach the ports at
// which other sessions control browsers, whatever its policy allows.
func TestPagesCannotReachEndpointsOfOthers(t *testing.T) {
	open := openerOf(t)
	local := open("local", server.Settings{"--allow-domain": {"http://localhost"}, "--isolated": {"true"}})
	open("attached", server.Settings{"--cdp-endpoint": {"http://127.0.0.1:9301"}})
	open("named", server.Settings{"browsers": {`[{"name": "work", "type": "endpoint", "url": "ws://localhost:9302/devtools/browser/1"},
		{"name": "shared", "type": "browserless", "urls": ["ws://[::1]:9303/chromium", "wss://browsers.example:9304/chromium"]}]`}})
	for port, denied := range map[string]bool{"9301": true, "9302": true, "9303": true, "9304": false} {
		url := "http://localhost:" + port + "/json/list"
		if _, err := local.stack.guard.Policy().CheckURL(url); (executor.CodeOf(err) == executor.ErrPolicyDenied) != denied {
			t.Errorf("%s: %v, want denied %v", url, err, denied)
		}
	}
}

// TestPagesCannotReachFoundBrowsersOfOthers checks the same for a browser that a session finds when it
// attaches, after both sessions were opened.
func TestPagesCannotReachFoundBrowsersOfOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the directory of running browsers can be set on Linux only")
	}
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	open := openerOf(t)
	local := open("local", server.Settings{"--allow-domain": {"http://localhost"}, "--isolated": {"true"}})
	attached := open("attached", server.Settings{"--cdp-endpoint": {"chrome"}})
	debugging := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(debugging.Close)
	port := debugging.Listener.Addr().(*net.TCPAddr).Port
	dir := filepath.Join(config, "google-chrome")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fmt.Sprintf("host-%d", os.Getpid()), filepath.Join(dir, "SingletonLock")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "DevToolsActivePort"), fmt.Appendf(nil, "%d\n/devtools/browser/1", port), 0o600); err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("http://localhost:%d/json/list", port)
	if _, err := local.stack.guard.Policy().CheckURL(url); err != nil {
		t.Errorf("%s before another session attaches: %v", url, err)
	}
	if err := attached.stack.Ready(t.Context()); err == nil {
		t.Error("attached to a server that is not a browser")
	}
	if _, err := local.stack.guard.Policy().CheckURL(url); executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Errorf("%s: %v, want denied", url, err)
	}
	later := open("later", server.Settings{"--allow-domain": {"http://localhost"}, "--isolated": {"true"}})
	if _, err := later.stack.guard.Policy().CheckURL(url); executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Errorf("%s in a later session: %v, want denied", url, err)
	}
	running := openerOf(t)("running", server.Settings{"--cdp-endpoint": {"auto"}, "--allow-domain": {"http://localhost"}})
	if _, err := running.stack.guard.Policy().CheckURL(url); executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Errorf("%s in a session that did not attach yet: %v, want denied", url, err)
	}
}
