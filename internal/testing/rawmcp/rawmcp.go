// Package rawmcp sends messages of MCP over HTTP without an MCP client, for tests.
package rawmcp

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Initialize begins an MCP session. Ping can follow it.
const (
	Initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	Ping       = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// Post sends a message of an MCP session, whose id is empty for Initialize. It returns the id in the
// response, and the status.
func Post(t *testing.T, client *http.Client, url, session, message string) (id string, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	const header = "Mcp-Session-Id"
	if session != "" {
		req.Header.Set(header, session)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil { // the SDK ends an MCP session whose first request breaks
		t.Fatal(err)
	}
	return resp.Header.Get(header), resp.StatusCode
}
