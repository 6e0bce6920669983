package compose

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/profilelease"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// openSessions opens sessions of a server in this process.
func openSessions(t *testing.T, n int, settings server.Settings) []server.Workspace {
	t.Helper()
	pool := new(chromium.Pool)
	data := t.TempDir()
	opener := &Opener{Data: data, Pool: pool, Vault: secrets.Open(data), Profiles: profilelease.New(), Board: new(dashboard.Board), Desk: new(handover.Desk), Log: slog.New(slog.DiscardHandler)}
	limit := func(context.Context) (func(), error) { return func() {}, nil }
	all := make([]server.Workspace, n)
	for i := range all {
		s, err := opener.Open(server.OpenRequest{Name: fmt.Sprint("s", i), Settings: settings, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		all[i] = s
	}
	t.Cleanup(func() {
		for _, s := range all {
			if err := s.Close("the test ended"); err != nil {
				t.Error(err)
			}
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return all
}

// heap returns the memory of the Go heap and of the stacks after a garbage collection, in bytes.
func heap() int {
	runtime.GC()
	runtime.GC() // finalizers of the first one free more
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// TestIdleSessionMemory measures the memory of sessions without a tab.
func TestIdleSessionMemory(t *testing.T) {
	tier.Deep(t)
	const n, limit = 100, 1 << 20
	openSessions(t, 1, server.Settings{"--prefer": {"cdp"}}) // what is allocated once
	before := heap()
	openSessions(t, n, server.Settings{"--prefer": {"cdp"}})
	each := (heap() - before) / n
	t.Logf("%d KiB for each session", each>>10)
	if each > limit {
		t.Errorf("an idle session takes %d bytes, more than %d", each, limit)
	}
}

// TestSessionHeap makes 10,000 calls in one session. The heap must not grow with their number.
func TestSessionHeap(t *testing.T) {
	tier.Deep(t)
	tier.Browser(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<button onclick='n.textContent = Number(n.textContent) + 1'>Add</button><p id=n>0</p>")
	}))
	t.Cleanup(web.Close)
	settings := server.Settings{"--prefer": {"cdp"}, "--headless": {"true"}, "--isolated": {"true"}, "--allow-domain": {web.URL}, "--enable-mutations": {"true"}, "--max-calls": {"100000"}}
	if os.Getuid() == 0 {
		settings["--no-sandbox"] = []string{"true"}
	}
	s := openSessions(t, 1, settings)[0]
	call := func(tool, args, want string) {
		w := httptest.NewRecorder()
		s.ServeTool(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(args)), tool)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Fatalf("%s: %d %s", tool, w.Code, w.Body)
		}
	}
	call("navigate", fmt.Sprintf(`{"url": %q}`, web.URL), "")
	early := 0
	const calls, warm = 10_000, 2_000
	for i := range calls / 2 {
		call("click", `{"selector": "button"}`, "ok")
		call("get_text", `{"selector": "#n"}`, fmt.Sprint(i+1))
		if 2*(i+1) == warm {
			early = heap()
		}
	}
	late := heap()
	t.Logf("heap after %d calls: %d KiB, after %d: %d KiB", warm, early>>10, calls, late>>10)
	if late > early+early/20 {
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
}
