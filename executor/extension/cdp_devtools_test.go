package extension

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdpsuite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// A webSocketConn is a connection to the debugging port of a browser.
type webSocketConn struct {
	executor.CDPConn // has the methods that a cdpPeer does not call
	socket           *websocket.Conn
}

// Send implements executor.CDPConn.
func (c webSocketConn) Send(ctx context.Context, m executor.CDPMessage) error {
	command := map[string]any{"id": m.ID, "method": m.Method, "params": m.Params}
	if m.SessionID != "" {
		command["sessionId"] = m.SessionID
	}
	return wsjson.Write(ctx, c.socket, command)
}

// Receive implements executor.CDPConn.
func (c webSocketConn) Receive(ctx context.Context) (m executor.CDPMessage, err error) {
	err = wsjson.Read(ctx, c.socket, &m)
	return m, err
}

// Close implements executor.CDPConn.
func (c webSocketConn) Close() error { return c.socket.CloseNow() }

// TestDevToolsFrontend opens the DevTools frontend of another browser on a tab of the user, which shows
// the elements of the page.
func TestDevToolsFrontend(t *testing.T) {
	tier.Deep(t)
	site := cdpsuite.NewSite(t)
	b := shareTab(t, site, "/form.html")
	ours := serveCDP(t, b, &cdpsuite.Run{Site: site.URL, Other: site.Other, Nothing: site.Nothing, Uploads: t.TempDir()})
	resp, err := http.Get(ours.URL + "/json/list")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	var pages []struct{ DevToolsFrontendURL string }
	if err := json.Unmarshal(body, &pages); err != nil || len(pages) != 1 {
		t.Fatalf("/json/list: %v\n%s", err, body)
	}

	plain := cdpsuite.StartPlain(t, "about:blank")
	conn, _, err := websocket.Dial(t.Context(), plain.WebSocket, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	p := newCDPPeer(t, webSocketConn{socket: conn})
	t.Cleanup(p.close)
	var target struct{ TargetID string }
	p.call("", "Target.createTarget", map[string]any{"url": pages[0].DevToolsFrontendURL}, &target)
	var attached struct{ SessionID string }
	p.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	const text = `(function text(node) {
		if (node.nodeType === Node.TEXT_NODE) return node.data.replaceAll("\u200b", "");
		return node.nodeName === "STYLE" ? "" : [...node.shadowRoot?.childNodes ?? [], ...node.childNodes].map(text).join("");
	})(document)`
	var shown string
	t.Cleanup(func() { t.Logf("the frontend shows:\n%s", shown) })
	await.Until(t, "the elements of the page", func() bool {
		if err := json.Unmarshal([]byte(p.eval(attached.SessionID, text)), &shown); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(shown, "<h1>Form</h1>")
	})
}
