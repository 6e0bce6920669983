package compose

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/profilelease"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// TestCallsPerMinuteOfToken checks that all sessions of a token share one limit, also those that it
// opens later, and that other tokens and the sessions of the user have their own.
func TestCallsPerMinuteOfToken(t *testing.T) {
	data := t.TempDir()
	opener := &Opener{Data: data, Pool: new(chromium.Pool), Vault: secrets.Open(data), Profiles: profilelease.New(), Board: new(dashboard.Board), Desk: new(handover.Desk), Log: slog.New(slog.DiscardHandler)}
	// call opens a session, makes one call that needs no browser, and closes it.
	call := func(principal, name string) string {
		t.Helper()
		s, err := opener.Open(server.OpenRequest{
			Principal: principal, Name: name, Settings: server.Settings{"--prefer": {"cdp"}, "--max-calls": {"1"}},
			Limit: func(context.Context) (func(), error) { return func() {}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close("the call has ended")
		w := httptest.NewRecorder()
		s.ServeTool(w, httptest.NewRequest("POST", "/", strings.NewReader("{}")), "tabs_list")
		return w.Body.String()
	}
	for _, tt := range []struct {
		principal, name string
		denied          bool
	}{
		{"a", "one", false},
		{"a", "two", true},
		{"a", "one", true},
		{"b", "one", false},
		{"", "one", false},
		{"", "two", false},
		{"", "one", false},
	} {
		got := call(tt.principal, tt.name)
		if denied := strings.Contains(got, "rate limit of 1 call per minute reached"); denied != tt.denied {
			t.Errorf("%s@%s: %s", tt.name, tt.principal, got)
		}
	}
}
