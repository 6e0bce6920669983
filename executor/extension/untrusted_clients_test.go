package extension

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	extfiles "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/steps"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// writeOtherExtension writes an extension other than ours, which has every permission that an
// attack could use, and returns its directory.
func writeOtherExtension(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `{
			"manifest_version": 3, "name": "another", "version": "1",
			"background": {"service_worker": "other.js"},
			"permissions": ["nativeMessaging", "debugger", "tabs", "declarativeNetRequest", "alarms"],
			"host_permissions": ["<all_urls>"]
		}`,
		"other.js": "chrome.alarms.onAlarm.addListener(() => {}); chrome.alarms.create('stay', {periodInMinutes: 0.1});\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// evalInOther evaluates expression in the service worker of the other extension.
func (u *userBrowser) evalInOther(expression string, result any) {
	u.t.Helper()
	u.eval(u.target("service_worker", "/other.js"), expression, result)
}

// socketAttempts is a script that opens WebSocket connections to a port, as a page or an extension
// can. It resolves to the outcome of each attempt.
const socketAttempts = `(async (port) => {
	const dial = (host, protocols) => new Promise((resolve) => {
		const ws = new WebSocket('ws://' + host + ':' + port + '/', protocols);
		ws.onopen = () => { ws.send('{"type":"hello","v":2}'); };
		ws.onmessage = (e) => resolve('received ' + e.data);
		ws.onclose = (e) => resolve('closed ' + e.code);
	});
	return [await dial('127.0.0.1', []), await dial('localhost', []), await dial('127.0.0.1', ['chrome-mcp'])];
})(%d)`

// TestBridgeRejectsUntrustedClients attacks the bridge and the extension from a page, from another
// extension and from another program, in a browser whose own extension is connected. The attacks
// fail and the connection is not affected.
func TestBridgeRejectsUntrustedClients(t *testing.T) {
	log := &testlog.Buffer{}
	env := newTestEnv(t, slog.New(slog.NewTextHandler(log, nil)), userBrowserOptions{more: []string{writeOtherExtension(t)}})
	u, port := env.u, env.server.Port()
	before := env.server.Connections()[0]
	_, id := env.share("/shared")
	waitForPage(t, env.s, id, "/shared")
	checkUnaffected := func(t *testing.T) {
		t.Helper()
		waitForPage(t, env.s, id, "/shared")
		if now := env.server.Connections(); len(now) != 1 || now[0] != before || before.Err() != nil || env.server.Displaced() != nil {
			t.Errorf("the connection changed: connections %v, error of the first %v", now, before.Err())
		}
	}
	checkRejected := func(t *testing.T, got []string) {
		t.Helper()
		for _, outcome := range got {
			if outcome != "closed 1006" { // it was never open
				t.Errorf("an untrusted client %s", outcome)
			}
		}
	}

	steps.Run(t, "page dials the port", func(t *testing.T) {
		u.open(env.site.URL + "/hostile")
		page := u.target("page", "/hostile")
		var got []string
		u.eval(page, fmt.Sprintf(socketAttempts, port), &got)
		checkRejected(t, got)
		var outcomes []string
		u.eval(page, fmt.Sprintf(`(async (url) => {
			const tries = [
				fetch(url), fetch(url, {mode: 'no-cors'}), fetch(url, {method: 'POST', mode: 'no-cors', body: '{"type":"hello","v":2}'}),
				fetch(url, {headers: {'X-Any': '1'}}), fetch(url, {method: 'PUT'}),
				new Promise((ok, no) => { const s = new EventSource(url); s.onmessage = ok; s.onerror = no; }),
				new Promise((ok, no) => { const s = document.createElement('script'); s.onload = ok; s.onerror = no; s.src = url; document.head.append(s); }),
			];
			// A frame with an opaque origin.
			tries.push(new Promise((ok, no) => {
				const f = document.createElement('iframe');
				f.sandbox = 'allow-scripts';
				f.srcdoc = '<script>const w = new WebSocket("' + url.replace('http', 'ws') + '"); w.onopen = () => parent.postMessage("open", "*"); w.onclose = () => parent.postMessage("closed", "*")<' + '/script>';
				addEventListener('message', (e) => e.data === 'open' ? ok() : no(), {once: true});
				document.body.append(f);
			}));
			const done = await Promise.allSettled(tries);
			return done.map((d) => d.status === 'rejected' ? 'rejected' : d.value?.type === 'opaque' ? 'opaque' : 'received ' + d.value);
		})('http://127.0.0.1:%d/')`, port), &outcomes)
		for i, outcome := range outcomes {
			if noCORS := i == 1 || i == 2; outcome != "rejected" && (!noCORS || outcome != "opaque") {
				t.Errorf("attempt %d: %s", i, outcome)
			}
		}
		checkUnaffected(t)
	})
	steps.Run(t, "another extension", func(t *testing.T) {
		var got []string
		u.evalInOther(fmt.Sprintf(socketAttempts, port), &got)
		checkRejected(t, got)
		var text string
		u.evalInOther(fmt.Sprintf("chrome.runtime.sendNativeMessage(%q, {v: 1, type: 'servers'}).then((a) => 'answered ' + JSON.stringify(a), (e) => e.message)", wire.HostName), &text)
		if !strings.Contains(text, "forbidden") {
			t.Errorf("message to the native messaging host: %s", text)
		}
		for _, message := range []string{"{type: 'action', id: 1, action: 'stopAll'}", "{v: 1, type: 'servers'}"} {
			u.evalInOther(fmt.Sprintf("chrome.runtime.sendMessage(%q, %s).then((a) => 'answered ' + JSON.stringify(a), (e) => e.message)", extfiles.ID(), message), &text)
			if strings.HasPrefix(text, "answered") && text != "answered undefined" {
				t.Errorf("message to our extension: %s", text)
			}
		}
		u.evalInOther(fmt.Sprintf(`new Promise((resolve) => {
			const port = chrome.runtime.connect(%q, {name: 'chrome-mcp-page'});
			port.onMessage.addListener((m) => resolve('received ' + JSON.stringify(m)));
			port.onDisconnect.addListener(() => resolve(chrome.runtime.lastError?.message ?? 'disconnected'));
			port.postMessage({type: 'action', id: 1, action: 'stopAll'});
		})`, extfiles.ID()), &text)
		if strings.HasPrefix(text, "received") {
			t.Errorf("port of our extension's pages: %s", text)
		}
		// It tries to forge our Origin header. Even if the browser allows that, it does not have the
		// token.
		var forged []string
		u.evalInOther(`chrome.declarativeNetRequest.updateSessionRules({addRules: [{id: 1, condition: {resourceTypes: ['websocket'], urlFilter: '|ws://127.0.0.1'},
			action: {type: 'modifyHeaders', requestHeaders: [{header: 'Origin', operation: 'set', value: 'chrome-extension://`+extfiles.ID()+`'}]}}]}).then(() => [])`, &forged)
		u.evalInOther(fmt.Sprintf(socketAttempts, port), &forged)
		for _, outcome := range forged {
			if outcome != "closed 1006" && outcome != "closed 4401" && !strings.Contains(outcome, `"refused"`) {
				t.Errorf("with a forged Origin header it %s", outcome)
			}
		}
		u.evalInOther("chrome.declarativeNetRequest.updateSessionRules({removeRuleIds: [1]}).then(() => [])", &forged)
		checkUnaffected(t)
	})
	steps.Run(t, "another program on the port", func(t *testing.T) {
		fake := startFakeServer(t)
		decoy, err := bridge.New(&bridge.Options{DataDir: u.data, ExtensionID: extfiles.ID(), Name: "decoy"})
		if err != nil {
			t.Fatal(err)
		}
		defer decoy.Close()
		if err := decoy.Publish(fake.port); err != nil { // like a killed server whose port another program uses
			t.Fatal(err)
		}
		for range 3 { // the extension retries
			await.Receive(t, "the extension to dial the port", fake.served)
		}
		received := fake.messages()
		token := tokenOf(t, u.data, fake.port)
		if strings.Contains(received, token) || strings.Contains(received, `"proof"`) || strings.Contains(received, `"mac"`) || !strings.Contains(received, `"hello"`) {
			t.Errorf("the other program received %s", received)
		}
		for _, line := range strings.Split(strings.TrimSpace(received), "\n") {
			if f, err := wire.Decode([]byte(line)); err != nil || f.Type() != "hello" {
				t.Errorf("the other program received %s: %v", line, err)
			}
		}
		var state string
		u.worker("chrome.storage.local.get(null).then((all) => JSON.stringify(all))", &state)
		if strings.Contains(state, token) {
			t.Error("the extension stores the token")
		}
		checkUnaffected(t)
	})
	steps.Run(t, "log", func(t *testing.T) {
		text := log.String()
		if n := strings.Count(text, "level=WARN msg=\"the Origin header is that of a page or of another extension\""); n != 1 {
			t.Errorf("%d warnings about untrusted clients, want 1:\n%s", n, text)
		}
		for _, secret := range []string{tokenOf(t, u.data, port), env.site.URL, "hostile"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in the log", secret)
			}
		}
	})
	steps.Run(t, "another debugger", func(t *testing.T) {
		// The browser allows both debuggers and isolates them from each other.
		both, busy := env.share("/busy")
		attach := "chrome.debugger.%stach({tabId: %d}%s).then(() => '')"
		u.evalInOther(fmt.Sprintf(attach, "at", both, ", '1.3'"), nil)
		waitForPage(t, env.s, busy, "/busy")
		u.evalInOther(fmt.Sprintf(attach, "de", both, ""), nil)
		waitForPage(t, env.s, busy, "/busy")
		checkUnaffected(t)
	})
	steps.Run(t, "pages that cannot be shared", func(t *testing.T) {
		for url, text := range map[string]string{
			"chrome://version/":                   "belong to the browser",
			"file:///etc/passwd":                  "local files",
			"https://chromewebstore.google.com/x": "extension store",
		} {
			tab := u.open(url)
			if refusal := u.act("share", map[string]any{"tabId": tab}); !strings.Contains(refusal, text) {
				t.Errorf("sharing %s: %q, want %q", url, refusal, text)
			}
			u.worker(fmt.Sprintf("chrome.tabs.remove(%d).then(() => '')", tab), nil)
			// The user navigates to url in a shared tab, before and after an agent used the tab.
			for _, driven := range []bool{false, true} {
				if !tier.DeepEnabled() && !strings.HasPrefix(url, "file:") {
					break // nothing depends on why the tab cannot be shared
				}
				path := fmt.Sprintf("/%v-%s", driven, url[:4])
				tab, id := env.share(path)
				if driven {
					waitForPage(t, env.s, id, path)
				}
				u.worker(fmt.Sprintf("chrome.tabs.update(%d, {url: %q}).then(() => '')", tab, url), nil)
				u.waitLoaded(tab, url)
				res, err := pagetest.Of(env.s, id).Text(await.Context(t), nil)
				switch {
				case err == nil && !strings.Contains(res.Content, "ERR_BLOCKED_BY_CLIENT"): // a tab that an agent used does not load url
					t.Errorf("read %s: %+v", url, res)
				case err != nil && executor.CodeOf(err) == executor.ErrTimeout:
					t.Errorf("the call at %s timed out: %v", url, err)
				}
				u.worker(fmt.Sprintf("chrome.tabs.remove(%d).then(() => '')", tab), nil)
			}
		}
		checkUnaffected(t)
	})
}

// TestDevTools checks that the user can have DevTools open on a shared tab. The browser allows both
// debuggers.
func TestDevTools(t *testing.T) {
	tier.Deep(t) // the step "another debugger" has another of the two debuggers
	env := newTestEnv(t, nil, userBrowserOptions{flags: []string{"--auto-open-devtools-for-tabs"}})
	_, id := env.share("/inspected")
	env.u.target("page", "devtools://")
	waitForPage(t, env.s, id, "/inspected")
}

// A fakeServer is another program on a port that the extension dials. It answers each message with
// a forged one and stores the messages that it receives.
type fakeServer struct {
	port     int
	served   chan struct{} // receives a value when a connection ends
	mu       sync.Mutex
	received strings.Builder
}

func startFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{served: make(chan struct{}, 64)}
	replies := []string{
		// An invalid proof, the messages that follow a valid proof, and junk.
		`{"type":"challenge","v":2,"nonce":"` + wire.EncodeKey(wire.NewKey()) + `","mac":"` + wire.EncodeKey(wire.NewKey()) + `"}`,
		`{"type":"welcome","v":2,"session":"s","server":{"version":"1","pid":1,"name":"x"},"heartbeatMs":15000,"policy":{"allow":["127.0.0.1"],"block":[],"subresources":"public","resources":[],"private":[],"unsafeAll":true,"ownPorts":[]}}`,
		`{"type":"command","v":2,"id":"` + wire.NewID() + `","method":"tabs_list","params":{},"timeoutMs":1000}`,
		`junk`,
	}
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer ws.CloseNow()
		defer func() { f.served <- struct{}{} }()
		for {
			_, data, err := ws.Read(r.Context())
			if err != nil {
				return
			}
			f.mu.Lock()
			fmt.Fprintf(&f.received, "%s\n", data)
			reply := replies[n%len(replies)]
			n++
			f.mu.Unlock()
			if ws.Write(r.Context(), websocket.MessageText, []byte(reply)) != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	f.port = server.Listener.Addr().(*net.TCPAddr).Port
	return f
}

// messages returns the messages that f received, one per line.
func (f *fakeServer) messages() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.received.String()
}

// tokenOf returns the token of this process's server on port, from its handshake file.
func tokenOf(t *testing.T, data string, port int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "handshakes", fmt.Sprintf("%d-%d.json", os.Getpid(), port)))
	var record struct{ Token string }
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil || record.Token == "" {
		t.Fatalf("no token: %v", err)
	}
	return record.Token
}
