package page

import (
	"fmt"
	"sync"
	"testing"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/frametest"
)

// TestPasskeysDuringHandover checks that requests for passkeys do not fail immediately during a
// handover, also in frames that have their own CDP session, known before or not.
func TestPasskeysDuringHandover(t *testing.T) {
	var mu sync.Mutex // guards sent
	sent := make(map[string]string)
	reply := replyAsWorlds()
	b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		mu.Lock()
		switch cmd.Method {
		case "WebAuthn.enable":
			sent[string(cmd.SessionID)] += "+"
		case "WebAuthn.disable":
			sent[string(cmd.SessionID)] += "-"
		}
		mu.Unlock()
		reply(b, cmd)
	})
	tab := attachWith(t, b, Options{NoDialogs: true, NoWindow: true})
	v := tab.NewView(ViewOptions{Gate: executor.AllowAll})
	frametest.Load(t, b, tab.tree, 1)
	attachFrame := func(id string) {
		t.Helper()
		before := len(tab.tree.Sessions())
		b.Emit("T", "Page.frameAttached", fmt.Sprintf(`{"frameId":%q,"parentFrameId":"T"}`, id))
		b.Attach("T", id, "iframe")
		await.Until(t, "the session of the frame", func() bool { return len(tab.tree.Sessions()) > before })
	}
	wantSent := func(when, top, a, b string) {
		t.Helper()
		await.Until(t, fmt.Sprintf("the commands %s: %q", when, []string{top, a, b}), func() bool {
			mu.Lock()
			defer mu.Unlock()
			return sent["T"] == top && sent["A"] == a && sent["B"] == b
		})
	}
	attachFrame("A")
	wantSent("before", "+", "+", "")
	h, err := v.HandOver(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantSent("during the handover", "+-", "+-", "")
	attachFrame("B")
	h.End()
	wantSent("afterwards", "+-+", "+-+", "+")
}
