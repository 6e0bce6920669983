package relay

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// hostPolicy is a NetworkPolicy that allows documents of one host and requests to all hosts of this
// machine.
type hostPolicy struct{ onlyHost }

func (hostPolicy) CheckHost(string, string, int) error         { return nil }
func (hostPolicy) CheckPath(string, string, int, string) error { return nil }
func (hostPolicy) CheckAddr(_ string, _ int, a netip.Addr) error {
	if !a.IsLoopback() {
		return executor.Errorf(executor.ErrPolicyDenied, "", "%s is not on this machine", a)
	}
	return nil
}

// startBackend returns a managed browser for CDP clients.
func startBackend(t testing.TB) *chromium.Backend {
	t.Helper()
	userbrowser.Find(t)
	// The goroutines of the browser end after the test.
	b, err := chromium.New(&chromium.Options{
		CDPClients: true, Isolated: true, NoSandbox: os.Geteuid() == 0,
		Network: hostPolicy{"127.0.0.1"}, DataDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// TestManagedBrowser checks that clients drive the managed browser at the same time as a session,
// that denied documents do not load in any frame, and that everything ends with the client.
func TestManagedBrowser(t *testing.T) {
	b := startBackend(t)
	web := newSite(t)
	s, address := serve(t, Options{Browser: b})
	session, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Navigate(await.Context(t), web.allowed+"/tool", nil); err != nil {
		t.Fatal(err)
	}
	c := dial(t, address+"/devtools/browser/x", "Test/1")
	var id any
	for _, v := range c.call("", "Target.getTargets", nil)["targetInfos"].([]any) {
		if x := v.(map[string]any); x["url"] == web.allowed+"/tool" {
			id = x["targetId"]
		}
	}
	// The client attaches to the page of the session, and both use it.
	page := c.call("", "Target.attachToTarget", map[string]any{"targetId": id, "flatten": true})["sessionId"].(string)
	c.call(page, "Runtime.enable", nil)
	for _, m := range c.events {
		if strings.Contains(string(m.Params), "chrome-mcp") {
			t.Errorf("event %s %s", m.Method, m.Params)
		}
	}
	if title := c.eval(page, "document.title = 'changed'"); title != "changed" {
		t.Errorf("title %v", title)
	}
	tool, err := session.Page(await.Context(t), "")
	if err != nil {
		t.Fatal(err)
	}
	if snapshot, err := tool.Snapshot(await.Context(t), nil); err != nil || !strings.Contains(string(encode(snapshot)), "changed") {
		t.Errorf("snapshot %+v, %v", snapshot, err)
	}
	// The ids of our world are small numbers. None of them can be used.
	visible := 0
	for n := range 30 {
		if c.try(page, "Runtime.evaluate", map[string]any{"expression": "1", "contextId": n}).Error == nil {
			visible++
		}
	}
	if visible != 1 {
		t.Errorf("%d execution contexts can be used", visible)
	}
	// A denied document loads in no frame, and not through an intercepted request.
	context := c.call("", "Target.createBrowserContext", nil)["browserContextId"].(string)
	own := c.open(web.allowed+"/frame", context)
	c.call(own, "Fetch.enable", map[string]any{"patterns": []any{map[string]any{"resourceType": "Document"}}}) // not the icon
	c.send(own, "Page.navigate", map[string]any{"url": web.allowed + "/frame"})
	p := c.event("Fetch.requestPaused", nil)
	c.call(own, "Fetch.continueRequest", map[string]any{"requestId": p["requestId"]})
	c.event("Page.loadEventFired", nil)
	if n := web.count(web.denied + "/inner"); n != 0 {
		t.Errorf("%d requests for the denied document", n)
	}
	// Nor in a document that the client writes.
	c.call(own, "Fetch.disable", nil)
	frame := c.call(own, "Page.getFrameTree", nil)["frameTree"].(map[string]any)["frame"].(map[string]any)["id"]
	c.call(own, "Page.setDocumentContent", map[string]any{"frameId": frame, "html": `<iframe src="` + web.denied + `/inner" onload="this.title = 'done'"></iframe>`})
	await.Until(t, "the end of the frame's navigation", func() bool { return c.eval(own, "document.querySelector('iframe').title") == "done" })
	if n := web.count(web.denied + "/inner"); n != 0 {
		t.Errorf("%d requests for the denied document in one of the client", n)
	}
	c.ws.CloseNow()
	waitForNoClients(t, s)
	second := dial(t, address+"/devtools/browser/x", "")
	if text := string(encode(second.call("", "Target.getTargets", nil))); strings.Contains(text, "/frame") || !strings.Contains(text, "/tool") {
		t.Errorf("targets after the first client: %s", text)
	}
	if m := second.try("", "Browser.close", nil); m.Error != nil {
		t.Error(m.Error)
	}
	if _, err := session.Navigate(await.Context(t), web.allowed+"/after", nil); err != nil {
		t.Error(err)
	}
}

// evaluate measures the round trip of Runtime.evaluate.
func evaluate(b *testing.B, c *testClient) {
	b.Helper()
	target := c.call("", "Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	session := c.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	for b.Loop() {
		if m := c.try(session, "Runtime.evaluate", map[string]any{"expression": "1"}); m.Error != nil {
			b.Fatal(m.Error)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	b.Run("direct", func(b *testing.B) { evaluate(b, dial(b, startPlain(b).address, "")) })
	b.Run("relay", func(b *testing.B) {
		_, address := serve(b, Options{Browser: startBackend(b), Audit: &entries{}})
		evaluate(b, dial(b, address+"/devtools/browser/x", ""))
	})
}
