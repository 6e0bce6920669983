package input

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/frametest"
)

// TestPressNotSent checks that a button whose press was not sent is not pressed, so that the next action
// does not release it.
func TestPressNotSent(t *testing.T) {
	browser := cdptest.New(nil)
	tab := frametest.Attach(t, browser)
	tab.Load(t, 1)
	browser.Emit("T", "Page.frameNavigated",
		`{"frame":{"id":"T","loaderId":"L2","url":"chrome-error://chromewebdata/","domainAndRegistry":"","securityOrigin":"://","mimeType":"text/html","secureContextType":"InsecureScheme","crossOriginIsolatedContextType":"NotIsolated","gatedAPIFeatures":[]},"type":"Navigation"}`)
	err := tab.Await(t.Context(), func(s *frames.State) (bool, error) { return s.Top().IsErrorPage(), nil })
	if err != nil {
		t.Fatal(err)
	}
	p := &pointer{sender: &sender{tree: tab.Tree}, buttons: new(pointerstate.Buttons)}
	if _, err := p.startPress(t.Context(), executor.ButtonLeft, 1, 2); executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Errorf("press on an error page: error %v", err)
	}
	if p.buttons.Pressed(executor.ButtonLeft) {
		t.Error("the button counts as pressed")
	}
}
