package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/acpagent"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// attemptFunction is a part of a script: a function that stores the outcome of an attempt, which is an error unless
// it begins with "answered", in outcomes.
const attemptFunction = `
	const outcomes = {};
	const attempt = async (name, work) => {
		try {
			outcomes[name] = 'answered ' + JSON.stringify(await work());
		} catch (e) {
			outcomes[name] = e.message;
		}
	};`

// panelAttacks is a script that tries to use the side panel of the extension with the id ours, and its
// native messaging host, as a page or another extension can. It resolves to the outcomes.
const panelAttacks = `(async (ours, host, version, chat) => {` + attemptFunction + `
	const calls = [
		{ type: 'call', id: 1, method: 'list', params: {} },
		{ type: 'call', id: 2, method: 'read', params: { chat, limit: 10 } },
		{ type: 'call', id: 3, method: 'prompt', params: { chat, text: 'say forged' } },
		{ type: 'call', id: 4, method: 'new', params: { agent: 'counted', title: 'forged' } },
		{ type: 'call', id: 5, method: 'open', params: { chat } },
	];
	const answerOf = (port, messages) => new Promise((resolve, reject) => {
		port.onMessage.addListener(resolve);
		port.onDisconnect.addListener(() => reject(new Error(chrome.runtime.lastError?.message ?? 'disconnected')));
		for (const m of messages) port.postMessage(m);
	});
	for (const name of ['chrome-mcp-panel', 'chrome-mcp-page']) await attempt('port ' + name, () => answerOf(chrome.runtime.connect(ours, { name }), calls));
	for (const call of calls) await attempt('message ' + call.method, () => chrome.runtime.sendMessage(ours, call));

	const panel = 'chrome-extension://' + ours + '/sidepanel.html';
	await attempt('fetch', () => fetch(panel).then((r) => r.text()));
	await attempt('module', () => import('chrome-extension://' + ours + '/chats.js').then((m) => Object.keys(m)));
	await attempt('frame', async () => {
		const frame = Object.assign(document.createElement('iframe'), { src: panel });
		await new Promise((resolve) => {
			frame.onload = resolve;
			document.body.append(frame);
		});
		for (const call of calls) frame.contentWindow.postMessage(call, '*');
		return frame.contentDocument.title;
	});
	const opened = open(panel);
	for (const call of calls) opened.postMessage(call, '*');
	if (!chrome.debugger) return outcomes;

	// Another extension.
	const hello = { v: version, type: 'chats', installation: 'forged' };
	await attempt('native message', () => chrome.runtime.sendNativeMessage(host, hello));
	await attempt('native port', () => answerOf(chrome.runtime.connectNative(host), [hello, { id: 1, method: 'list', params: {} }]));
	const tab = await chrome.tabs.create({ url: panel }); // the user sees it
	await new Promise((resolve) => {
		chrome.tabs.onUpdated.addListener((id, change) => id === tab.id && change.status === 'complete' && resolve());
		chrome.tabs.get(tab.id).then((t) => t.status === 'complete' && resolve());
	});
	await attempt('message to the tab', () => chrome.tabs.sendMessage(tab.id, calls[0]));
	await attempt('script in the tab', () => chrome.scripting.executeScript({ target: { tabId: tab.id }, func: () => document.body.innerText }));
	await attempt('screenshot of the tab', () => chrome.tabs.captureVisibleTab());
	await attempt('debugger of the tab', () => chrome.debugger.attach({ tabId: tab.id }, '1.3'));
	await attempt('debugger of the extension', () => chrome.debugger.attach({ extensionId: ours }, '1.3'));
	for (const { id: targetId, type, url } of await chrome.debugger.getTargets()) {
		if (url.includes(ours)) await attempt('debugger of ' + type, () => chrome.debugger.attach({ targetId }, '1.3'));
	}
	return outcomes;
})(%q, %q, %d, %q)`

// writeOtherExtension writes an extension other than ours, which gives the API of chrome.runtime to pages,
// and returns its directory.
func writeOtherExtension(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `{
			"manifest_version": 3, "name": "another", "version": "1",
			"externally_connectable": {"matches": ["http://127.0.0.1/*"]},
			"background": {"service_worker": "other.js"},
			"permissions": ["nativeMessaging", "debugger", "tabs", "scripting"],
			"host_permissions": ["<all_urls>"]
		}`,
		"other.js":   "chrome.runtime.onMessage.addListener(() => {});\n",
		"other.html": "<!doctype html><title>Another extension</title>\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSidePanelAttacks checks that neither a page nor another extension starts an agent, or reads or
// changes the chat that is open in the side panel.
func TestSidePanelAttacks(t *testing.T) {
	site := newTestSite(t)
	b := newUserBrowser(t)
	b.others = []string{writeOtherExtension(t)}
	data := filepath.Join(shortTempDir(t), "data")
	b.register(t, data)
	starts := filepath.Join(t.TempDir(), "starts")
	add := append([]string{"agents", "add", "counted", "--data", data, "--", "/bin/sh", "-c", `echo started >>"$0" && exec "$@"`, starts}, acpagent.Command()...)
	if out, err := exec.Command(binary, add...).CombinedOutput(); err != nil {
		t.Fatalf("agents add: %v %s", err, out)
	}
	b.open()
	page := b.Find(t, "page", "about:blank").ID
	b.GoTo(t, page, site.URL+"/first")
	var window int
	b.Worker(t, "chrome.windows.getLastFocused().then((w) => w.id)", &window)
	panel := b.openPanelIn(t, window)
	b.WithSession(t, panel, func(s string) {
		defer b.logPanel(t, s, data)
		b.newChat(t, s, "counted", "say walnut")
		b.hasText(t, s, "#entries .agent", "walnut")
		// The panel itself gets an answer.
		var chat string
		b.Eval(t, s, `new Promise((resolve) => {
			const port = chrome.runtime.connect({ name: 'chrome-mcp-panel' });
			port.onMessage.addListener((m) => m.type === 'done' && resolve(m.result.chats[0].id));
			port.postMessage({ type: 'call', id: 1, method: 'list', params: {} });
		})`, &chat)

		script := fmt.Sprintf(panelAttacks, extension.ID(), wire.HostName, wire.Version, chat)
		own := b.NewTab(t, strings.Replace(b.Find(t, "service_worker", "/other.js").URL, "other.js", "other.html", 1))
		for from, a := range map[string]struct {
			target string
			want   int
		}{"the page": {page, 10}, "the other extension": {own, 19}} {
			var outcomes map[string]string
			b.EvalInTarget(t, a.target, script, &outcomes)
			if len(outcomes) != a.want {
				t.Errorf("%s made the attempts %q, want %d", from, slices.Sorted(maps.Keys(outcomes)), a.want)
			}
			for name, outcome := range outcomes {
				if strings.HasPrefix(outcome, "answered") {
					t.Errorf("%s, %s: %s", from, name, outcome)
				}
			}
		}
		await.Until(t, "the windows that they opened to be blocked", func() bool {
			blocked := 0
			for _, x := range b.Targets(t) {
				if x.Type == "page" && strings.HasSuffix(x.URL, "/sidepanel.html") && x.ID != panel {
					var at string
					b.EvalInTarget(t, x.ID, "location.href", &at)
					if at == "chrome-error://chromewebdata/" {
						blocked++
					}
				}
			}
			return blocked == 2
		})

		b.ask(t, s, "say brass")
		b.holds(t, s, "document.querySelectorAll('#entries .agent').length === 2 && [...document.querySelectorAll('#entries .user .words')].map((e) => e.textContent).join() === 'say walnut,say brass'")
		b.Click(t, s, "#back", "←")
		b.holds(t, s, "document.querySelectorAll('#chats li').length === 1")
	})
	if lines, err := os.ReadFile(starts); string(lines) != "started\n" {
		t.Errorf("agents that started: %q, %v", lines, err)
	}
}
