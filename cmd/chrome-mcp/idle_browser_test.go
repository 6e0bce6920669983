package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// noObserver ignores all calls.
type noObserver struct{}

func (noObserver) CallStarted(mcp.Call) func(mcp.CallOutcome) { return func(mcp.CallOutcome) {} }

func TestIdleBrowserTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const after = 10 * time.Minute
		start := time.Now()
		var mu sync.Mutex // guards the variables below
		var closed []time.Duration
		var during func(context.Context) // runs while the browsers are being closed
		set := func(f func(context.Context)) {
			mu.Lock()
			during = f
			mu.Unlock()
		}
		b := newIdleBrowser(noObserver{}, after, func(ctx context.Context, d time.Duration) {
			if d != after {
				t.Errorf("close is called with %v", d)
			}
			mu.Lock()
			closed = append(closed, time.Since(start))
			f := during
			mu.Unlock()
			if f != nil {
				f(ctx)
			}
		})
		wants := func(what string, want ...time.Duration) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if fmt.Sprint(closed) != fmt.Sprint(want) {
				t.Errorf("%s: closed at %v, want %v", what, closed, want)
			}
			closed = nil
		}
		time.Sleep(8 * time.Minute)
		first := b.CallStarted(mcp.Call{})
		second := b.CallStarted(mcp.Call{})
		time.Sleep(time.Hour)
		first(mcp.CallOutcome{})
		time.Sleep(time.Hour)
		wants("calls are running")
		second(mcp.CallOutcome{})
		time.Sleep(25 * time.Minute)
		wants("calls have ended", 2*time.Hour+18*time.Minute, 2*time.Hour+28*time.Minute)

		set(func(ctx context.Context) {
			ended := b.CallStarted(mcp.Call{})
			if ctx.Err() == nil {
				t.Error("a call has started, and the browser is still being closed")
			}
			ended(mcp.CallOutcome{})
		})
		time.Sleep(9 * time.Minute)
		wants("a call starts during close", 2*time.Hour+38*time.Minute)

		stopping := make(chan struct{})
		set(func(ctx context.Context) { <-ctx.Done(); close(stopping) })
		time.Sleep(7 * time.Minute)
		b.stop()
		select {
		case <-stopping:
		default:
			t.Error("stop did not wait")
		}
		wants("it is being stopped", 2*time.Hour+48*time.Minute)
		b.CallStarted(mcp.Call{})(mcp.CallOutcome{})
		time.Sleep(time.Hour)
		wants("it is stopped")
	})
}

// TestIdleBrowser serves MCP with a browser that is closed soon after each call.
func TestIdleBrowser(t *testing.T) {
	tier.Browser(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "login", Value: "ann"})
		}
		cookie, _ := r.Cookie("login")
		fmt.Fprintf(w, "<title>page</title><p>cookie %v</p>", cookie)
	}))
	t.Cleanup(site.Close)
	s := startMCP(t, "--data", t.TempDir(), "--headless", "--isolated", "--prefer", "cdp", "--allow-domain", site.URL, "--idle-browser", "1ms")
	s.call(t, "navigate", map[string]any{"url": site.URL + "/login"}, "page")
	var text string
	await.Until(t, "the browser to be closed", func() bool {
		var failed bool
		var err error
		text, failed, err = s.try(t.Context(), "tabs_list", nil)
		if err != nil {
			t.Fatal(err)
		}
		return failed
	})
	wants(t, "the call after it", text, []string{"TARGET_GONE: ", "after 1ms without calls", "tab_new", `note: the closed tabs showed "` + site.URL + `/login"`})
	await.Until(t, "a page that keeps the cookie", func() bool { // the next browser can also be closed before a call ends
		_, failed, err := s.try(t.Context(), "navigate", map[string]any{"url": site.URL + "/"})
		if err != nil {
			t.Fatal(err)
		}
		if failed {
			return false
		}
		text, failed, err = s.try(t.Context(), "get_text", nil)
		return err == nil && !failed && strings.Contains(text, "cookie login=ann")
	})
}

// TestIdleBrowserFlag checks where the flag is not valid.
func TestIdleBrowserFlag(t *testing.T) {
	if _, err := parse([]string{"--idle-browser", "-1s"}, nil); err == nil || !strings.Contains(err.Error(), "--idle-browser: -1s is negative") {
		t.Error(err)
	}
	if out, err := newCommandLine(t).run("call", "tabs_list", "--idle-browser", "1h"); err == nil || !strings.Contains(out, "--idle-browser has no effect on call") {
		t.Error(out, err)
	}
}
