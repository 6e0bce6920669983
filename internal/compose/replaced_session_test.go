package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/profilelease"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// TestReplacedSession checks that other settings replace those of a session only while no call in it
// has succeeded and the user has granted nothing, and that the audit log has an entry of it.
func TestReplacedSession(t *testing.T) {
	data, err := os.MkdirTemp("", "replaced") // short, because of the socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	record := filepath.Join(t.TempDir(), "audit.jsonl")
	log := slog.New(slog.DiscardHandler)
	audits := NewAuditLogs(log)
	defer audits.Close()
	opener := &Opener{Data: data, Pool: new(chromium.Pool), Vault: secrets.Open(data), Profiles: profilelease.New(), Audits: audits, Board: new(dashboard.Board), Desk: new(handover.Desk), Log: log}
	var opened *Workspace
	srv := server.New(server.Options{Open: func(r server.OpenRequest) (server.Workspace, error) {
		var err error
		opened, err = opener.OpenFor(r, "")
		return opened, err
	}})
	socket, err := server.Listen(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Release()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, socket) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	client := server.NewClient(server.SocketPath(data))
	defer client.Close()
	open := func(site string, replaced, conflict bool) {
		t.Helper()
		settings := server.Settings{"--prefer": {"cdp"}, "--audit-log": {record}, "--allow-domain": {site}}
		got, err := client.OpenSession(t.Context(), "shop", settings, false)
		if got != replaced || (err != nil) != conflict || conflict && executor.CodeOf(err) != executor.ErrBadArgs {
			t.Fatalf("opening for %s: replaced %t, %v; want %t, conflict %t", site, got, err, replaced, conflict)
		}
	}
	call := func(tool, args, want string) {
		t.Helper()
		url, web := client.MCP("shop")
		resp, err := web.Post(strings.TrimSuffix(url, "/mcp")+"/v1/sessions/shop/tools/"+tool, "application/json", strings.NewReader(args))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(body), want) {
			t.Fatalf("%s: %s %v, want %s", tool, body, err, want)
		}
	}
	open("a.example", false, false)
	call("navigate", `{"url": "https://b.example/"}`, "POLICY_DENIED")
	call("chrome_status", `{}`, "a.example")
	open("b.example", true, false)
	// The session is used: by a permission, and then by a call.
	revoke, err := opened.stack.guard.Grant(t.Context(), executor.Permission{Kind: executor.PermitMutations}, false)
	if err != nil {
		t.Fatal(err)
	}
	open("c.example", false, true)
	revoke()
	open("c.example", true, false)
	call("tabs_list", `{}`, "no tabs are open")
	open("d.example", false, true)

	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(text) {
		var e audit.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Name == "shop" && e.Event != audit.EventSession {
			got = append(got, strings.Join(strings.Fields(string(e.Event)+" "+e.Tool+" "+e.Code+" "+e.Detail), " "))
		}
	}
	// The later openings and closings of the minute are only counted.
	want := []string{"opened", "call navigate POLICY_DENIED", "call chrome_status OK", "closed a client opened it with other settings", "call tabs_list OK"}
	if !slices.Equal(got, want) {
		t.Errorf("audit log:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
