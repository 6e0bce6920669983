package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// addSDKAgent configures the example agent of the ACP SDK.
func addSDKAgent(t *testing.T, data string) {
	t.Helper()
	path := filepath.Join(filepath.Dir(binary), "sdk-agent")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/coder/acp-go-sdk/example/agent").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v %s", err, out)
	}
	if out, err := exec.Command(binary, "agents", "add", "sdk", "--data", data, "--", path).CombinedOutput(); err != nil {
		t.Fatalf("agents add: %v %s", err, out)
	}
}

// openPanelIn opens the side panel of a window without a real click, and returns its target.
func (b *userBrowser) openPanelIn(t *testing.T, window int) (panel string) {
	t.Helper()
	panels := func() (ids []string) {
		for _, x := range b.Targets(t) {
			if x.Type == "page" && strings.HasSuffix(x.URL, "/sidepanel.html") {
				ids = append(ids, x.ID)
			}
		}
		return ids
	}
	before := strings.Join(panels(), " ")
	b.Worker(t, fmt.Sprintf("chrome.windows.update(%[1]d, { focused: true }).then(() => chrome.action.openPopup({ windowId: %[1]d }))", window), nil)
	popup := b.Find(t, "page", "/popup.html")
	b.ClickAndClose(t, popup, "#panel", "Open side panel")
	await.Until(t, "another side panel", func() bool {
		for _, id := range panels() {
			if !strings.Contains(before, id) {
				panel = id
			}
		}
		return panel != ""
	})
	return panel
}

// newChat begins a chat with an agent in a panel, with its first message.
func (b *userBrowser) newChat(t *testing.T, session, agent, text string) {
	t.Helper()
	b.holds(t, session, "document.getElementById('list-view') && document.readyState === 'complete'")
	b.Click(t, session, "#new", "New chat")
	b.holds(t, session, fmt.Sprintf("[...document.getElementById('agent').options].some((o) => o.value === %q)", agent))
	b.Eval(t, session, fmt.Sprintf("document.getElementById('agent').value = %q; 0", agent), nil)
	b.ask(t, session, text)
}

// TestSidePanelAgents uses two agents in the panels of two windows at the same time: an agent that
// sends every kind of message, and the example agent of the SDK. Each sees its own tab and each panel
// its own chat. After Chrome was closed, a chat continues. Stop stops the calls of an agent that ignores
// it.
func TestSidePanelAgents(t *testing.T) {
	t.Parallel() // it mainly waits
	site := newTestSite(t)
	b := newUserBrowser(t)
	data := filepath.Join(shortTempDir(t), "data")
	b.register(t, data)
	addScriptedAgent(t, data)
	addSDKAgent(t, data)
	b.open()
	b.GoTo(t, b.Find(t, "page", "about:blank").ID, site.URL+"/first")
	var first, second int
	b.Worker(t, "chrome.windows.getLastFocused().then((w) => w.id)", &first)
	one := b.openPanelIn(t, first)
	b.WithSession(t, one, func(s1 string) {
		defer b.logPanel(t, s1, data)
		b.newChat(t, s1, "scripted", strings.Join([]string{
			"think First I read.", "tool t1 read Reading the page", `input t1 {"url": "https://shop.example/"}`, "update t1 completed 39.90",
			"plan Read;Answer", "say **Done**, see [the shop](https://shop.example/).", "usage 12 34",
		}, "\n"))
		b.hasText(t, s1, "#entries", "46 tokens")
		b.Eval(t, s1, "document.querySelectorAll('#entries details').forEach((d) => { d.open = true; })", nil) // renders what they contain
		for selector, text := range map[string]string{
			".thought": "First I read.", ".tool": "Reading the page", ".tool .result": "39.90", ".plan": "Answer",
			".agent strong": "Done", ".agent a": "the shop",
		} {
			b.hasText(t, s1, selector, text)
		}

		// "Ask about this" quotes the selection in the panel of its window.
		b.Worker(t, fmt.Sprintf(`chrome.tabs.query({ url: %[1]q }).then(([tab]) =>
			chrome.contextMenus.onClicked.dispatch({ menuItemId: 'ask-about-this', selectionText: 'Lamps of walnut', pageUrl: %[1]q }, tab))`, site.URL+"/first"), nil)
		b.hasText(t, s1, "#quote-text", "Lamps of walnut")
		b.ask(t, s1, "blocks")
		b.hasText(t, s1, ".user blockquote", "Lamps of walnut")
		b.hasText(t, s1, "#entries", "page text of "+site.URL+"/first")

		b.Worker(t, fmt.Sprintf("chrome.windows.create({ url: %q }).then((w) => w.id)", site.URL+"/second"), &second)
		b.Find(t, "page", site.URL+"/second")
		two := b.openPanelIn(t, second)
		b.WithSession(t, two, func(s2 string) {
			defer b.logPanel(t, s2, data)
			b.newChat(t, s2, "sdk", "Update the configuration")
			b.ask(t, s1, "say written in one\nask 1 rm -rf /tmp/x")
			b.hasText(t, s1, ".permission pre", "rm -rf /tmp/x")
			b.hasText(t, s2, ".permission", "Modifying critical configuration file")
			b.Click(t, s2, ".permission button", "Allow this change")
			b.hasText(t, s2, "#entries", "successfully updated the configuration")
			b.holds(t, s1, "document.querySelectorAll('.permission button:not(:disabled)').length > 0")
			b.Eval(t, s1, "document.querySelector('.permission button').click()", nil)
			b.holds(t, s1, "document.getElementById('stop').hidden")
			b.hasText(t, s1, "#given", "first")
			b.hasText(t, s2, "#given", "second")
			for session, other := range map[string]string{s1: "ACP Go Example Agent", s2: "written in one"} {
				var mixed bool
				b.Eval(t, session, fmt.Sprintf("document.getElementById('entries').textContent.includes(%q)", other), &mixed)
				if mixed {
					t.Errorf("a panel shows the other chat: %s", other)
				}
			}
		})
	})

	b.CloseGracefully(t)
	b.open()
	b.GoTo(t, b.Find(t, "page", "about:blank").ID, site.URL+"/first")
	b.Worker(t, "chrome.windows.getLastFocused().then((w) => w.id)", &first)
	b.WithSession(t, b.openPanelIn(t, first), func(s string) {
		defer b.logPanel(t, s, data)
		b.holds(t, s, "document.querySelectorAll('#chats li').length === 2")
		b.Eval(t, s, "[...document.querySelectorAll('#chats button')].find((e) => e.textContent.includes('think First')).click()", nil)
		b.hasText(t, s, "#entries", "written in one")
		b.Click(t, s, "#resume", "Resume")
		b.hasText(t, s, "#entries", "cannot load earlier sessions")
		b.ask(t, s, "say welcome back")
		b.hasText(t, s, "#entries", "welcome back")

		// Stop ends the running call, and the further ones of an agent that ignores it do not reach the tab.
		b.ask(t, s, strings.Join([]string{
			`call wait_for {"text": "never"}`, fmt.Sprintf(`call navigate {"url": %q}`, site.URL+"/after-stop"), "hang",
		}, "\n"))
		await.Until(t, "the tool to use the tab", func() (attached bool) {
			b.Worker(t, fmt.Sprintf("chrome.debugger.getTargets().then((all) => all.some((x) => x.attached && x.url === %q))", site.URL+"/first"), &attached)
			return attached
		})
		b.Click(t, s, "#stop", "Stop")
		b.hasText(t, s, "#turn", "Stopped")
		b.ask(t, s, "results")
		b.hasText(t, s, "#entries", "DETACHED: The call was canceled before it finished: the user stopped this turn in the side panel. Ask the user before you continue.")
		// The agent may have said the same before, so wait for the end of the turn.
		b.holds(t, s, "document.getElementById('entries').textContent.split('results')[1]?.includes('DETACHED: Calls are rejected: the user stopped this turn in the side panel.') && document.getElementById('stop').hidden")
		b.ask(t, s, fmt.Sprintf(`call navigate {"url": %q}`, site.URL+"/after-prompt"))
		b.hasText(t, s, "#entries", "/after-prompt")
		await.Until(t, "the page of the next turn", func() bool { return site.asked("127.0.0.1 /after-prompt") > 0 })
		if n := site.asked("127.0.0.1 /after-stop"); n > 0 {
			t.Errorf("the agent opened %d pages after the stop", n)
		}
	})
}
