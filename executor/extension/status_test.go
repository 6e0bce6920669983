package extension

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
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

	await := func(n int) {
		t.Helper()
		for tick := time.Tick(5 * time.Millisecond); len(b.connectedInstallations()) != n; <-tick {
			if t.Context().Err() != nil {
				t.Fatalf("%d browsers connected, want %d", len(b.connectedInstallations()), n)
			}
		}
	}
	server.Pipe("one")
	_, two := server.Pipe("two")
	await(2)
	if s := checkStatus(true, "the user's own Chrome 0.0.0.0, no tab shared; the user's own Chrome"); s.Displaced {
		t.Errorf("displaced: %q", s.Detail)
	}
	for range 2 { // each connection replaces the one before it, without a pause
		_, two = server.Pipe("two")
	}
	await(2)
	if s := checkStatus(true, "a connection was replaced by a newer one of the same browser at ", "the last of 2 times"); !s.Displaced {
		t.Error("not displaced")
	}
	_, one := server.Pipe("one")
	one.Close()
	two.Close()
	await(0)
	checkStatus(false, "the extension disconnected: ", "Ask the user to open Chrome")
	server.Close()
	checkStatus(false, "the server for the extension is closed")
}

// TestPing checks that Ping sends no ping if the extension sent a message shortly before.
func TestPing(t *testing.T) {
	server := newServer(t)
	b := newBackend(t, server)
	instance, peer := server.Pipe("one")
	for tick := time.Tick(5 * time.Millisecond); !b.Connected(); <-tick {
	}
	limit := func() context.Context { // the extension does not respond to pings
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if err := b.Ping(limit()); err == nil {
		t.Error("no error although the extension did not respond")
	}
	if err := send(peer, &wire.Ping{TS: 1}); err != nil {
		t.Fatal(err)
	}
	for tick := time.Tick(5 * time.Millisecond); instance.LastMessageAt().IsZero(); <-tick {
	}
	if err := b.Ping(limit()); err != nil {
		t.Errorf("ping after a message from the extension: %v", err)
	}
}
