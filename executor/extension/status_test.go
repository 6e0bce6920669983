package extension

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
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

// TestPing checks that Ping sends no ping if the extension sent a message shortly before.
func TestPing(t *testing.T) {
	server := newServer(t)
	b := newBackend(t, server)
	instance, peer := server.Pipe("one")
	await.Until(t, "the extension to connect", b.Connected)
	// The extension does not respond to pings.
	if err := b.Ping(await.Expiring(t)); err == nil {
		t.Error("no error although the extension did not respond")
	}
	if err := send(peer, &wire.Ping{TS: 1}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the message", func() bool { return !instance.LastMessageAt().IsZero() })
	if err := b.Ping(await.Context(t)); err != nil {
		t.Errorf("ping after a message from the extension: %v", err)
	}
}
