package extension

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	extfiles "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestStatus checks the status while browsers connect, replace their connection and disconnect.
func TestStatus(t *testing.T) {
	server := newServer(t)
	b := newBackend(t, server)
	checkStatus := func(connected bool, want ...string) executor.Status {
		t.Helper()
		s := b.Status(t.Context())
		if s.Ready != connected || s.ExtensionConnected != connected || s.Backend != executor.BackendExtension {
			t.Errorf("status %+v", s)
		}
		for _, part := range want {
			if !strings.Contains(s.Detail, part) {
				t.Errorf("detail %q does not contain %q", s.Detail, part)
			}
		}
		return s
	}
	checkStatus(false, "no extension is connected (", "chrome-mcp extension install")

	awaitBrowsers := func(n int) {
		t.Helper()
		await.Until(t, fmt.Sprintf("%d connected browsers", n), func() bool { return len(b.connectedInstallations()) == n })
	}
	server.Pipe("one")
	_, two := server.Pipe("two")
	awaitBrowsers(2)
	if s := checkStatus(true, "the user's own Chrome 0.0.0.0, no tab shared; the user's own Chrome"); s.Displaced {
		t.Errorf("displaced: %q", s.Detail)
	}
	for range 2 { // each connection replaces the one before it, without a pause
		_, two = server.Pipe("two")
	}
	awaitBrowsers(2)
	if s := checkStatus(true, "a connection was replaced by a newer one of the same browser at ", "the last of 2 times"); !s.Displaced {
		t.Error("not displaced")
	}
	_, one := server.Pipe("one")
	one.Close()
	two.Close()
	awaitBrowsers(0)
	checkStatus(false, "the extension disconnected: ", "Ask the user to open Chrome")
	server.Close()
	checkStatus(false, "the server for the extension is closed")
}

// TestOlderExtension checks that the status and calls report an extension of an earlier version.
func TestOlderExtension(t *testing.T) {
	server, err := bridge.New(&bridge.Options{DataDir: filepath.Join(t.TempDir(), "data"), ExtensionID: extfiles.ID(), Port: bridge.AnyPort})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	b := newBackend(t, server)
	ws, _, err := websocket.Dial(await.Context(t), fmt.Sprintf("ws://127.0.0.1:%d/", server.Port()), &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {"chrome-extension://" + extfiles.ID()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if err := ws.Write(await.Context(t), websocket.MessageText, []byte(`{"type":"hello","v":1}`)); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the server has closed the connection
		_, _, err = ws.Read(await.Context(t))
	}
	wantOlder(t, b)
}

// wantOlder checks that the status and calls report the older version, and how to update the extension.
func wantOlder(t *testing.T, b *Backend) {
	t.Helper()
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err == nil {
		_, err = s.Tabs(t.Context())
	}
	var e *executor.Error
	if !errors.As(err, &e) || e.Code != executor.ErrNoBackend || !strings.Contains(e.Message(), "reported protocol version 1, which is older than version 2 of this program") ||
		!strings.Contains(e.Hint, "chrome-mcp extension install") || !strings.Contains(e.Hint, "reload") {
		t.Errorf("a call: %v", err)
	}
	if detail := b.Status(t.Context()).Detail; !strings.Contains(detail, "older than version 2 of this program") || !strings.Contains(detail, "chrome-mcp extension install") {
		t.Errorf("the status is %q", detail)
	}
}

// TestPing checks that Ping sends no ping if the extension sent a message shortly before.
func TestPing(t *testing.T) {
	server := newServer(t)
	b := newBackend(t, server)
	conn, peer := server.Pipe("one")
	await.Until(t, "the extension to connect", b.Connected)
	// The extension does not respond to pings.
	if err := b.Ping(await.Expiring(t)); err == nil {
		t.Error("no error although the extension did not respond")
	}
	if err := send(peer, &wire.Ping{TS: 1}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the message", func() bool { return !conn.LastMessageAt().IsZero() })
	if err := b.Ping(await.Context(t)); err != nil {
		t.Errorf("ping after a message from the extension: %v", err)
	}
}
