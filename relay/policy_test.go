package relay

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/audit"
)

// A site serves test pages on the allowed host 127.0.0.1 and the denied host localhost, and counts
// the requests.
type site struct {
	allowed, denied string // URLs without a final slash

	mu   sync.Mutex // guards hits
	hits map[string]int
}

func newSite(t *testing.T) *site {
	s := &site{hits: map[string]int{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.allowed, s.denied = h.URL, strings.Replace(h.URL, "127.0.0.1", "localhost", 1)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.hits["http://"+r.Host+r.URL.Path]++
	s.mu.Unlock()
	if r.URL.Path == "/script.js" || r.URL.Path == "/image" { // not at the request for the icon
		w.Header().Set("Set-Cookie", "visited=yes")
	}
	w.Header().Set("Content-Type", "text/html")
	switch r.URL.Path {
	case "/script.js":
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, "globalThis.loaded = 'secret'")
	case "/image":
		w.Header().Set("Content-Type", "image/svg+xml")
		fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg"/>`)
	case "/embed":
		fmt.Fprintf(w, `<title>embed</title><script src="%s/script.js"></script><script src="/script.js"></script>`, s.denied)
	case "/frame":
		fmt.Fprintf(w, `<title>frame</title><iframe src="%s/inner"></iframe>`, s.denied)
	default:
		fmt.Fprintf(w, "<title>%s</title><input type=file>", r.URL.Path)
	}
}

func (s *site) count(url string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[url]
}

// open opens a page in a context, attaches to it, and returns its session.
func (c *testClient) open(url, context string) string {
	c.t.Helper()
	params := map[string]any{"url": "about:blank"}
	if context != "" {
		params["browserContextId"] = context
	}
	target := c.call("", "Target.createTarget", params)["targetId"]
	session := c.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	c.call(session, "Page.enable", nil)
	c.call(session, "Runtime.enable", nil)
	c.call(session, "Network.enable", nil)
	c.navigate(session, url)
	return session
}

func (c *testClient) navigate(session, url string) {
	c.t.Helper()
	c.call(session, "Page.navigate", map[string]any{"url": url})
	c.event("Page.loadEventFired", nil)
}

// eval returns the value of an expression.
func (c *testClient) eval(session, expression string) any {
	c.t.Helper()
	res := c.call(session, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true})
	return res["result"].(map[string]any)["value"]
}

// cookieNames returns the domains and names of cookies.
func cookieNames(res map[string]any) string {
	var names []string
	for _, v := range res["cookies"].([]any) {
		x := v.(map[string]any)
		names = append(names, fmt.Sprint(x["domain"], "/", x["name"]))
	}
	return strings.Join(names, " ")
}

// TestChromiumPolicy checks the effect of each check in a Chromium that itself denies nothing. The
// client direct uses it without the relay.
func TestChromiumPolicy(t *testing.T) {
	b := startPlain(t)
	web := newSite(t)
	uploads := t.TempDir()
	if err := os.WriteFile(filepath.Join(uploads, "a.txt"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &entries{}
	s, address := serve(t, Options{Browser: b, UploadsDir: uploads, Audit: log})
	connect := func(t *testing.T) *testClient { return dial(t, address+"/devtools/browser/x", "Test/1") }
	direct := dial(t, b.address, "")
	setCookies := func(t *testing.T) {
		t.Helper()
		direct.t = t
		direct.call("", "Storage.clearCookies", nil)
		for _, url := range []string{web.allowed, web.denied, "https://denied.example/"} {
			direct.call("", "Storage.setCookies", map[string]any{"cookies": []any{map[string]any{"name": "n", "value": "secret", "url": url}}})
		}
	}

	t.Run("navigation", func(t *testing.T) {
		c := connect(t)
		session := c.open(web.allowed+"/a", "")
		for _, url := range []string{web.denied + "/x", "file:///etc/passwd", "chrome://version/", "data:text/html,x", "javascript:document.title='x'"} {
			c.denied(session, "Page.navigate", map[string]any{"url": url}, "was denied")
			c.denied("", "Target.createTarget", map[string]any{"url": url}, "was denied")
		}
		if c.eval(session, "document.title") != "/a" || web.count(web.denied+"/x") != 0 {
			t.Error("the page has navigated")
		}
		if got := log.of("cdp Page.navigate"); len(got) < 2 || got[0].Origin != "about:" || got[0].Decision != audit.Allowed || got[1].Decision != audit.Denied || got[1].Origin != web.allowed || got[0].Client != "Test/1" {
			t.Errorf("audit log %+v", got)
		}
	})

	t.Run("cookies", func(t *testing.T) {
		c := connect(t)
		session := c.open(web.allowed+"/a", "")
		setCookies(t)
		for _, method := range []string{"Network.getCookies", "Network.getAllCookies", "Storage.getCookies"} {
			if got := cookieNames(c.call(session, method, map[string]any{"urls": []string{web.denied, web.allowed}})); got != "127.0.0.1/n" {
				t.Errorf("%s: %s", method, got)
			}
		}
		if got := cookieNames(c.call("", "Storage.getCookies", nil)); got != "127.0.0.1/n" {
			t.Errorf("Storage.getCookies: %s", got)
		}
		for _, x := range []map[string]any{
			{"name": "n", "value": "stolen", "url": web.denied}, {"name": "n", "value": "stolen", "domain": "localhost"}, {"name": "n", "value": "stolen", "url": web.allowed, "domain": "denied.example"},
			{"name": "n", "value": "stolen", "url": web.denied, "domain": "127.0.0.1"}, {"name": "n", "value": "stolen", "domain": ".example"}, {"name": "n", "value": "stolen", "url": "about:blank"},
		} {
			c.denied(session, "Network.setCookie", x, "")
			c.denied(session, "Network.deleteCookies", x, "")
			decoy := maps.Clone(x)
			decoy["cookies"] = []any{}
			c.denied(session, "Network.setCookie", decoy, "")
			c.denied(session, "Network.deleteCookies", decoy, "")
			c.denied(session, "Network.setCookies", map[string]any{"cookies": []any{x}}, "")
			c.denied("", "Storage.setCookies", map[string]any{"cookies": []any{x}}, "")
		}
		c.call(session, "Network.setCookie", map[string]any{"name": "m", "value": "v", "domain": "127.0.0.1"})
		c.call(session, "Network.setCookie", map[string]any{"name": "o", "value": "v", "url": web.allowed})
		c.call(session, "Network.deleteCookies", map[string]any{"name": "o", "url": web.allowed})
		if got := cookieNames(direct.call("", "Storage.getCookies", nil)); got != "127.0.0.1/n localhost/n denied.example/n 127.0.0.1/m" && !strings.Contains(got, "127.0.0.1/m") || strings.Contains(got, "/o") || strings.Count(got, "/") != 4 {
			t.Errorf("cookies %s", got)
		}
		for _, x := range direct.call("", "Storage.getCookies", nil)["cookies"].([]any) {
			if x.(map[string]any)["value"] == "stolen" {
				t.Errorf("cookie %v", x)
			}
		}
		for _, clear := range []struct{ session, method string }{{session, "Network.clearBrowserCookies"}, {"", "Storage.clearCookies"}, {session, "Storage.clearCookies"}} {
			setCookies(t)
			c.call(clear.session, clear.method, nil)
			if got := cookieNames(direct.call("", "Storage.getCookies", nil)); strings.Contains(got, "127.0.0.1") || !strings.Contains(got, "localhost/n") || !strings.Contains(got, "denied.example/n") {
				t.Errorf("%s: left %s", clear.method, got)
			}
		}
		// In a context of the client, all cookies are its own.
		context := c.call("", "Target.createBrowserContext", nil)["browserContextId"].(string)
		direct.call("", "Storage.setCookies", map[string]any{"browserContextId": context, "cookies": []any{map[string]any{"name": "n", "value": "v", "url": web.denied}}})
		c.call("", "Storage.clearCookies", map[string]any{"browserContextId": context})
		if got := cookieNames(direct.call("", "Storage.getCookies", map[string]any{"browserContextId": context})); got != "" {
			t.Errorf("left %s", got)
		}
	})

	t.Run("responses", func(t *testing.T) {
		setCookies(t)
		c := connect(t)
		session := c.open(web.allowed+"/a", "")
		c.navigate(session, web.allowed+"/embed")
		ids := map[string]string{}
		for _, url := range []string{web.allowed + "/script.js", web.denied + "/script.js"} {
			ids[url], _ = c.event("Network.requestWillBeSent", func(p map[string]any) bool { return p["request"].(map[string]any)["url"] == url })["requestId"].(string)
		}
		c.denied(session, "Network.getResponseBody", map[string]any{"requestId": ids[web.denied+"/script.js"]}, "policy does not allow")
		c.denied(session, "Network.searchInResponseBody", map[string]any{"requestId": ids[web.denied+"/script.js"], "query": "s"}, "policy does not allow")
		c.denied(session, "Network.streamResourceContent", map[string]any{"requestId": ids[web.denied+"/script.js"]}, "policy does not allow")
		c.denied(session, "Audits.getEncodedResponse", map[string]any{"requestId": ids[web.denied+"/script.js"], "encoding": "png"}, "policy does not allow")
		c.denied(session, "Network.getResponseBody", map[string]any{"requestId": "1.1"}, "No resource")
		if body := c.call(session, "Network.getResponseBody", map[string]any{"requestId": ids[web.allowed+"/script.js"]})["body"]; body != "globalThis.loaded = 'secret'" {
			t.Errorf("body %v", body)
		}
		frame := c.call(session, "Page.getFrameTree", nil)["frameTree"].(map[string]any)["frame"].(map[string]any)["id"]
		for _, method := range []string{"Page.getResourceContent", "Page.searchInResource"} {
			params := map[string]any{"frameId": frame, "url": web.denied + "/script.js", "query": "secret"}
			c.denied(session, method, params, "does not allow")
			params["url"] = web.allowed + "/script.js"
			c.call(session, method, params)
		}
		// The headers of both requests arrive, but only those of the allowed host have cookies.
		for url, id := range ids {
			match := func(p map[string]any) bool { return p["requestId"] == id }
			request, response := encode(c.event("Network.requestWillBeSentExtraInfo", match)), encode(c.event("Network.responseReceivedExtraInfo", match))
			cookies := strings.Contains(string(request), "n=secret") && strings.Contains(string(response), "visited=yes")
			none := !strings.Contains(string(request)+string(response), "secret") && !strings.Contains(string(request)+string(response), "visited")
			if allowed := strings.HasPrefix(url, web.allowed); allowed && !cookies || !allowed && !none {
				t.Errorf("%s:\n%s\n%s", url, request, response)
			}
		}
	})

	t.Run("service workers", func(t *testing.T) {
		direct.t = t
		other := direct.open(web.denied+"/a", "")
		direct.eval(other, "navigator.serviceWorker.register('/script.js').then(() => 0)")
		c := connect(t)
		session := c.open(web.allowed+"/a", "")
		c.call(session, "ServiceWorker.enable", nil)
		c.eval(session, "navigator.serviceWorker.register('/script.js').then(() => navigator.serviceWorker.ready).then(() => 0)")
		c.event("ServiceWorker.workerVersionUpdated", func(p map[string]any) bool { return len(p["versions"].([]any)) > 0 })
		direct.eval(other, "navigator.serviceWorker.getRegistration().then(r => r.unregister())")
		c.eval(session, "navigator.serviceWorker.getRegistration().then(r => r.unregister())")
		c.event("ServiceWorker.workerRegistrationUpdated", func(p map[string]any) bool { return strings.Contains(string(encode(p)), `"isDeleted":true`) })
		for _, m := range c.events {
			if strings.HasPrefix(m.Method, "ServiceWorker.") && strings.Contains(string(m.Params), "localhost") {
				t.Errorf("%s %s", m.Method, m.Params)
			}
		}
	})

	t.Run("interception", func(t *testing.T) {
		setCookies(t)
		c := connect(t)
		session := c.open(web.allowed+"/a", "")
		c.denied("", "Fetch.enable", nil, "all pages")
		for _, method := range []string{"Fetch.continueRequest", "Fetch.fulfillRequest", "Fetch.failRequest", "Fetch.getResponseBody", "Fetch.takeResponseBodyAsStream", "Fetch.continueResponse", "Fetch.continueWithAuth"} {
			c.denied(session, method, map[string]any{"requestId": "interception-job-1.0", "responseCode": 200, "errorReason": "Failed"}, "Invalid InterceptionId")
		}
		var patterns []any
		for _, kind := range []string{"Document", "Fetch", "Image"} { // not the icon
			for _, stage := range []string{"Request", "Response"} {
				patterns = append(patterns, map[string]any{"resourceType": kind, "requestStage": stage})
			}
		}
		c.call(session, "Fetch.enable", map[string]any{"patterns": patterns})
		// The document of a denied frame fails, and the client cannot fulfill it.
		c.send(session, "Page.navigate", map[string]any{"url": web.allowed + "/frame"})
		for stage := range 2 {
			p := c.event("Fetch.requestPaused", nil)
			if url := p["request"].(map[string]any)["url"]; url != web.allowed+"/frame" {
				t.Fatalf("stage %d: %v is paused", stage, url)
			}
			c.call(session, "Fetch.continueRequest", map[string]any{"requestId": p["requestId"]})
		}
		c.event("Page.loadEventFired", nil)
		if n := web.count(web.denied + "/inner"); n != 0 {
			t.Errorf("%d requests for the denied document", n)
		}
		// A request continues with an allowed URL and host only. Otherwise it fails.
		for _, tt := range []struct {
			params map[string]any
			reason string
		}{
			{map[string]any{"url": web.denied + "/y"}, "localhost"},
			{map[string]any{"url": "file:///etc/passwd"}, "scheme"},
			{map[string]any{"headers": []any{map[string]any{"name": "host", "value": "localhost"}}}, "localhost"},
		} {
			c.call(session, "Runtime.evaluate", map[string]any{"expression": "globalThis.result = fetch('/x').then(() => 'loaded', () => 'failed'); 0"})
			tt.params["requestId"] = c.event("Fetch.requestPaused", nil)["requestId"]
			c.denied(session, "Fetch.continueRequest", tt.params, tt.reason)
			got := c.call(session, "Runtime.evaluate", map[string]any{"expression": "result", "awaitPromise": true, "returnByValue": true})["result"]
			if value := got.(map[string]any)["value"]; value != "failed" {
				t.Errorf("a request whose continuation is denied: %v", value)
			}
		}
		c.send(session, "Runtime.evaluate", map[string]any{"expression": "fetch('/x')"})
		paused := c.event("Fetch.requestPaused", nil)["requestId"]
		c.denied(session, "Network.setExtraHTTPHeaders", map[string]any{"headers": map[string]any{"HOST": "localhost"}}, "localhost")
		c.call(session, "Fetch.continueRequest", map[string]any{"requestId": paused, "url": web.allowed + "/z"})
		paused = c.event("Fetch.requestPaused", nil)["requestId"]
		if body := c.call(session, "Fetch.getResponseBody", map[string]any{"requestId": paused})["body"]; body == "" {
			t.Error("no body")
		}
		c.call(session, "Fetch.continueRequest", map[string]any{"requestId": paused})
		if web.count(web.denied+"/y") != 0 || web.count(web.allowed+"/z") != 1 {
			t.Errorf("requests %v", web.hits)
		}
		// A subresource of a denied host can be fulfilled, without cookies. Its response cannot be read.
		c.send(session, "Runtime.evaluate", map[string]any{"expression": fmt.Sprintf("document.body.append(Object.assign(new Image, {src: %q}))", web.denied+"/image")})
		p := c.event("Fetch.requestPaused", nil)
		if text := string(encode(p)); strings.Contains(text, "secret") {
			t.Errorf("cookies in %s", text)
		}
		paused = p["requestId"]
		c.denied(session, "Fetch.fulfillRequest", map[string]any{"requestId": paused, "responseCode": 200, "responseHeaders": []any{map[string]any{"name": "set-cookie", "value": "n=stolen"}}}, "Set-Cookie")
		c.denied(session, "Fetch.fulfillRequest", map[string]any{"requestId": paused, "responseCode": 200, "binaryResponseHeaders": "eA=="}, "binary")
		c.call(session, "Fetch.continueRequest", map[string]any{"requestId": paused})
		p = c.event("Fetch.requestPaused", nil)
		if text := string(encode(p)); strings.Contains(text, "visited") || p["responseStatusCode"] == nil {
			t.Errorf("cookies in %s", text)
		}
		for _, method := range []string{"Fetch.getResponseBody", "Fetch.takeResponseBodyAsStream"} {
			c.denied(session, method, map[string]any{"requestId": p["requestId"]}, "does not allow")
		}
		c.call(session, "Fetch.failRequest", map[string]any{"requestId": p["requestId"], "errorReason": "Failed"})
		for _, x := range direct.call("", "Storage.getCookies", nil)["cookies"].([]any) {
			if x.(map[string]any)["value"] == "stolen" {
				t.Errorf("cookie %v", x)
			}
		}
	})

	t.Run("storage", func(t *testing.T) {
		c := connect(t)
		session := c.open(web.allowed+"/a", "")
		direct.t = t
		other := direct.open(web.denied+"/b", "")
		for _, x := range []struct {
			c       *testClient
			session string
		}{{c, session}, {direct, other}} {
			x.c.eval(x.session, "localStorage.k = 'secret'; caches.open('n').then(c => c.put('/x', new Response('secret')))")
		}
		key := func(url string) map[string]any { return map[string]any{"storageKey": url + "/"} }
		for method, params := range map[string]func(string) map[string]any{
			"Storage.clearDataForOrigin": func(url string) map[string]any { return map[string]any{"origin": url, "storageTypes": "cache_storage"} },
			"Storage.clearDataForStorageKey": func(url string) map[string]any {
				return map[string]any{"storageKey": url + "/", "storageTypes": "indexeddb"}
			},
			"Storage.getUsageAndQuota":            func(url string) map[string]any { return map[string]any{"origin": url} },
			"Storage.trackCacheStorageForOrigin":  func(url string) map[string]any { return map[string]any{"origin": url} },
			"Storage.trackIndexedDBForStorageKey": key,
			"DOMStorage.getDOMStorageItems": func(url string) map[string]any {
				return map[string]any{"storageId": map[string]any{"storageKey": url + "/", "isLocalStorage": true}}
			},
			"DOMStorage.clear": func(url string) map[string]any {
				return map[string]any{"storageId": map[string]any{"securityOrigin": url, "isLocalStorage": true}}
			},
			"IndexedDB.requestDatabaseNames": key,
			"CacheStorage.requestCacheNames": func(url string) map[string]any { return map[string]any{"securityOrigin": url} },
			"CacheStorage.requestEntries":    func(url string) map[string]any { return map[string]any{"cacheId": url + "/|n", "skipCount": 0} },
		} {
			c.denied(session, method, params(web.denied), "")
			if method != "CacheStorage.requestEntries" && method != "DOMStorage.clear" { // clearDataForOrigin may have been first
				c.call(session, method, params(web.allowed))
			}
		}
		c.denied("", "Storage.clearDataForOrigin", map[string]any{"origin": "*", "storageTypes": "all"}, "")
		c.denied(session, "Storage.getUsageAndQuota", map[string]any{}, "no origin")
		if v := direct.eval(other, "caches.match('/x').then(r => r.text()).then(s => s + localStorage.k)"); v != "secretsecret" {
			t.Errorf("the storage of the denied site is %v", v)
		}
		for _, method := range []string{"Browser.grantPermissions", "Browser.setPermission", "Browser.resetPermissions"} {
			if method != "Browser.resetPermissions" {
				c.denied("", method, map[string]any{"origin": web.denied, "permissions": []string{"geolocation"}, "permission": map[string]any{"name": "geolocation"}, "setting": "granted"}, "localhost")
			}
			c.call("", method, map[string]any{"origin": web.allowed, "permissions": []string{"geolocation"}, "permission": map[string]any{"name": "geolocation"}, "setting": "granted"})
		}
	})

	t.Run("permissions for all sites end with the client", func(t *testing.T) {
		c, other := connect(t), connect(t)
		const state = "navigator.permissions.query({name: 'geolocation'}).then((r) => r.state)"
		session := other.open(web.allowed+"/a", "")
		c.call("", "Browser.grantPermissions", map[string]any{"permissions": []string{"geolocation"}})
		if v := other.eval(session, state); v != "granted" {
			t.Errorf("the permission is %v", v)
		}
		s.mu.Lock()
		ended := s.clients[len(s.clients)-2].ended
		s.mu.Unlock()
		c.ws.CloseNow()
		<-ended
		if v := other.eval(session, state); v == "granted" {
			t.Error("the permission remains")
		}
	})

	t.Run("files", func(t *testing.T) {
		c := connect(t)
		session := c.open(web.allowed+"/a", "")
		root := c.call(session, "DOM.getDocument", nil)["root"].(map[string]any)["nodeId"]
		input := c.call(session, "DOM.querySelector", map[string]any{"nodeId": root, "selector": "input"})["nodeId"]
		c.denied(session, "DOM.setFileInputFiles", map[string]any{"nodeId": input, "files": []string{"/etc/passwd"}}, "outside")
		if n := c.eval(session, "document.querySelector('input').files.length"); fmt.Sprint(n) != "0" {
			t.Errorf("%v files", n)
		}
		c.call(session, "DOM.setFileInputFiles", map[string]any{"nodeId": input, "files": []string{"a.txt"}})
		if text := c.eval(session, "document.querySelector('input').files[0].text()"); text != "content" {
			t.Errorf("file %v", text)
		}
	})

	t.Run("clients", func(t *testing.T) {
		first, second := connect(t), connect(t)
		context := first.call("", "Target.createBrowserContext", nil)["browserContextId"].(string)
		session := first.open(web.allowed+"/mine", context)
		second.call("", "Target.setDiscoverTargets", map[string]any{"discover": true})
		if text := string(encode(second.call("", "Target.getTargets", nil))); strings.Contains(text, "/mine") {
			t.Errorf("targets of the second client: %s", text)
		}
		for _, m := range second.events {
			if strings.Contains(string(m.Params), "/mine") {
				t.Errorf("event of the second client: %s", m.Params)
			}
		}
		if m := second.try(session, "Runtime.evaluate", map[string]any{"expression": "1"}); m.Error == nil || m.Error.Code != codeNoSession {
			t.Errorf("session of the first client: %+v", m)
		}
		first.ws.CloseNow()
		for len(s.Clients()) > 1 {
			second.call("", "Browser.getVersion", nil)
		}
		direct.t = t
		if text := string(encode(direct.call("", "Target.getBrowserContexts", nil)["browserContextIds"])); strings.Contains(text, context) {
			t.Errorf("the context of a client that has left exists: %s", text)
		}
	})

	t.Run("page WebSocket", func(t *testing.T) {
		c := connect(t)
		c.open(web.allowed+"/devtools", "")
		for _, target := range c.call("", "Target.getTargets", nil)["targetInfos"].([]any) {
			x := target.(map[string]any)
			if x["url"] != web.allowed+"/devtools" {
				continue
			}
			page := dial(t, address+"/devtools/page/"+x["targetId"].(string), "")
			if title := page.eval("", "document.title"); title != "/devtools" {
				t.Errorf("title %v", title)
			}
			page.call("", "Page.close", nil)
			page.event("Inspector.detached", nil)
			return
		}
		t.Error("the page is not in the list")
	})
}
