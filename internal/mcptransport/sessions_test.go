package mcptransport

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/rawmcp"
)

// TestMCPSessionsAreBounded begins more MCP sessions than may be open. The oldest idle one ends.
func TestMCPSessionsAreBounded(t *testing.T) {
	srv := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sessions := NewMCPSessions(srv, func(string) {})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { sessions.Serve(handler, w, r) }))
	t.Cleanup(func() {
		if err := sessions.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	url := web.URL
	var ids []string
	begin := func() {
		t.Helper()
		id, status := rawmcp.Post(t, http.DefaultClient, url, "", rawmcp.Initialize)
		if id == "" || status != http.StatusOK {
			t.Fatalf("initialize: %q, %d", id, status)
		}
		ids = append(ids, id)
	}
	for range maxMCPSessions {
		begin()
	}
	// The first client waits for messages, and the second one was used last.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set(SessionIDHeader, ids[0])
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	if _, status := rawmcp.Post(t, http.DefaultClient, url, ids[1], rawmcp.Ping); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for range 3 {
		begin()
	}
	sessions.ending.Wait()
	open := map[string]bool{}
	for conn := range srv.Sessions() {
		open[conn.ID()] = true
	}
	for i, id := range ids {
		if ended := i >= 2 && i < 5; open[id] == ended {
			t.Errorf("MCP session %d is open: %v", i, open[id])
		}
	}
	if len(open) != maxMCPSessions {
		t.Errorf("%d MCP sessions are open", len(open))
	}
}
