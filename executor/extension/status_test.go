package extension

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestStatus: what is told of browsers that come, replace their connection and
// go.
func TestStatus(t *testing.T) {
	server := newServer(t)
	b := newBackend(t, server)
	told := func(connected bool, want ...string) executor.Status {
		t.Helper()
		s := b.Status(t.Context())
		if s.Ready != connected || s.ExtensionConnected != connected || s.Backend != executor.BackendExtension {
			t.Errorf("status %+v", s)
		}
		for _, part := range want {
			if !strings.Contains(s.Detail, part) {
				t.Errorf("the detail is %q, want %q", s.Detail, part)
			}
		}
		return s
	}
	told(false, "no extension is connected (", "chrome-mcp extension install")

	await := func(n int) {
		t.Helper()
		for tick := time.Tick(5 * time.Millisecond); len(b.connectedInstallations()) != n; <-tick {
			if t.Context().Err() != nil {
				t.Fatalf("%d browsers are connected", len(b.connectedInstallations()))
			}
		}
	}
	server.Pipe("one")
	_, two := server.Pipe("two")
	await(2)
	if s := told(true, "the user's own Chrome 0.0.0.0, no tab shared; the user's own Chrome"); s.Displaced {
		t.Errorf("displaced: %q", s.Detail)
	}
	for range 2 { // at once for the second, which ends the first
		_, two = server.Pipe("two")
	}
	await(2)
	if s := told(true, "a connection was replaced by a newer one of the same browser at ", "the last of 2 times"); !s.Displaced {
		t.Error("not displaced")
	}
	_, one := server.Pipe("one")
	one.Close()
	two.Close()
	await(0)
	told(false, "the extension disconnected: ", "Ask the user to open Chrome")
	server.Close()
	told(false, "the server for the extension is closed")
}

// TestPing: an extension that has just said something need not be asked.
func TestPing(t *testing.T) {
	server := newServer(t)
	b := newBackend(t, server)
	instance, peer := server.Pipe("one")
	for tick := time.Tick(5 * time.Millisecond); !b.Connected(); <-tick {
	}
	limit := func() context.Context { // nobody answers
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if err := b.Ping(limit()); err == nil {
		t.Error("a silent extension has answered")
	}
	if err := send(peer, &wire.Ping{TS: 1}); err != nil {
		t.Fatal(err)
	}
	for tick := time.Tick(5 * time.Millisecond); instance.LastMessageAt().IsZero(); <-tick {
	}
	if err := b.Ping(limit()); err != nil {
		t.Errorf("an extension that was just heard: %v", err)
	}
}
