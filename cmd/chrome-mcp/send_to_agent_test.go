package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// pointingPage has elements to point at. Its script pretends that the user pointed at Gamma, each time
// that the user opens the context menu.
const pointingPage = `<!doctype html><title>Pointing</title>
<button id=a onclick="document.title = 'clicked Alpha'">Alpha</button> <button id=b>Beta</button> <button id=c>Gamma</button>
<input id=name aria-label=Name> <p id=words>Some words to select</p>
<iframe id=allowed src="/frame" width=200 height=60></iframe> <iframe id=other src="http://other.localhost:%[1]s/frame" width=200 height=60></iframe> <iframe id=denied src="http://localhost:%[1]s/frame" width=200 height=60></iframe>
<script>
	const fake = () => {
		const event = new MouseEvent('contextmenu', {bubbles: true, composed: true, button: 2});
		try { Object.defineProperty(event, 'isTrusted', {value: true}); } catch {}
		document.getElementById('c').dispatchEvent(event);
		globalThis.__cmPointed = {last: {target: new WeakRef(document.getElementById('c')), selection: 'faked', at: Date.now() + 1e6}};
	};
	addEventListener('contextmenu', (e) => { if (e.isTrusted) { fake(); setTimeout(() => { fake(); document.body.dataset.faked = 'yes'; }); } }, true);
</script>`

// TestSendToAgent points at elements as the user does, with real input, and chooses "Send to agent".
// No protocol can click an item of a native menu, so the event of the click is dispatched in the
// extension's worker.
func TestSendToAgent(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/frame" {
			io.WriteString(w, `<!doctype html><title>frame</title><button onclick="this.textContent = 'Done'">Inside</button>`)
			return
		}
		fmt.Fprintf(w, pointingPage, r.Host[strings.LastIndex(r.Host, ":")+1:])
	}))
	t.Cleanup(web.Close)
	b, data := sharedUserBrowser(t)
	other := strings.Replace(web.URL, "127.0.0.1", "other.localhost", 1)
	s := startMCP(t, "--data", data, "--port=0", "--allow-domain", web.URL, "--allow-domain", other, "--enable-mutations", "--no-cdp-fallback")
	page := b.Find(t, "page", "about:blank").ID
	b.GoTo(t, page, web.URL+"/") // before an agent drives the tab, which then loads no denied frame
	s.until(t, "no tab shared", "chrome_status", nil)
	b.Worker(t, `{
		const update = chrome.contextMenus.update;
		chrome.contextMenus.update = (id, changes) => { globalThis.visible = changes.visible; return update(id, changes); };
	}`, nil)
	itemVisible := func(want bool) {
		t.Helper()
		await.Until(t, fmt.Sprintf("the menu item to be visible: %t", want), func() bool {
			var visible bool
			b.Worker(t, "globalThis.visible === true", &visible)
			return visible == want
		})
	}
	// send opens the context menu on the element that expression returns, and chooses the item.
	// frame is a part of the URL of the frame that it is in, "" for the top frame.
	send := func(expression, frame string) {
		t.Helper()
		b.WithSession(t, page, func(session string) {
			var at struct{ X, Y float64 }
			b.Eval(t, session, fmt.Sprintf("{ delete document.body.dataset.faked; const r = (%s).getBoundingClientRect(); ({X: r.x + 20, Y: r.y + 18}) }", expression), &at)
			for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
				b.Call(t, session, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "right", "buttons": 2, "clickCount": 1}, nil)
			}
			if frame == "" {
				b.holds(t, session, "document.body.dataset.faked === 'yes'")
			}
		})
		b.Worker(t, fmt.Sprintf(`(async () => {
			const [tab] = await chrome.tabs.query({ url: %q });
			const frames = await chrome.webNavigation.getAllFrames({ tabId: tab.id });
			const { frameId } = frames.find((f) => %[2]q === '' ? f.frameId === 0 : f.url.includes(%[2]q));
			chrome.contextMenus.onClicked.dispatch({ menuItemId: 'send-to-agent', frameId }, tab);
		})()`, web.URL+"/", frame), nil)
	}
	// noted returns the note of the next result, about the only element that was sent, and its ref.
	noted := func(want ...string) string {
		t.Helper()
		text := s.until(t, "the user sent you", "tabs_list", nil)
		wants(t, "the note", text, want)
		if strings.Count(text, "the user sent you") != 1 || strings.Contains(text, "Gamma") {
			t.Errorf("the notes are %s", text)
		}
		if more := s.call(t, "tabs_list", nil); strings.Contains(more, "the user sent you") {
			t.Errorf("the note is repeated: %s", more)
		}
		m := regexp.MustCompile(`\[ref=(e\d+)\]`).FindStringSubmatch(text)
		if m == nil {
			return ""
		}
		return m[1]
	}

	send("document.getElementById('a')", "") // not shared: the agent learns nothing
	b.toggleSharing(t)
	itemVisible(true)
	s.until(t, "1 tab shared", "chrome_status", nil)
	send("document.getElementById('a')", "") // no call has used the page
	if ref := noted("which one is unknown", "send it again"); ref != "" {
		t.Errorf("the element that is unknown has ref %s", ref)
	}

	s.call(t, "get_text", nil, "Some words")
	send("document.getElementById('a')", "")
	ref := noted(`button "Alpha"`)
	s.call(t, "click", map[string]any{"ref": ref})
	s.call(t, "tabs_list", nil, "clicked Alpha")

	send("document.getElementById('name')", "")
	s.call(t, "type", map[string]any{"ref": noted(`textbox "Name"`), "text": "Ada"})
	b.WithSession(t, page, func(session string) {
		b.holds(t, session, "document.getElementById('name').value === 'Ada'")
		b.Eval(t, session, "getSelection().selectAllChildren(document.getElementById('words'))", nil)
	})
	send("document.getElementById('words')", "")
	noted(`with the selected text "Some words to select"`)

	for id, url := range map[string]string{"allowed": web.URL, "other": other} {
		send("document.getElementById('denied')", "//localhost") // the agent learns nothing
		send(fmt.Sprintf("document.getElementById(%q)", id), url+"/frame")
		s.call(t, "click", map[string]any{"ref": noted(`button "Inside"`)})
	}
	s.call(t, "snapshot", nil, "Done")

	b.toggleSharing(t)
	itemVisible(false)
}
