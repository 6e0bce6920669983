package extension

import (
	"context"
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
	"time"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	carried "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// writeOther writes an extension that is not ours, with all that one can ask
// for.
func writeOther(t *testing.T) (dir string) {
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

// other runs an expression in the worker of the other extension.
func (u *userBrowser) other(expression string, result any) {
	u.t.Helper()
	u.eval(u.target("service_worker", "/other.js"), expression, result)
}

// socketAttempts is a script that dials a port as a page or an extension can,
// and resolves to what came of it.
const socketAttempts = `(async (port) => {
	const dial = (host, protocols) => new Promise((resolve) => {
		const ws = new WebSocket('ws://' + host + ':' + port + '/', protocols);
		ws.onopen = () => { ws.send('{"type":"hello","v":1}'); };
		ws.onmessage = (e) => resolve('heard ' + e.data);
		ws.onclose = (e) => resolve('closed ' + e.code);
	});
	return [await dial('127.0.0.1', []), await dial('localhost', []), await dial('127.0.0.1', ['chrome-mcp'])];
})(%d)`

// TestBridgeRejectsUntrustedClients: pages, another extension and another program try what they
// can, in a browser whose own extension goes on meanwhile.
func TestBridgeRejectsUntrustedClients(t *testing.T) {
	log := &testlog.Buffer{}
	l := newLife(t, slog.New(slog.NewTextHandler(log, nil)), userBrowserOptions{more: []string{writeOther(t)}})
	u, port := l.u, l.server.Port()
	before := l.server.Instances()[0]
	_, id := l.share("/shared")
	reads(t, l.s, id, "/shared")
	goesOn := func(t *testing.T) {
		t.Helper()
		reads(t, l.s, id, "/shared")
		if now := l.server.Instances(); len(now) != 1 || now[0] != before || before.Err() != nil || l.server.Displaced() != nil {
			t.Errorf("connections are %v, %v", now, before.Err())
		}
	}
	refused := func(t *testing.T, got []string) {
		t.Helper()
		for _, end := range got {
			if end != "closed 1006" { // it was never open
				t.Errorf("a stranger %s", end)
			}
		}
	}

	t.Run("a page dials the port", func(t *testing.T) {
		l.t, u.t = t, t
		u.open(l.site.URL + "/hostile")
		page := u.target("page", "/hostile")
		var got []string
		u.eval(page, fmt.Sprintf(socketAttempts, port), &got)
		refused(t, got)
		var told []string
		u.eval(page, fmt.Sprintf(`(async (url) => {
			const tries = [
				fetch(url), fetch(url, {mode: 'no-cors'}), fetch(url, {method: 'POST', mode: 'no-cors', body: '{"type":"hello","v":1}'}),
				fetch(url, {headers: {'X-Any': '1'}}), fetch(url, {method: 'PUT'}),
				new Promise((ok, no) => { const s = new EventSource(url); s.onmessage = ok; s.onerror = no; }),
				new Promise((ok, no) => { const s = document.createElement('script'); s.onload = ok; s.onerror = no; s.src = url; document.head.append(s); }),
			];
			// A frame of no origin of its own.
			tries.push(new Promise((ok, no) => {
				const f = document.createElement('iframe');
				f.sandbox = 'allow-scripts';
				f.srcdoc = '<script>const w = new WebSocket("' + url.replace('http', 'ws') + '"); w.onopen = () => parent.postMessage("open", "*"); w.onclose = () => parent.postMessage("closed", "*")<' + '/script>';
				addEventListener('message', (e) => e.data === 'open' ? ok() : no(), {once: true});
				document.body.append(f);
			}));
			const done = await Promise.allSettled(tries);
			return done.map((d) => d.status === 'rejected' ? 'refused' : d.value?.type === 'opaque' ? 'opaque' : 'answered ' + d.value);
		})('http://127.0.0.1:%d/')`, port), &told)
		for i, end := range told {
			if blind := i == 1 || i == 2; end != "refused" && (!blind || end != "opaque") {
				t.Errorf("attempt %d was %s", i, end)
			}
		}
		goesOn(t)
	})
	t.Run("another extension", func(t *testing.T) {
		l.t, u.t = t, t
		var got []string
		u.other(fmt.Sprintf(socketAttempts, port), &got)
		refused(t, got)
		var words string
		u.other(fmt.Sprintf("chrome.runtime.sendNativeMessage(%q, {v: 1, type: 'servers'}).then((a) => 'answered ' + JSON.stringify(a), (e) => e.message)", wire.HostName), &words)
		if !strings.Contains(words, "forbidden") {
			t.Errorf("the native host: %s", words)
		}
		for _, message := range []string{"{type: 'action', id: 1, action: 'stopAll'}", "{v: 1, type: 'servers'}"} {
			u.other(fmt.Sprintf("chrome.runtime.sendMessage(%q, %s).then((a) => 'answered ' + JSON.stringify(a), (e) => e.message)", carried.ID(), message), &words)
			if strings.HasPrefix(words, "answered") && words != "answered undefined" {
				t.Errorf("our extension: %s", words)
			}
		}
		u.other(fmt.Sprintf(`new Promise((resolve) => {
			const port = chrome.runtime.connect(%q, {name: 'chrome-mcp-page'});
			port.onMessage.addListener((m) => resolve('heard ' + JSON.stringify(m)));
			port.onDisconnect.addListener(() => resolve(chrome.runtime.lastError?.message ?? 'disconnected'));
			port.postMessage({type: 'action', id: 1, action: 'stopAll'});
		})`, carried.ID()), &words)
		if strings.HasPrefix(words, "heard") {
			t.Errorf("our extension's pages' line: %s", words)
		}
		// It tries to forge our Origin. Where a browser lets it, it does not
		// hold the key.
		var forged []string
		u.other(`chrome.declarativeNetRequest.updateSessionRules({addRules: [{id: 1, condition: {resourceTypes: ['websocket'], urlFilter: '|ws://127.0.0.1'},
			action: {type: 'modifyHeaders', requestHeaders: [{header: 'Origin', operation: 'set', value: 'chrome-extension://`+carried.ID()+`'}]}}]}).then(() => [])`, &forged)
		u.other(fmt.Sprintf(socketAttempts, port), &forged)
		for _, end := range forged {
			if end != "closed 1006" && end != "closed 4401" && !strings.Contains(end, `"refused"`) {
				t.Errorf("with a forged Origin it %s", end)
			}
		}
		u.other("chrome.declarativeNetRequest.updateSessionRules({removeRuleIds: [1]}).then(() => [])", &forged)
		goesOn(t)
	})
	t.Run("another program on the port", func(t *testing.T) {
		l.t, u.t = t, t
		fake := startFake(t)
		decoy, err := bridge.New(bridge.Options{DataDir: u.data, ExtensionID: carried.ID(), Name: "decoy"})
		if err != nil {
			t.Fatal(err)
		}
		defer decoy.Close()
		if err := decoy.Publish(fake.port); err != nil { // the server that died, whose port somebody took
			t.Fatal(err)
		}
		for range 3 { // it is tried again, and learns no more
			select {
			case <-fake.met:
			case <-time.After(userbrowser.WaitTimeout):
				t.Fatal("the extension does not dial the port")
			}
		}
		heard := fake.all()
		token := tokenOf(t, u.data, fake.port)
		if strings.Contains(heard, token) || strings.Contains(heard, `"proof"`) || strings.Contains(heard, `"mac"`) || !strings.Contains(heard, `"hello"`) {
			t.Errorf("the program heard %s", heard)
		}
		for _, line := range strings.Split(strings.TrimSpace(heard), "\n") {
			if f, err := wire.Decode([]byte(line)); err != nil || f.Type() != "hello" {
				t.Errorf("the program heard %s: %v", line, err)
			}
		}
		var state string
		u.worker("chrome.storage.local.get(null).then((all) => JSON.stringify(all))", &state)
		if strings.Contains(state, token) {
			t.Error("the extension keeps the token")
		}
		goesOn(t)
	})
	t.Run("what is logged", func(t *testing.T) {
		text := log.String()
		if n := strings.Count(text, "level=WARN msg=\"the Origin header is that of a page or of another extension\""); n != 1 {
			t.Errorf("strangers are warned of %d times:\n%s", n, text)
		}
		for _, secret := range []string{tokenOf(t, u.data, port), l.site.URL, "hostile"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in the log", secret)
			}
		}
	})
	t.Run("another debugger", func(t *testing.T) {
		l.t, u.t = t, t
		// The browser lets both be there, and keeps them apart.
		both, busy := l.share("/busy")
		attach := "chrome.debugger.%stach({tabId: %d}%s).then(() => '')"
		u.other(fmt.Sprintf(attach, "at", both, ", '1.3'"), nil)
		reads(t, l.s, busy, "/busy")
		u.other(fmt.Sprintf(attach, "de", both, ""), nil)
		reads(t, l.s, busy, "/busy")
		goesOn(t)
	})
	t.Run("pages that are not for agents", func(t *testing.T) {
		l.t, u.t = t, t
		for url, words := range map[string]string{
			"chrome://version/":                   "belong to the browser",
			"file:///etc/passwd":                  "local files",
			"https://chromewebstore.google.com/x": "extension store",
		} {
			tab := u.open(url)
			if why := u.act("share", map[string]any{"tabId": tab}); !strings.Contains(why, words) {
				t.Errorf("sharing %s: %q, want %q", url, why, words)
			}
			u.worker(fmt.Sprintf("chrome.tabs.remove(%d).then(() => '')", tab), nil)
			// The user goes there in a shared tab, before and after it was driven.
			for _, driven := range []bool{false, true} {
				path := fmt.Sprintf("/%v-%s", driven, url[:4])
				tab, id := l.share(path)
				if driven {
					reads(t, l.s, id, path)
				}
				u.worker(fmt.Sprintf("chrome.tabs.update(%d, {url: %q}).then(() => '')", tab, url), nil)
				u.arrived(tab, url)
				within(t, 5*time.Second, "a call at "+url, func(ctx context.Context) {
					res, err := l.s.Text(ctx, id, nil)
					switch {
					case err == nil && !strings.Contains(res.Content, "ERR_BLOCKED_BY_CLIENT"): // a driven tab did not get there
						t.Errorf("%s is read: %+v", url, res)
					case err != nil && executor.CodeOf(err) == executor.ErrTimeout:
						t.Errorf("%s hangs: %v", url, err)
					}
				})
				u.worker(fmt.Sprintf("chrome.tabs.remove(%d).then(() => '')", tab), nil)
			}
		}
		goesOn(t)
	})
}

// TestDevTools: the user may have the developer tools open on a shared tab. The
// browser lets both be there.
func TestDevTools(t *testing.T) {
	l := newLife(t, nil, userBrowserOptions{flags: []string{"--auto-open-devtools-for-tabs"}})
	_, id := l.share("/inspected")
	l.u.target("page", "devtools://")
	reads(t, l.s, id, "/inspected")
}

// A fakeServer is a program that took a port which the extension dials. It
// says what it can, and keeps what it hears.
type fakeServer struct {
	port  int
	met   chan struct{} // one token for each connection that it was done with
	mu    sync.Mutex
	heard strings.Builder
}

func startFake(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{met: make(chan struct{}, 64)}
	says := []string{
		// A proof that it cannot make; the rest of the conversation without one; junk.
		`{"type":"challenge","v":1,"nonce":"` + wire.EncodeKey(wire.NewKey()) + `","mac":"` + wire.EncodeKey(wire.NewKey()) + `"}`,
		`{"type":"welcome","v":1,"session":"s","server":{"version":"1","pid":1,"name":"x"},"heartbeatMs":15000,"policy":{"allow":["127.0.0.1"],"block":[],"subresources":"public","resources":[],"private":[],"unsafeAll":true,"ownPorts":[]}}`,
		`{"type":"command","v":1,"id":"` + wire.NewID() + `","method":"tabs_list","params":{},"timeoutMs":1000}`,
		`junk`,
	}
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer ws.CloseNow()
		defer func() { f.met <- struct{}{} }()
		for {
			_, data, err := ws.Read(r.Context())
			if err != nil {
				return
			}
			f.mu.Lock()
			fmt.Fprintf(&f.heard, "%s\n", data)
			say := says[n%len(says)]
			n++
			f.mu.Unlock()
			if ws.Write(r.Context(), websocket.MessageText, []byte(say)) != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	f.port = server.Listener.Addr().(*net.TCPAddr).Port
	return f
}

func (f *fakeServer) all() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.heard.String()
}

// tokenOf reads the token of the server on a port.
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
