package dashboard

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

var screenshots = flag.String("screenshots", "", "write screenshots of the dashboard for the documents to this directory")

// TestScreenshots takes the screenshots of the documents:
//
//	go test ./internal/dashboard -run TestScreenshots -screenshots "$PWD/docs"
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("writes files; requires -screenshots")
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, strings.Replace(shop, "<div id=box", "<div hidden id=box", 1))
	}))
	defer site.Close()
	board, desk := new(Board), new(handover.Desk)
	s := newDashboard(t, board, desk)
	a := newAgent(t, board, desk, WorkspaceOptions{Name: "tickets"}, site.URL)
	board.Open(WorkspaceOptions{Principal: "ci", Name: "nightly"}).AddClient("Claude Code 3.1.0")
	p := newUser(t)
	p.open("file://" + filepath.ToSlash(loginFile(t, s)))
	p.sees("Connected")
	a.call("navigate", map[string]any{"url": site.URL})
	a.call("snapshot", nil)
	a.call("click", map[string]any{"selector": "#missing"})
	a.call("type", map[string]any{"selector": "#name", "text": "Ada"})
	p.sees("Order 1042 — Shop")
	p.clicks(`role=button[name="Watch Order 1042 — Shop"]`)
	tab := a.ex.(executor.Watcher).WatchTabs(t.Context())[0].ID
	handed, err := pagetest.Of(a.ex, tab).HandOver(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer handed.End()
	if _, _, err := desk.Post(executor.HandoverQuestion{
		HandoverAsker: executor.HandoverAsker{Session: "tickets"}, Agent: "Shopping agent 2.1", Message: "The order needs your card. Please pay, then press Done.", Site: site.URL, Title: "Order 1042 — Shop", Tab: tab,
	}); err != nil {
		t.Fatal(err)
	}
	p.sees("The page is handed over to you")
	p.sees("Please pay, then press Done.")
	p.holds("!document.querySelector('#questions [aria-disabled=true]')")
	for _, scheme := range []executor.ColorScheme{executor.SchemeLight, executor.SchemeDark} {
		if _, err := p.page().Emulate(t.Context(), &executor.EmulateOptions{ColorScheme: scheme}); err != nil {
			t.Fatal(err)
		}
		shot, err := p.page().Screenshot(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*screenshots, fmt.Sprintf("dashboard-%s.png", scheme)), shot.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
