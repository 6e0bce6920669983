package mcptransport

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// initialize begins an MCP session with a plain request and returns its id and the status.
func initialize(t *testing.T, url string) (id string, status int) {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	return post(t, url, "", body)
}

// post sends a message of an MCP session. It returns the id in the response, and the status.
func post(t *testing.T, url, session, body string) (id string, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set(SessionIDHeader, session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil { // the SDK ends an MCP session whose first request breaks
		t.Fatal(err)
	}
	return resp.Header.Get(SessionIDHeader), resp.StatusCode
}

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

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
		id, status := initialize(t, url)
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
	if _, status := post(t, url, ids[1], ping); status != http.StatusOK {
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
