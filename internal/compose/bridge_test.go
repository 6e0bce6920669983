package compose

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/profilelease"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/ownchrome"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// openBridgeOf opens a bridge as the program does, with a new data directory.
func openBridgeOf(t *testing.T) (*bridge.Server, *cli.Settings, *policy.Policy) {
	t.Helper()
	s, err := cli.Parse([]string{"--port=0", "--allow-domain=example.com", "--data", filepath.Join(t.TempDir(), "data")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Policy(s)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	server, err := newBridge(&setup{Settings: s}, policy.NewGuard(rules, nil), log)
	if err == nil {
		t.Cleanup(func() { server.Close() })
		err = openBridge(server, "", rules, log)
	}
	if err != nil {
		t.Fatal(err)
	}
	return server, s, rules
}

// TestPagesCannotReachBridge checks that an agent cannot navigate to the bridge under any policy,
// and that the extension receives this rule.
func TestPagesCannotReachBridge(t *testing.T) {
	server, _, rules := openBridgeOf(t)
	w := ownchrome.Rules(rules)
	if !slices.Equal(w.OwnPorts, []int{server.Port()}) || !slices.Equal(w.Allow, []string{"example.com"}) || w.Subresources != "public" {
		t.Errorf("rules %+v", w)
	}
	open, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	open.AddOwnPort(server.Port())
	if _, err := open.CheckURL("http://127.0.0.1:" + strconv.Itoa(server.Port()) + "/"); err == nil {
		t.Error("the bridge can be reached")
	}
	response, err := http.Get("http://127.0.0.1:" + strconv.Itoa(server.Port()) + "/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("a page receives %s", response.Status)
	}
}

// TestPagesCannotReachOtherProcesses checks that a second process of a data directory denies the
// port of the first one, whatever its policy allows.
func TestPagesCannotReachOtherProcesses(t *testing.T) {
	first, s, _ := openBridgeOf(t)
	port := strconv.Itoa(first.Port())
	second, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1", "localhost", "http://192.0.2.2:" + port}, AllowPrivate: []string{"192.0.2.0/24"}})
	if err != nil {
		t.Fatal(err)
	}
	second.AddOwnPorts(ownPorts(s.Data))
	for _, host := range []string{"127.0.0.1", "localhost", "192.0.2.2"} {
		url := "http://" + host + ":" + port + "/"
		if _, err := second.CheckURL(url); executor.CodeOf(err) != executor.ErrPolicyDenied {
			t.Errorf("%s: %v", url, err)
		}
		if err := second.CheckHost("http", host, first.Port()); err == nil {
			t.Errorf("pages can load from %s", url)
		}
	}
	if !slices.Contains(ownchrome.Rules(second).OwnPorts, first.Port()) {
		t.Error("the extension does not get the port")
	}
}

// TestTokenNames checks that the extension gets the name of a token before the one that the client of the
// token chose: the user's consent to scripts is stored under the name.
func TestTokenNames(t *testing.T) {
	for principal, want := range map[string]string{"": "shop", "ci": "ci: shop"} {
		data := filepath.Join(t.TempDir(), "data")
		opener := &Opener{Data: data, Vault: secrets.Open(data), Profiles: profilelease.New(), Board: new(dashboard.Board), Desk: new(handover.Desk), Log: slog.New(slog.DiscardHandler)}
		ws, err := opener.Open(server.OpenRequest{
			Principal: principal, Name: server.DefaultSession, Settings: server.Settings{"--port": {"0"}, "--no-cdp-fallback": {"true"}},
			Limit: func(context.Context) (func(), error) { return func() {}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer ws.Close("the test ended")
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("User-Agent", "shop")
		ws.ServeTool(httptest.NewRecorder(), r, "chrome_status")
		await.Until(t, "the bridge to open", func() bool { return len(bridge.RunningServers(data)) == 1 })
		if got := bridge.RunningServers(data)[0].Name; got != want {
			t.Errorf("token %q: the bridge has the name %q, want %q", principal, got, want)
		}
	}
}
