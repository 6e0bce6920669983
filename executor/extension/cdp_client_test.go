package extension

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// A cdpPeer is a CDP client of a test.
type cdpPeer struct {
	t    testing.TB
	conn executor.CDPConn
	done chan struct{} // closed when Receive has failed

	mu      sync.Mutex // guards the fields below
	lastID  int64
	replies map[int64]chan executor.CDPMessage
	events  []executor.CDPMessage
	changed chan struct{} // closed when events or err change
	err     error
}

// connectCDP connects a client. The connection is closed when the test ends.
func connectCDP(t testing.TB, b *Backend) *cdpPeer {
	t.Helper()
	return connectNamed(t, b, "")
}

// connectNamed connects a client with a name.
func connectNamed(t testing.TB, b *Backend, name string) *cdpPeer {
	t.Helper()
	conn, err := b.ConnectCDP(t.Context(), &executor.CDPOptions{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return newCDPPeer(t, conn)
}

// newCDPPeer returns a client that uses a connection.
func newCDPPeer(t testing.TB, conn executor.CDPConn) *cdpPeer {
	p := &cdpPeer{t: t, conn: conn, done: make(chan struct{}), replies: make(map[int64]chan executor.CDPMessage), changed: make(chan struct{})}
	go p.read()
	t.Cleanup(p.close)
	return p
}

func (p *cdpPeer) read() {
	defer close(p.done)
	for {
		m, err := p.conn.Receive(context.Background())
		p.mu.Lock()
		if err != nil {
			p.err = err
			for _, reply := range p.replies {
				close(reply)
			}
		} else if m.ID == 0 {
			p.events = append(p.events, m)
		} else if reply := p.replies[m.ID]; reply != nil {
			reply <- m
			delete(p.replies, m.ID)
		}
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *cdpPeer) close() {
	p.conn.Close()
	<-p.done
}

// start sends a command and returns the channel of its reply.
func (p *cdpPeer) start(session, method string, params any) <-chan executor.CDPMessage {
	p.t.Helper()
	reply := make(chan executor.CDPMessage, 1)
	p.mu.Lock()
	p.lastID++
	m := executor.CDPMessage{ID: p.lastID, SessionID: session, Method: method}
	p.replies[m.ID] = reply
	p.mu.Unlock()
	if params != nil {
		m.Params = mustJSON(params)
	}
	if err := p.conn.Send(p.t.Context(), m); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	return reply
}

// try sends a command and returns its reply.
func (p *cdpPeer) try(session, method string, params any) (json.RawMessage, *executor.CDPError) {
	p.t.Helper()
	select {
	case m, ok := <-p.start(session, method, params):
		if !ok {
			p.t.Fatalf("%s: the connection ended: %v", method, p.err)
		}
		if m.SessionID != session {
			p.t.Errorf("%s: the reply has session %q, want %q", method, m.SessionID, session)
		}
		return m.Result, m.Error
	case <-await.Context(p.t).Done():
		p.t.Fatalf("%s: no reply", method)
		return nil, nil
	}
}

// call sends a command, which must succeed, and decodes its result unless result is nil.
func (p *cdpPeer) call(session, method string, params, result any) {
	p.t.Helper()
	raw, err := p.try(session, method, params)
	if err != nil {
		p.t.Fatalf("%s: %+v", method, err)
	}
	if result != nil {
		if err := json.Unmarshal(raw, result); err != nil {
			p.t.Fatalf("%s: %v in %s", method, err, raw)
		}
	}
}

// eval evaluates an expression and returns its value as JSON.
func (p *cdpPeer) eval(session, expression string) string {
	p.t.Helper()
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
	}
	p.call(session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	return string(r.Result.Value)
}

// find returns the first event of a method, received already or later, for which match returns true.
func (p *cdpPeer) find(session, method string, match func(params map[string]any) bool) map[string]any {
	p.t.Helper()
	limit := await.Context(p.t).Done()
	for {
		p.mu.Lock()
		for _, m := range p.events {
			var params map[string]any
			if m.SessionID == session && m.Method == method && json.Unmarshal(m.Params, &params) == nil && (match == nil || match(params)) {
				p.mu.Unlock()
				return params
			}
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-limit:
			p.mu.Lock()
			for _, m := range p.events {
				p.t.Logf("%s %s %.200s", m.SessionID, m.Method, m.Params)
			}
			p.mu.Unlock()
			p.t.Fatalf("no event %s", method)
		}
	}
}

// count returns the number of events of a method that were received.
func (p *cdpPeer) count(session, method string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.events {
		if m.SessionID == session && m.Method == method {
			n++
		}
	}
	return n
}

// TestCDPClientUnread puts messages in the queue of a client that does not read.
func TestCDPClientUnread(t *testing.T) {
	h := new(hub)
	conn, err := h.connect("156.0.0.0", "")
	if err != nil {
		t.Fatal(err)
	}
	c := conn.(*cdpClient)
	put := func(unread int64, method string) (queued bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		c.unread.Store(unread)
		c.put(executor.CDPMessage{Method: method})
		return c.unread.Load() > unread
	}
	for _, method := range []string{"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Network.requestWillBeSent", "Target.targetInfoChanged"} {
		if !put(0, method) {
			t.Errorf("%s was dropped from an empty queue", method)
		}
		if put(maxUnread, method) || put(4*maxUnread, method) {
			t.Errorf("%s was not dropped", method)
		}
	}
	if !put(maxUnread, "Page.frameNavigated") || c.err != nil {
		t.Errorf("Page.frameNavigated was dropped, or the connection ended: %v", c.err)
	}
	if put(4*maxUnread, "Page.frameNavigated"); !errors.Is(c.err, executor.ErrBackpressure) {
		t.Errorf("the connection ended with %v", c.err)
	}
}

// attachAll attaches to all pages, as Playwright does, and returns the session of the page at url.
func (p *cdpPeer) attachAll(url string) string {
	p.t.Helper()
	p.call("", "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}, nil)
	return p.sessionOf(url)
}

// sessionOf waits until the client is attached to the page at url, and returns the session.
func (p *cdpPeer) sessionOf(url string) string {
	p.t.Helper()
	event := p.find("", "Target.attachedToTarget", func(params map[string]any) bool {
		return params["targetInfo"].(map[string]any)["url"] == url
	})
	return event["sessionId"].(string)
}

// sessionOfAgain waits until the client is attached to the page at url by another session than
// before.
func (p *cdpPeer) sessionOfAgain(url, before string) string {
	p.t.Helper()
	event := p.find("", "Target.attachedToTarget", func(params map[string]any) bool {
		return params["sessionId"] != before && params["targetInfo"].(map[string]any)["url"] == url
	})
	return event["sessionId"].(string)
}

// ended waits until the connection has ended with an error that contains part.
func (p *cdpPeer) ended(part string) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-await.Context(p.t).Done():
		p.t.Fatal("the client is still connected")
	}
	if !strings.Contains(p.err.Error(), part) {
		p.t.Errorf("the connection ended with %v", p.err)
	}
}

// attachedTabs returns the number of tabs that a debugger is attached to.
func (env *testEnv) attachedTabs() (n int) {
	env.u.worker("chrome.debugger.getTargets().then((all) => all.filter((t) => t.attached && t.type === 'page' && t.tabId !== undefined).length)", &n)
	return n
}

// playwrightSetup sends the commands that Playwright 1.65.1 sends to each page when it connects. It
// returns the ids of the execution contexts of its two worlds.
func (p *cdpPeer) playwrightSetup(session string) (main, utility float64) {
	p.t.Helper()
	const world = "__playwright_utility_world_page@1"
	p.call(session, "Page.enable", nil, nil)
	var tree struct {
		Tree struct {
			Frame struct {
				ID       string `json:"id"`
				LoaderID string `json:"loaderId"`
				URL      string `json:"url"`
			} `json:"frame"`
		} `json:"frameTree"`
	}
	p.call(session, "Page.getFrameTree", nil, &tree)
	p.call(session, "Log.enable", map[string]any{}, nil)
	p.call(session, "Page.setLifecycleEventsEnabled", map[string]any{"enabled": true}, nil)
	p.call(session, "Runtime.enable", map[string]any{}, nil)
	p.call(session, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "", "worldName": world}, nil)
	p.call(session, "Network.enable", nil, nil)
	p.call(session, "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}, nil)
	p.call(session, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	p.call(session, "Page.setFontFamilies", map[string]any{"fontFamilies": map[string]any{"standard": "Times New Roman"}}, nil)
	p.call(session, "Emulation.setEmulatedMedia", map[string]any{"media": "", "features": []map[string]any{{"name": "prefers-color-scheme", "value": "light"}}}, nil)
	p.call(session, "Inspector.enable", nil, nil)
	p.call(session, "Runtime.runIfWaitingForDebugger", nil, nil)
	var made struct {
		ID float64 `json:"executionContextId"`
	}
	p.call(session, "Page.createIsolatedWorld", map[string]any{"frameId": tree.Tree.Frame.ID, "grantUniveralAccess": true, "worldName": world}, &made)
	for _, isMain := range []bool{true, false} {
		event := p.find(session, "Runtime.executionContextCreated", func(params map[string]any) bool {
			return params["context"].(map[string]any)["auxData"].(map[string]any)["isDefault"] == isMain
		})
		id := event["context"].(map[string]any)["id"].(float64)
		if isMain {
			main = id
		} else if utility = id; id != made.ID {
			p.t.Errorf("the utility world has id %v in its event and %v in the result", id, made.ID)
		}
	}
	return main, utility
}

// newCDPEnv is newTestEnv with a user who has allowed scripts.
func newCDPEnv(t *testing.T) *testEnv {
	return newTestEnv(t, nil, userBrowserOptions{prepare: func(dir string) { agree(t, dir+"/consent.js") }})
}

// TestSetupCommandsDocumented checks that docs/cdp.md lists the commands that are answered without the
// debugger.
func TestSetupCommandsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/cdp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("**The debugger.**"))
	text, _, _ = bytes.Cut(text, []byte("If another client"))
	var listed []string
	for _, m := range regexp.MustCompile("`([A-Z][A-Za-z]+\\.[A-Za-z]+)`").FindAllSubmatch(text, -1) {
		listed = append(listed, string(m[1]))
	}
	slices.Sort(listed)
	if want := slices.Sorted(maps.Keys(setupCommands)); !slices.Equal(listed, want) {
		t.Errorf("docs/cdp.md lists\n%q, want\n%q", listed, want)
	}
}

// TestDecodeExactNames checks that a client cannot replace a parameter that the relay has checked by
// one with another case.
func TestDecodeExactNames(t *testing.T) {
	var p struct {
		URL string `json:"url"`
	}
	m := executor.CDPMessage{Params: json.RawMessage(`{"url":"about:blank","URL":"https://example.com"}`)}
	if !new(cdpSession).decode(m, &p) || p.URL != "about:blank" {
		t.Errorf("decoded the URL %q", p.URL)
	}
	m.Params = json.RawMessage(`{"source":"run()","worldName":"w","SOURCE":""}`)
	if result, ok := addPlaceholderScript(new(setup), m); ok {
		t.Errorf("a script with code got the placeholder %v", result)
	}
}
