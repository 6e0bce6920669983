package compose

import (
	"context"
	"log/slog"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/profilelease"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// TestPagesCannotReachEndpointsOfOthers checks that the pages of a session cannot reach the ports at
// which other sessions control browsers, whatever its policy allows.
func TestPagesCannotReachEndpointsOfOthers(t *testing.T) {
	data := t.TempDir()
	opener := &Opener{Data: data, Pool: new(chromium.Pool), Vault: secrets.Open(data), Profiles: profilelease.New(), Board: new(dashboard.Board), Desk: new(handover.Desk), Log: slog.New(slog.DiscardHandler)}
	open := func(principal string, settings server.Settings) *Workspace {
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
