package extension

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A scriptedExtension replaces the extension and its browser. It has one shared tab. All commands
// succeed, without an effect, except for Runtime.awaitPromise, which has no result.
type scriptedExtension struct {
	t    *testing.T
	b    *Backend
	peer *bridge.Peer
	hold chan struct{} // if not nil, the debugger is attached when it is closed

	mu   sync.Mutex // guards the fields below
	sent []wire.CDPCommand
	ids  int64 // of commands of tools
}

// newScriptedExtension connects a scriptedExtension whose tab is at https://a.test/.
func newScriptedExtension(t *testing.T) *scriptedExtension {
	t.Helper()
	server := newServer(t)
	e := &scriptedExtension{t: t, b: newBackend(t, server)}
	_, e.peer = server.Pipe("scripted")
	var serving sync.WaitGroup
	serving.Go(e.serve)
	t.Cleanup(func() {
		e.peer.Close()
		serving.Wait()
	})
	await.Until(t, "the shared tab", func() bool {
		h := e.b.hub
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.tabs) == 1
	})
	return e
}

func (e *scriptedExtension) serve() {
	tab := wire.Tab{TabID: 1, TargetID: "T1", URL: "https://a.test/"}
	for {
		m, err := receive(e.t.Context(), e.peer)
		if err != nil {
			return
		}
		c, ok := m.(*wire.Command)
		if !ok {
			continue
		}
		result := json.RawMessage("{}")
		switch c.Method {
		case wire.MethodTabsList:
			result = mustJSON(wire.TabsList{Tabs: []wire.Tab{tab}})
		case wire.MethodTabAttach:
			if e.hold != nil {
				<-e.hold
			}
			result = mustJSON(tab)
		case wire.MethodCDP:
			var command wire.CDPCommand
			_ = json.Unmarshal(c.Params, &command)
			e.mu.Lock()
			e.sent = append(e.sent, command)
			e.mu.Unlock()
			if command.Method == "Runtime.awaitPromise" {
				continue
			}
		}
		_ = send(e.peer, &wire.Result{ID: c.ID, Data: result})
	}
}

// tool sends a command to the tab as tools do.
func (e *scriptedExtension) tool(method, params string) {
	e.t.Helper()
	e.mu.Lock()
	e.ids--
	m := &cdproto.Message{ID: e.ids, SessionID: tabSession(1), Method: cdproto.MethodType(method), Params: []byte(params)}
	e.mu.Unlock()
	e.b.mu.Lock()
	in := e.b.installations[0]
	e.b.mu.Unlock()
	if err := in.tr.Write(e.t.Context(), m); err != nil {
		e.t.Fatal(err)
	}
}

// attachTools attaches the debugger for tools.
func (e *scriptedExtension) attachTools() {
	e.t.Helper()
	e.tool(commandAttach, "")
	await.Until(e.t, "the debugger", func() bool {
		h := e.b.hub
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.tabs[0].live
	})
}

// connect connects a client, and attaches the debugger for it. It returns the session of the tab.
func (e *scriptedExtension) connect(name string) (c *cdpPeer, session string) {
	e.t.Helper()
	c = connectNamed(e.t, e.b, name)
	session = c.attachAll("https://a.test/")
	c.call(session, "Page.stopLoading", nil, nil)
	return c, session
}

// take returns the commands with a method that were sent since the last call, with their parameters.
// c synchronizes: commands are sent in order.
func (e *scriptedExtension) take(c *cdpPeer, session, method string) string {
	e.t.Helper()
	c.call(session, "Page.stopLoading", nil, nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []string
	for _, m := range e.sent {
		if m.Method == method {
			list = append(list, string(m.Params))
		}
	}
	e.sent = slices.DeleteFunc(e.sent, func(m wire.CDPCommand) bool { return m.Method == method })
	return strings.Join(list, " ")
}

// TestCDPSettingsUndone checks that nothing that a client set in a tab remains when it leaves, or when
// it disables the domain, although tools and another client use the tab.
func TestCDPSettingsUndone(t *testing.T) {
	e := newScriptedExtension(t)
	e.attachTools()
	e.tool("Network.enable", "{}")
	other, inOther := e.connect("other")
	for _, x := range []struct{ method, set, neutral string }{
		{"Debugger.setSkipAllPauses", `{"skip":true}`, `{"skip":false}`},
		{"Input.setIgnoreInputEvents", `{"ignore":true}`, `{"ignore":false}`},
		{"Input.setInterceptDrags", `{"enabled":true}`, `{"enabled":false}`},
		{"Network.emulateNetworkConditions", `{"offline":true,"latency":0,"downloadThroughput":-1,"uploadThroughput":-1}`,
			`{"offline":false,"latency":0,"downloadThroughput":-1,"uploadThroughput":-1}`},
		{"Network.setBlockedURLs", `{"urls":["*"]}`, `{"urls":[]}`},
		{"Network.setBypassServiceWorker", `{"bypass":true}`, `{"bypass":false}`},
		{"Network.setCacheDisabled", `{"cacheDisabled":true}`, `{"cacheDisabled":false}`},
		{"Network.setExtraHTTPHeaders", `{"headers":{"Authorization":"secret"}}`, `{"headers":{}}`},
		{"Overlay.setInspectMode", `{"mode":"searchForNode","highlightConfig":{}}`, `{"mode":"none","highlightConfig":{}}`},
		{"Page.setBypassCSP", `{"enabled":true}`, `{"enabled":false}`},
		{"Page.setInterceptFileChooserDialog", `{"enabled":true}`, `{"enabled":false}`},
		{"Page.setWebLifecycleState", `{"state":"frozen"}`, `{"state":"active"}`},
	} {
		t.Run(x.method, func(t *testing.T) {
			domain, _, _ := strings.Cut(x.method, ".")
			c, session := e.connect("c")
			c.call(session, domain+".enable", nil, nil)
			c.call(session, x.method, json.RawMessage(x.set), nil)
			c.close()
			if got, want := e.take(other, inOther, x.method), x.set+" "+x.neutral; got != want {
				t.Errorf("after the client left, the browser received %s, want %s", got, want)
			}

			// Another client has set the same.
			c, session = e.connect("c")
			c.call(session, x.method, json.RawMessage(x.set), nil)
			other.call(inOther, x.method, json.RawMessage(x.set), nil)
			other.call(inOther, x.method, json.RawMessage(x.neutral), nil)
			if got, want := e.take(other, inOther, x.method), x.set+" "+x.set+" "+x.set; got != want {
				t.Errorf("the browser received %s, want %s", got, want)
			}
			other.call(inOther, x.method, json.RawMessage(x.set), nil)
			c.close()
			other.call(inOther, x.method, json.RawMessage(x.neutral), nil)
			if got, want := e.take(other, inOther, x.method), x.set+" "+x.set+" "+x.neutral; got != want {
				t.Errorf("the browser received %s, want %s", got, want)
			}
		})
	}

	c, session := e.connect("c")
	c.call(session, "Network.enable", nil, nil)
	c.call(session, "Network.setExtraHTTPHeaders", json.RawMessage(`{"headers":{"a":"b"}}`), nil)
	c.call(session, "Network.disable", nil, nil)
	if got, want := e.take(other, inOther, "Network.setExtraHTTPHeaders"), `{"headers":{"a":"b"}} {"headers":{}}`; got != want {
		t.Errorf("after Network.disable, the browser received %s, want %s", got, want)
	}
	c.call(session, "Network.setUserAgentOverride", json.RawMessage(`{"userAgent":"x"}`), nil)
	c.close()
	if got, want := e.take(other, inOther, "Emulation.setUserAgentOverride"), `{"userAgent":"x"} {"userAgent":""}`; got != want {
		t.Errorf("after the client left, the browser received %s, want %s", got, want)
	}

	// If the domain is disabled in the browser, what others have set remains.
	e.tool("Network.disable", "{}")
	other.call(inOther, "Network.setCacheDisabled", json.RawMessage(`{"cacheDisabled":true}`), nil)
	c, session = e.connect("c")
	c.call(session, "Network.enable", nil, nil)
	e.take(other, inOther, "Network.setCacheDisabled")
	c.call(session, "Network.disable", nil, nil)
	if got, want := e.take(other, inOther, "Network.setCacheDisabled"), `{"cacheDisabled":true}`; got != want {
		t.Errorf("after Network.disable, the browser received %s, want %s", got, want)
	}
}

// TestCDPFileChooserDuringToolCalls checks that a client continues to receive file choosers after calls
// of tools that intercept them, and that its own commands do not end the interception of a call.
func TestCDPFileChooserDuringToolCalls(t *testing.T) {
	const method, on, off = "Page.setInterceptFileChooserDialog", `{"enabled":true}`, `{"enabled":false}`
	e := newScriptedExtension(t)
	e.attachTools()
	c, session := e.connect("c")
	last := func(want string) {
		t.Helper()
		if got := e.take(c, session, method); !strings.HasSuffix(got, want) {
			t.Errorf("the browser received %s, want %s last", got, want)
		}
	}
	c.call(session, method, json.RawMessage(on), nil)
	last(on)
	e.tool(method, on)
	e.tool(method, off)
	last(on)
	e.tool(method, on)
	c.call(session, method, json.RawMessage(off), nil)
	last(on)
	e.tool(method, off)
	last(off)
}
