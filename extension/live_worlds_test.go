package extension_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/deniedscripts"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestWorlds runs scripts in the worlds of a shared tab. They run in worlds that
// the server created in documents of allowed origins. They do not run in content
// scripts of another extension, even one with the same name.
func TestWorlds(t *testing.T) {
	const name = "chrome-mcp"
	dir := t.TempDir()
	for file, text := range map[string]string{
		"manifest.json": `{"manifest_version": 3, "name": "` + name + `", "version": "1",
			"content_scripts": [{"matches": ["<all_urls>"], "js": ["content.js"]}]}`,
		"content.js": "globalThis.secret = 'of the extension'; document.documentElement.dataset.ran = '1';\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	web := newSite(t)
	b := startWith(t, []string{dir})
	page := b.Find(t, "page", "about:blank")
	url := web.at("a.test", "/first")
	b.GoTo(t, page.ID, url)
	b.WithSession(t, page.ID, func(session string) {
		b.holds(t, session, "document.documentElement.dataset.ran === '1'")
		b.Eval(t, session, `new Promise((done) => {
			const f = document.createElement('iframe');
			f.sandbox = 'allow-scripts';
			f.srcdoc = 'in a sandbox';
			f.onload = () => done(1);
			document.body.append(f);
		})`, nil)
	})
	server := newServer(t, "claude", wire.Policy{Allow: []string{fmt.Sprintf("http://a.test:%d", web.port())}, Subresources: "public"})
	b.run(server)
	c := server.next(t)
	b.popup(t, func(click func(selector, text string)) { click("#share", "Share this tab") })
	var tab int
	b.Worker(t, "chrome.tabs.query({}).then((tabs) => tabs.find((t) => t.url.includes('a.test')).id)", &tab)
	await.Until(t, "the tab to be shared", func() bool {
		var list wire.TabsList
		c.call(t, wire.MethodTabsList, wire.Empty{}, &list)
		return len(list.Tabs) == 1
	})
	c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &wire.Tab{})

	type context struct {
		SessionID string `json:"sessionId"`
		Method    string `json:"method"`
		Params    struct {
			SessionID string `json:"sessionId"` // of an attached target
			Context   struct {
				Origin   string `json:"origin"`
				Name     string `json:"name"`
				UniqueID string `json:"uniqueId"`
			} `json:"context"`
		} `json:"params"`
	}
	mark := c.mark()
	await := func(what string, ok func(context) bool) (found context) {
		t.Helper()
		c.await(t, mark, what, func(e event) bool {
			found = context{}
			return e.name == wire.EventCDP && json.Unmarshal(e.data, &found) == nil && ok(found)
		})
		return found
	}
	in := func(session, method string, params map[string]any) map[string]any {
		cmd := command(tab, method, params)
		if session != "" {
			cmd["sessionId"] = session
		}
		return cmd
	}
	enable := func(session string) {
		c.call(t, wire.MethodCDP, in(session, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": deniedscripts.AtStart(deniedscripts.BlockInput), "worldName": name, "runImmediately": true}), nil)
		c.call(t, wire.MethodCDP, in(session, "Runtime.enable", nil), nil)
	}
	enable("")
	c.cdp(t, tab, "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true})
	child := await("the session of the frame", func(e context) bool { return e.Method == "Target.attachedToTarget" }).Params.SessionID
	enable(child)
	world := func(session, origin string) string {
		t.Helper()
		return await("a world of "+origin, func(e context) bool {
			return e.SessionID == session && e.Params.Context.Name == name && strings.HasPrefix(e.Params.Context.Origin, origin)
		}).Params.Context.UniqueID
	}
	for _, w := range []struct {
		what, session, origin string
		passes                bool
	}{
		{"ours in the page", "", "http://a.test", true},
		{"of another extension", "", "chrome-extension://", false},
		{"ours in a sandbox", child, "://", false},
	} {
		evaluate := in(w.session, "Runtime.evaluate", map[string]any{"expression": "document.body.textContent + globalThis.secret", "uniqueContextId": world(w.session, w.origin)})
		if w.passes {
			c.call(t, wire.MethodCDP, evaluate, nil)
		} else if got, problem := c.try(t, wire.MethodCDP, evaluate); problem == nil || problem.Code != "POLICY_DENIED" {
			t.Errorf("a world %s: %s, %+v", w.what, got, problem)
		}
	}
	c.refused(t, "POLICY_DENIED", wire.MethodCDP, in(child, "Accessibility.getFullAXTree", nil))
	c.refused(t, "POLICY_DENIED", wire.MethodCDP, in("", "Page.disable", nil))
}
