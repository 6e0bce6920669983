package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// attachPage connects a client, and attaches it to a page of a fake browser.
func attachPage(t testing.TB, o Options) (*testClient, *fakeConn) {
	t.Helper()
	b := o.Browser.(*fakeBrowser)
	_, address := serve(t, o)
	c := dial(t, address+"/devtools/browser/x", "Test/1")
	c.call("", "Browser.getVersion", nil)
	conn := b.conn()
	conn.attach("", "S", target{ID: "P", Type: "page", URL: "http://127.0.0.1/start", ContextID: "default"})
	c.event("Target.attachedToTarget", nil)
	return c, conn
}

// TestURLs checks the URLs that a client can load, and in which form the browser gets them.
func TestURLs(t *testing.T) {
	c, conn := attachPage(t, Options{Browser: newFake()})
	for raw, want := range map[string]string{
		"about:blank": "about:blank", "http://127.0.0.1": "http://127.0.0.1/", "HTTP://127.0.0.1:80/a/../b?c d'e#f": "http://127.0.0.1/b?c%20d%27e#f",
		"http://127.0.0.1:8080?x": "http://127.0.0.1:8080/?x", " http://127.0.0.1/ü ": "http://127.0.0.1/%C3%BC",
	} {
		for _, method := range []string{"Page.navigate", "Target.createTarget"} {
			c.call("S", method, map[string]any{"url": raw, "referrer": "r"})
			if p := conn.params(method); p["url"] != want || p["referrer"] != "r" {
				t.Errorf("%s %q: the browser got %v", method, raw, p)
			}
		}
	}
	for raw, text := range map[string]string{
		"http://evil.test/": "evil.test", "file:///etc/passwd": "scheme", "chrome://settings": "scheme", "view-source:http://127.0.0.1/": "scheme",
		"javascript:alert(1)": "scheme", "data:text/html,x": "scheme", "blob:http://127.0.0.1/x": "scheme", "FILE:///etc/passwd": "scheme",
		"\x01file:///etc/passwd": "malformed", "fi\nle:///etc/passwd": "malformed", "http://127.0.0.1\\@evil.test/": "malformed",
		"http://127.0.0.1@evil.test/": "user name", "//127.0.0.1/": "scheme", "": "scheme", "http:127.0.0.1": "host", "about:settings": "scheme",
	} {
		for _, method := range []string{"Page.navigate", "Target.createTarget"} {
			c.denied("S", method, map[string]any{"url": raw}, text)
		}
	}
	// The browser gets the value that was checked.
	c.raw(`{"id":900,"method":"Page.navigate","sessionId":"S","params":{"url":"http://evil.test/","URL":"http://127.0.0.1/","url":"http://127.0.0.1/x"}}`)
	if m := c.next(); m.Error != nil || conn.params("Page.navigate")["url"] != "http://127.0.0.1/x" || strings.Contains(string(encode(conn.params("Page.navigate"))), "evil") {
		t.Errorf("%+v %v", m, conn.params("Page.navigate"))
	}
	c.denied("S", "Target.createTarget", map[string]any{"url": "about:blank", "hidden": true}, "window")
}

// TestBrowserContexts checks that clients use their own browser contexts only, and not too many.
func TestBrowserContexts(t *testing.T) {
	b := newFake()
	made := 0
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		switch m.Method {
		case "Target.createBrowserContext":
			made++
			c.reply(m, map[string]any{"browserContextId": fmt.Sprint("C", made)})
		case "Target.getBrowserContexts":
			c.reply(m, map[string]any{"browserContextIds": []string{"C1", "C2", "C3"}, "defaultBrowserContextId": "default"})
		case "Target.getTargets":
			c.reply(m, map[string]any{"targetInfos": []target{{ID: "1", Type: "page", ContextID: "C1"}, {ID: "0", Type: "page", ContextID: "default"}}})
		default:
			return false
		}
		return true
	}
	s, address := serve(t, Options{Browser: b})
	c, other := dial(t, address+"/devtools/browser/x", ""), dial(t, address+"/devtools/browser/x", "")
	for _, p := range []map[string]any{
		{"proxyServer": "http://127.0.0.1:1"}, {"proxyBypassList": "<-loopback>"}, {"originsWithUniversalNetworkAccess": []string{"http://127.0.0.1"}}, {"proxyServer": 1},
	} {
		c.denied("", "Target.createBrowserContext", p, "cannot be set")
	}
	if r := c.call("", "Target.createBrowserContext", map[string]any{"disposeOnDetach": false, "proxyServer": ""}); r["browserContextId"] != "C1" {
		t.Fatal(r)
	}
	s.mu.Lock()
	owner := s.contexts["C1"]
	s.mu.Unlock()
	b.mu.Lock()
	conn := owner.browser.conn.(*fakeConn)
	b.mu.Unlock()
	if p := conn.params("Target.createBrowserContext"); p["disposeOnDetach"] != true || len(p) != 1 {
		t.Errorf("the browser got %v", p)
	}
	if r := c.call("", "Target.getBrowserContexts", nil); fmt.Sprint(r["browserContextIds"]) != "[C1]" || r["defaultBrowserContextId"] != "default" {
		t.Error(r)
	}
	if r := other.call("", "Target.getBrowserContexts", nil); fmt.Sprint(r["browserContextIds"]) != "[]" {
		t.Error(r)
	}
	if r := c.call("", "Target.getTargets", nil); len(r["targetInfos"].([]any)) != 2 {
		t.Error(r)
	}
	if r := other.call("", "Target.getTargets", nil); len(r["targetInfos"].([]any)) != 1 {
		t.Error(r)
	}
	for _, method := range []string{"Target.createTarget", "Browser.setDownloadBehavior", "Browser.grantPermissions", "Browser.resetPermissions", "Storage.getCookies", "Storage.setCookies", "Storage.clearCookies", "Target.disposeBrowserContext"} {
		params := map[string]any{"browserContextId": "C1", "url": "about:blank", "cookies": []any{}}
		other.denied("", method, params, "ailed to find")
	}
	c.denied("", "Target.disposeBrowserContext", map[string]any{"browserContextId": "default"}, "Failed to find")
	c.call("", "Target.createTarget", map[string]any{"browserContextId": "C1", "url": "about:blank"})
	for range maxBrowserContexts - 1 {
		c.call("", "Target.createBrowserContext", nil)
	}
	c.denied("", "Target.createBrowserContext", nil, "'Target.createBrowserContext' failed: the client has 16 browser contexts")
	c.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": "C1"})
	c.call("", "Target.createBrowserContext", nil)
	s.Disconnect("")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.contexts) != 0 {
		t.Errorf("contexts %v", s.contexts)
	}
}

// TestOwnBrowserContext checks that a client clears only the cache of browser contexts that it created.
func TestOwnBrowserContext(t *testing.T) {
	b := newFake()
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		if m.Method == "Target.createBrowserContext" {
			c.reply(m, map[string]any{"browserContextId": "C1"})
			return true
		}
		return false
	}
	c, conn := attachPage(t, Options{Browser: b})
	c.call("", "Target.createBrowserContext", nil)
	conn.attach("", "S2", target{ID: "P2", Type: "page", URL: "about:blank", ContextID: "C1"})
	c.event("Target.attachedToTarget", nil)
	c.denied("S", "Network.clearBrowserCache", nil, "'Network.clearBrowserCache' was denied: it would affect all pages")
	c.denied("", "Network.clearBrowserCache", nil, "all pages")
	if conn.params("Network.clearBrowserCache") != nil {
		t.Error("the browser got the command")
	}
	c.call("S2", "Network.clearBrowserCache", nil)
}

// TestWindowsAndDownloads checks that clients use only the windows of their targets, and cancel only
// the downloads that they see.
func TestWindowsAndDownloads(t *testing.T) {
	b := newFake()
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		if m.Method == "Browser.getWindowForTarget" {
			c.reply(m, map[string]any{"windowId": 7})
			return true
		}
		return false
	}
	c, conn := attachPage(t, Options{Browser: b})
	window := []string{"Browser.getWindowBounds", "Browser.setWindowBounds", "Browser.setContentsSize"}
	for _, method := range window {
		c.denied("S", method, map[string]any{"windowId": 7}, "Browser window not found")
		c.denied("S", method, nil, "Browser window not found")
	}
	c.call("S", "Browser.getWindowForTarget", nil)
	for _, method := range window {
		c.call("S", method, map[string]any{"windowId": 7})
		c.denied("S", method, map[string]any{"windowId": 8}, "Browser window not found")
	}
	c.denied("", "Browser.cancelDownload", map[string]any{"guid": "G"}, "No download item")
	conn.emit("", "Browser.downloadWillBegin", map[string]any{"guid": "G"})
	c.event("Browser.downloadWillBegin", nil)
	c.call("", "Browser.cancelDownload", map[string]any{"guid": "G"})
}

// TestErrors checks the code and the text of the errors of checks.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		text string
	}{
		{denied("Do this.", "it is bad"), codeServer, "'X.y' was denied: it is bad. Do this."},
		{executor.Errorf(executor.ErrBadArgs, "Do this.", "it is malformed"), codeInvalidParams, "Invalid parameters: it is malformed. Do this."},
		{fmt.Errorf("Storage.getCookies: %w", context.DeadlineExceeded), codeServer, "'X.y' failed: Storage.getCookies: context deadline exceeded"},
		{chromiumError(codeInvalidParams, noTarget), codeInvalidParams, noTarget},
		{invalidParams("no origin"), codeInvalidParams, "Invalid parameters: no origin"},
	} {
		if e := cdpError("X.y", tt.err); e.Code != tt.code || e.Message != tt.text {
			t.Errorf("%v: %+v", tt.err, e)
		}
	}
}

// TestHiddenTargets checks that pages of the browser are hidden, are not attached to, and appear when
// they load a site.
func TestHiddenTargets(t *testing.T) {
	b := newFake()
	tab := target{ID: "T", Type: "page", URL: "chrome://newtab/"}
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		if m.Method == "Target.getTargetInfo" {
			c.reply(m, map[string]any{"targetInfo": tab})
			return true
		}
		return false
	}
	c, conn := attachPage(t, Options{Browser: b})
	for i, hidden := range []target{
		tab, {ID: "U", Type: "browser_ui", URL: "chrome://omnibox/"}, {ID: "E", Type: "service_worker", URL: "chrome-extension://e/sw.js"},
		{ID: "D", Type: "page", URL: "devtools://devtools/"}, {ID: "W", Type: "service_worker", URL: "https://evil.test/sw.js"}, {ID: "X", Type: "webview", URL: "http://127.0.0.1/"},
	} {
		conn.emit("", "Target.targetCreated", map[string]any{"targetInfo": hidden})
		conn.attach("", fmt.Sprint("H", i), hidden)
		conn.emit("", "Target.targetInfoChanged", map[string]any{"targetInfo": hidden})
		if hidden.ID != "T" {
			conn.emit("", "Target.targetDestroyed", map[string]any{"targetId": hidden.ID})
		}
	}
	conn.emit("", "Target.targetCreated", map[string]any{"targetInfo": target{ID: "V", Type: "service_worker", URL: "http://127.0.0.1/sw.js"}})
	if m := c.next(); m.Method != "Target.targetCreated" || !strings.Contains(string(m.Params), `"V"`) {
		t.Errorf("%s %s", m.Method, m.Params)
	}
	if m := c.try("H0", "Runtime.evaluate", nil); m.Error == nil || m.Error.Code != codeNoSession {
		t.Errorf("%+v", m)
	}
	for _, method := range []string{"Target.attachToTarget", "Target.closeTarget", "Target.activateTarget", "Target.getTargetInfo", "Browser.getWindowForTarget", "Target.autoAttachRelated"} {
		m := c.try("", method, map[string]any{"targetId": "T", "flatten": true, "autoAttach": true})
		if m.Error == nil || *m.Error != (executor.CDPError{Code: codeInvalidParams, Message: noTarget}) {
			t.Errorf("%s: %+v", method, m.Error)
		}
	}
	if p := conn.params("Target.detachFromTarget"); p == nil {
		t.Error("hidden targets stay attached")
	}
	tab.URL = "http://127.0.0.1/"
	conn.emit("", "Target.targetInfoChanged", map[string]any{"targetInfo": tab})
	if m := c.next(); m.Method != "Target.targetCreated" {
		t.Errorf("%s %s", m.Method, m.Params)
	}
	conn.emit("watch", "Target.targetInfoChanged", map[string]any{"targetInfo": tab})
	c.call("", "Target.attachToTarget", map[string]any{"targetId": "T", "flatten": true})
	for conn.params("Target.attachToTarget") == nil {
		c.call("", "Browser.getVersion", nil)
	}
	// A page that leaves for one of the browser is detached, and attached again when it returns.
	c.call("", "Target.setAutoAttach", map[string]any{"autoAttach": true, "flatten": true})
	conn.emit("watch", "Target.targetInfoChanged", map[string]any{"targetInfo": target{ID: "P", Type: "page", URL: "chrome://settings/"}})
	for conn.params("Target.detachFromTarget")["sessionId"] != "S" {
		c.call("", "Browser.getVersion", nil)
	}
	conn.emit("", "Target.detachedFromTarget", map[string]any{"sessionId": "S"})
	conn.emit("watch", "Target.targetInfoChanged", map[string]any{"targetInfo": target{ID: "P", Type: "page", URL: "http://127.0.0.1/"}})
	await.Until(t, "the page is attached again", func() bool { return conn.params("Target.attachToTarget")["targetId"] == "P" })
	for _, method := range []string{"Target.attachToTarget", "Target.setAutoAttach"} {
		c.denied("", method, map[string]any{"targetId": "T", "autoAttach": true}, "flat")
		c.denied("", method, map[string]any{"targetId": "T", "autoAttach": true, "flatten": false}, "flat")
	}
	c.raw(`{"id":900,"method":"Target.setAutoAttach","params":{"autoAttach":true,"flatten":false,"flatten":true}}`)
	if m := c.next(); m.Error == nil {
		t.Error("a parameter that occurs twice is accepted")
	}
	c.call("", "Target.setAutoAttach", map[string]any{"autoAttach": false})
}

// TestIsolatedWorld checks that clients neither see nor name the isolated world of our scripts.
func TestIsolatedWorld(t *testing.T) {
	b := newFake()
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		if m.Method == "Page.createIsolatedWorld" {
			c.reply(m, map[string]any{"executionContextId": 9})
			return true
		}
		return false
	}
	c, conn := attachPage(t, Options{Browser: b})
	world := func(id int, name string, isDefault bool) {
		conn.emit("S", "Runtime.executionContextCreated", map[string]any{"context": map[string]any{
			"id": id, "uniqueId": fmt.Sprint("u", id), "name": name, "auxData": map[string]any{"isDefault": isDefault},
		}})
	}
	world(1, frames.WorldName, false)
	world(2, "", true)
	if p := c.event("Runtime.executionContextCreated", nil); fmt.Sprint(p["context"].(map[string]any)["id"]) != "2" {
		t.Error(p)
	}
	for _, method := range []string{"Runtime.evaluate", "Runtime.callFunctionOn", "Runtime.compileScript", "Runtime.runScript", "Runtime.globalLexicalScopeNames", "DOM.resolveNode", "Runtime.addBinding"} {
		for _, name := range []string{"contextId", "executionContextId"} {
			c.denied("S", method, map[string]any{name: 1}, "Cannot find context")
			c.denied("S", method, map[string]any{name: 3}, "Cannot find context")
			c.call("S", method, map[string]any{name: 2})
		}
		c.denied("S", method, map[string]any{"uniqueContextId": "u1"}, "Cannot find context")
		c.call("S", method, map[string]any{"uniqueContextId": "u2"})
		for _, params := range []string{`{"contextI\u0064":1}`, `{"contextId":2,"contextId":1}`, `{"contextId":1e0}`, `{"contextId":1.0}`} {
			c.raw(`{"id":900,"method":"` + method + `","sessionId":"S","params":` + params + `}`)
			if m := c.next(); m.Error == nil {
				t.Errorf("%s %s is accepted", method, params)
			}
		}
	}
	c.denied("S", "Runtime.addBinding", map[string]any{"name": page.BindingName}, "binding of this name")
	c.denied("S", "Runtime.addBinding", map[string]any{"name": "x", "executionContextName": frames.WorldName}, "world of this name")
	for _, method := range []string{"Page.createIsolatedWorld", "Page.addScriptToEvaluateOnNewDocument"} {
		c.denied("S", method, map[string]any{"worldName": frames.WorldName}, "world of this name")
		c.call("S", method, map[string]any{"worldName": "utility"})
	}
	c.call("S", "Runtime.evaluate", map[string]any{"contextId": 9}) // of Page.createIsolatedWorld
	destroyed := func(id int) {
		conn.emit("S", "Runtime.executionContextDestroyed", map[string]any{"executionContextId": id, "executionContextUniqueId": fmt.Sprint("u", id)})
	}
	destroyed(1)
	destroyed(2)
	if p := c.event("Runtime.executionContextDestroyed", nil); fmt.Sprint(p["executionContextId"]) != "2" {
		t.Error(p)
	}
	c.denied("S", "Runtime.evaluate", map[string]any{"contextId": 2}, "Cannot find context")
	conn.emit("S", "Runtime.executionContextsCleared", nil)
	c.event("Runtime.executionContextsCleared", nil)
	c.denied("S", "Runtime.evaluate", map[string]any{"contextId": 9}, "Cannot find context")
}

// TestFiles checks that clients give only files of the upload directory to pages.
func TestFiles(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "uploads")
	write := func(path string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "a.txt"))
	write(filepath.Join(outer, "secret.txt"))
	if err := errors.Join(os.Symlink("../secret.txt", filepath.Join(dir, "link")), os.Symlink("a.txt", filepath.Join(dir, "inner")), os.Link(filepath.Join(outer, "secret.txt"), filepath.Join(dir, "hard"))); err != nil {
		t.Fatal(err)
	}
	files := func(method string, list ...string) map[string]any {
		if method == "Input.dispatchDragEvent" {
			return map[string]any{"type": "drop", "data": map[string]any{"files": list}}
		}
		return map[string]any{"files": list}
	}
	c, conn := attachPage(t, Options{Browser: newFake(), UploadsDir: dir})
	none, _ := attachPage(t, Options{Browser: newFake()})
	for _, method := range []string{"DOM.setFileInputFiles", "Input.dispatchDragEvent"} {
		for _, path := range []string{"a.txt", "inner", filepath.Join(dir, "a.txt"), filepath.Join(dir, "inner")} {
			c.call("S", method, files(method, path))
			if p := fmt.Sprint(conn.params(method)); !strings.Contains(p, "["+filepath.Join(dir, "a.txt")+"]") {
				t.Errorf("%s %s: the browser got %s", method, path, p)
			}
		}
		for path, text := range map[string]string{
			"../secret.txt": "outside", filepath.Join(outer, "secret.txt"): "outside", "/etc/passwd": "outside", "link": "outside", "hard": "hard links",
			".": "not a regular file", "missing": "not found", "": "not a file", filepath.Join(dir, "..", "secret.txt"): "outside",
		} {
			c.denied("S", method, files(method, "a.txt", path), text)
		}
		none.denied("S", method, files(method, "a.txt"), "no upload directory")
		none.denied("S", method, files(method, "/etc/passwd"), "no upload directory")
	}
	c.call("S", "Input.dispatchDragEvent", map[string]any{"type": "drop", "data": map[string]any{"items": []any{}}})
}

// TestDownloadBehavior checks that downloads are saved by id.
func TestDownloadBehavior(t *testing.T) {
	c, conn := attachPage(t, Options{Browser: newFake()})
	for behavior, want := range map[string]string{"allow": "allowAndName", "allowAndName": "allowAndName", "default": "allowAndName", "deny": "deny"} {
		c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": behavior, "eventsEnabled": true})
		if p := conn.params("Browser.setDownloadBehavior"); p["behavior"] != want || p["eventsEnabled"] != true {
			t.Errorf("%s: the browser got %v", behavior, p)
		}
	}
}

// TestSetCookies checks that all cookies that a client sets or deletes are checked, whatever other
// members the command has.
func TestSetCookies(t *testing.T) {
	c, conn := attachPage(t, Options{Browser: newFake()})
	allowed := map[string]any{"name": "n", "value": "v", "domain": "127.0.0.1", "secure": true}
	with := func(name string, value any) map[string]any {
		p := maps.Clone(allowed)
		p[name] = value
		return p
	}
	decoys := []any{nil, []any{}, []any{allowed}, "x"}
	for _, method := range []string{"Network.setCookie", "Network.deleteCookies"} {
		c.call("S", method, allowed)
		for _, decoy := range decoys {
			denied := with("domain", "bank.test")
			denied["cookies"] = decoy
			c.denied("S", method, denied, "the domain of the cookie")
		}
		c.denied("S", method, with("url", "http://bank.test/"), "denied")
		c.denied("S", method, with("url", 1), "url is not a string")
		c.denied("S", method, with("domain", []any{"bank.test"}), "domain is not a string")
		if p := conn.params(method); fmt.Sprint(p) != fmt.Sprint(allowed) {
			t.Errorf("%s: the browser got %v", method, p)
		}
	}
	for _, method := range []string{"Network.setCookies", "Storage.setCookies"} {
		c.call("S", method, map[string]any{"cookies": []any{allowed}})
		c.denied("S", method, map[string]any{"cookies": []any{allowed, with("domain", "bank.test")}}, "the domain of the cookie")
		c.denied("S", method, allowed, "cookies is not a list")
		c.denied("S", method, map[string]any{"cookies": map[string]any{}}, "cookies is not a list")
		c.denied("S", method, map[string]any{"cookies": []any{"x"}}, "not an object")
	}
}

// TestForeignMembers checks that a member that a command does not have replaces no check of it.
func TestForeignMembers(t *testing.T) {
	b := newFake()
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		if m.Method == "Target.getTargetInfo" {
			c.reply(m, map[string]any{"targetInfo": target{ID: "H", Type: "page", URL: "chrome://settings/"}})
			return true
		}
		return false
	}
	c, _ := attachPage(t, Options{Browser: b})
	c.denied("", "Target.autoAttachRelated", map[string]any{"targetId": "H", "waitForDebuggerOnStart": false, "autoAttach": false}, noTarget)
	c.denied("S", "DOMStorage.getDOMStorageItems", map[string]any{"storageId": map[string]any{"isLocalStorage": true}, "origin": "http://127.0.0.1"}, "no origin or storage key")
	for method, p := range map[string]map[string]any{
		"Emulation.setCPUThrottlingRate":   {"rate": 4, "scale": 1},
		"Emulation.setPageScaleFactor":     {"pageScaleFactor": 3, "rate": 1},
		"Emulation.setEmulatedOSTextScale": {"scale": 2, "rate": 1},
	} {
		if isReset(method, object(encode(p))) {
			t.Errorf("%s %v counts as a reset", method, p)
		}
	}
}

// TestEmulation checks that the emulation of a page belongs to the client that set it first.
func TestEmulation(t *testing.T) {
	b := newFake()
	s, address := serve(t, Options{Browser: b})
	connect := func(name string) (*testClient, *fakeConn) {
		c := dial(t, address+"/devtools/browser/x", name)
		c.call("", "Browser.getVersion", nil)
		conn := b.conn()
		conn.attach("", "S", target{ID: "P", Type: "page"})
		conn.attach("", "S2", target{ID: "P2", Type: "page"})
		c.event("Target.attachedToTarget", nil)
		c.event("Target.attachedToTarget", nil)
		return c, conn
	}
	first, _ := connect("First/1")
	second, conn := connect("Second/1")
	size := map[string]any{"width": 800, "height": 600, "deviceScaleFactor": 0, "mobile": false}
	reset := map[string]any{"width": 0, "height": 0, "deviceScaleFactor": 0, "mobile": false}
	playwright := map[string]any{"media": "", "features": []any{
		map[string]any{"name": "prefers-color-scheme", "value": "light"}, map[string]any{"name": "prefers-reduced-motion", "value": "no-preference"},
		map[string]any{"name": "forced-colors", "value": "none"},
	}}
	second.call("S", "Emulation.setDeviceMetricsOverride", reset) // does not make it the owner
	second.call("S", "Emulation.setEmulatedMedia", playwright)
	first.call("S", "Emulation.setDeviceMetricsOverride", size)
	sent := len(b.sent())
	second.call("S", "Emulation.setDeviceMetricsOverride", size) // the same
	second.call("S", "Emulation.setDeviceMetricsOverride", reset)
	second.call("S", "Emulation.clearDeviceMetricsOverride", nil)
	second.call("S", "Emulation.setEmulatedMedia", map[string]any{"media": "", "features": []any{map[string]any{"name": "prefers-color-scheme", "value": ""}}})
	second.call("S", "Emulation.setEmulatedMedia", playwright)
	second.call("S", "Emulation.setCPUThrottlingRate", map[string]any{"rate": 1})
	if n := len(b.sent()); n != sent {
		t.Errorf("the browser got %q", b.sent()[sent:])
	}
	for method, p := range map[string]map[string]any{
		"Emulation.setDeviceMetricsOverride": {"width": 801, "height": 600}, "Emulation.setTimezoneOverride": {"timezoneId": "Europe/Oslo"},
		"Emulation.setEmulatedMedia":       {"features": []any{map[string]any{"name": "prefers-color-scheme", "value": "dark"}}},
		"Emulation.setGeolocationOverride": {"latitude": 0, "longitude": 0}, "Network.emulateNetworkConditions": {"offline": true},
		"Network.setUserAgentOverride": {"userAgent": "x"}, "Emulation.setCPUThrottlingRate": {"rate": 4}, "Page.setTouchEmulationEnabled": {"enabled": true},
	} {
		second.denied("S", method, p, "First/1")
		first.call("S", method, p)
	}
	second.call("S", "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true})
	second.call("S2", "Emulation.setDeviceMetricsOverride", size) // of another page
	if conn.params("Emulation.setDeviceMetricsOverride") == nil {
		t.Error("the browser did not get the command")
	}
	s.Disconnect(s.Clients()[0].ID)
	second.call("S", "Emulation.setTimezoneOverride", map[string]any{"timezoneId": "Asia/Tokyo"})
}

// TestEmulationOwner checks that a client whose command failed does not own the emulation of a page, and
// that the emulation of a page ends with it.
func TestEmulationOwner(t *testing.T) {
	b := newFake()
	var fails atomic.Bool
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		if m.Method != "Emulation.setCPUThrottlingRate" || !fails.Load() {
			return false
		}
		c.queue <- executor.CDPMessage{ID: m.ID, SessionID: m.SessionID, Error: &executor.CDPError{Code: codeServer, Message: "no"}}
		return true
	}
	s, address := serve(t, Options{Browser: b})
	connect := func(name string) (*testClient, *fakeConn) {
		c := dial(t, address+"/devtools/browser/x", name)
		c.call("", "Browser.getVersion", nil)
		conn := b.conn()
		conn.attach("", "S", target{ID: "P", Type: "page"})
		c.event("Target.attachedToTarget", nil)
		return c, conn
	}
	first, _ := connect("First/1")
	second, conn := connect("Second/1")
	rate := func(rate int) map[string]any { return map[string]any{"rate": rate} }
	fails.Store(true)
	first.denied("S", "Emulation.setCPUThrottlingRate", rate(4), "no")
	fails.Store(false)
	second.call("S", "Emulation.setCPUThrottlingRate", rate(3))
	fails.Store(true)
	second.denied("S", "Emulation.setCPUThrottlingRate", rate(5), "no")
	first.denied("S", "Emulation.setCPUThrottlingRate", rate(5), "belongs to the client Second/1") // it failed
	first.call("S", "Emulation.setCPUThrottlingRate", rate(3))                                     // the same
	conn.emit("watch", "Target.targetDestroyed", map[string]any{"targetId": "P"})
	second.call("", "Browser.getVersion", nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.emulated) > 0 {
		t.Errorf("the emulation of %d targets remains", len(s.emulated))
	}
}

// TestRequestWithoutResponse reads the response to a request before its event, which may be about
// another site.
func TestRequestWithoutResponse(t *testing.T) {
	b := newFake()
	c, conn := attachPage(t, Options{Browser: b})
	request := map[string]any{"requestId": "1"}
	conn.emit("S", "Network.requestWillBeSent", map[string]any{"requestId": "1", "request": map[string]any{"url": "http://127.0.0.1/"}})
	c.event("Network.requestWillBeSent", nil)
	reads := []string{"Network.getResponseBody", "Network.streamResourceContent", "Network.searchInResponseBody", "Audits.getEncodedResponse"}
	for _, method := range reads {
		c.denied("S", method, request, "No resource with given identifier found")
	}
	c.call("S", "Network.getRequestPostData", request)
	conn.emit("S", "Network.responseReceived", map[string]any{"requestId": "1", "response": map[string]any{"url": "http://denied.test/"}})
	c.event("Network.responseReceived", nil)
	for _, method := range reads {
		c.denied("S", method, request, "does not allow")
	}
	if sent := b.sent(); sent[len(sent)-1] != "Network.getRequestPostData" || slices.ContainsFunc(reads, func(method string) bool { return slices.Contains(sent, method) }) {
		t.Errorf("the browser got %q", sent)
	}
}

// TestServiceWorkerResponse reads responses of a service worker, which can be opaque unless they are
// those of documents and of XMLHttpRequest.
func TestServiceWorkerResponse(t *testing.T) {
	b := newFake()
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		if m.Method != "Network.getResponseBody" {
			return false
		}
		c.reply(m, map[string]any{"body": "text"})
		return true
	}
	c, conn := attachPage(t, Options{Browser: b})
	for kind, readable := range map[string]bool{"Document": true, "XHR": true, "Fetch": false, "Script": false, "Image": false, "Other": false} {
		conn.emit("S", "Network.requestWillBeSent", map[string]any{"requestId": kind, "request": map[string]any{"url": "http://127.0.0.1/"}})
		conn.emit("S", "Network.responseReceived", map[string]any{
			"requestId": kind, "type": kind, "response": map[string]any{"url": "http://127.0.0.1/", "fromServiceWorker": true},
		})
		c.event("Network.responseReceived", nil)
		if !readable {
			c.denied("S", "Network.getResponseBody", map[string]any{"requestId": kind}, "a service worker answered")
		} else if body := c.call("S", "Network.getResponseBody", map[string]any{"requestId": kind})["body"]; body != "text" {
			t.Errorf("%s: read %q", kind, body)
		}
	}
}
