package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestAskUserShowsTab asks the user to act in each of two tabs of a browser with a window. While the
// question is open, the browser shows the tab: document.visibilityState is "visible".
func TestAskUserShowsTab(t *testing.T) {
	needChromium(t)
	t.Setenv("DISPLAY", newDisplay(t).name)
	reports := make(chan string, 100) // paths with the states of their pages, when these change
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/is-") {
			reports <- r.URL.Path
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>Tab</title><h1>Tab</h1>
			<script>addEventListener("visibilitychange", () => fetch(location.pathname + "/is-" + document.visibilityState));</script>`)
	}))
	t.Cleanup(site.Close)

	asking := ""
	answer := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		limit := time.After(await.HangLimit)
		// The focus is not emulated during a handover, so a tab in the background is hidden first. The
		// reports arrive in any order.
		for hidden, visible := false, false; !hidden || !visible; {
			select {
			case report := <-reports:
				hidden = hidden || report == asking+"/is-hidden"
				visible = visible || report == asking+"/is-visible"
			case <-limit:
				t.Errorf("%s was hidden: %v, and became visible: %v", asking, hidden, visible)
				return says("cannot"), nil
			}
		}
		return says("done"), nil
	}
	s := startMCPWith(t, &sdk.ClientOptions{ElicitationHandler: answer}, nil,
		"--isolated", "--data", t.TempDir(), "--prefer=cdp", "--tools=core,people", "--allow-private=127.0.0.1/32", "--allow-domain=127.0.0.1")
	tabs := make(map[string]string)
	for _, path := range []string{"/first", "/second"} {
		tabs[path] = regexp.MustCompile(`cdp:\w+:\d+`).FindString(s.call(t, "tab_new", map[string]any{"url": site.URL + path}))
	}
	// The first tab is in front, because it was opened in the window's blank tab.
	for _, asking = range []string{"/second", "/first"} {
		s.call(t, "ask_user", map[string]any{"message": "Look at it.", "tabId": tabs[asking]}, "the user is done", site.URL+asking)
	}
	s.end(t)
}
