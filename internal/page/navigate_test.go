package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/frametest"
)

// TestNavigateReplaced checks that Navigate waits for the document with which a script has replaced
// the navigation's own, even if that happened before Navigate could see it.
func TestNavigateReplaced(t *testing.T) {
	b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		switch cmd.Method {
		case "Page.navigate":
			for n := 2; n <= 3; n++ {
				b.Emit("T", "Page.frameNavigated", fmt.Sprintf(
					`{"frame":{"id":"T","loaderId":"L%d","url":"https://a.test/%d","domainAndRegistry":"","securityOrigin":"https://a.test","mimeType":"text/html","secureContextType":"Secure","crossOriginIsolatedContextType":"Isolated","gatedAPIFeatures":[]},"type":"Navigation"}`, n, n))
				b.Emit("T", "Runtime.executionContextCreated", fmt.Sprintf(
					`{"context":{"id":%d,"origin":"https://a.test","name":%q,"uniqueId":"W%d","auxData":{"frameId":"T","isDefault":false,"type":"isolated"}}}`, n, frames.WorldName, n))
			}
			b.Emit("T", "Page.lifecycleEvent", `{"frameId":"T","loaderId":"L3","name":"load","timestamp":1}`)
			b.Reply(cmd, `{"frameId":"T","loaderId":"L2"}`)
		case "Runtime.callFunctionOn":
			b.Reply(cmd, `{"result":{"type":"string","value":"the title"}}`)
		case "Runtime.evaluate":
			b.Reply(cmd, `{"result":{"type":"undefined"}}`)
		default:
			b.Reply(cmd, "{}")
		}
	})
	tab := attach(t, b)
	frametest.Load(t, b, tab.tree, 1)
	nav, err := tab.NewView(ViewOptions{Gate: executor.AllowAll}).Navigate(await.Context(t), "https://a.test/2", nil)
	if err != nil || nav.URL != "https://a.test/3" {
		t.Errorf("Navigate returned %+v, %v", nav, err)
	}
}
