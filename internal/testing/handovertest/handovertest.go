// Package handovertest hands pages over to the user while CDP clients of package relay are connected.
package handovertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// A Browser is a browser whose pages are handed over.
type Browser struct {
	Relay      string // URL of the WebSocket for clients of the browser
	UserChrome bool   // it is the user's Chrome
	// Open opens a tab. click clicks in the middle of its page, as the user does.
	Open func(t *testing.T, url string) (page executor.Page, click func())
}

// handoverPage sends a request to /clicked for each click.
const handoverPage = `<!doctype html><title>Handover</title><link rel=icon href=data:,>
<body style="margin: 0; height: 100vh"><script>
	addEventListener('click', () => {
		console.log('typed');
		setTimeout(() => fetch('/clicked' + location.search, { method: 'POST', body: 'typed' }), 10);
	});
</script>`

// Run checks that what a client has set before a handover is not in the way of the user, that
// it is in force again afterwards, and that the client does not learn later what happened.
func Run(t *testing.T, b Browser) {
	requests := make(chan string, 100)
	held := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, handoverPage)
			return
		case "/slow":
			requests <- r.URL.RequestURI()
			select {
			case <-held:
			case <-r.Context().Done():
			}
			return
		}
		requests <- r.URL.RequestURI()
	}))
	t.Cleanup(site.Close)
	received := make(map[string]int) // requests that arrives has not returned yet; their order varies
	arrives := func(t *testing.T, uri string) {
		t.Helper()
		for received[uri] == 0 {
			received[await.Receive(t, "a request "+uri, requests)]++
		}
		received[uri]--
	}
	// open opens a page and attaches a client to it.
	open := func(t *testing.T, name string) (c *client, page executor.Page, click func()) {
		t.Helper()
		url := site.URL + "/page?" + name
		page, click = b.Open(t, url)
		c = connect(t, b.Relay)
		c.call("Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true})
		c.attached(url)
		c.call("Runtime.enable", nil)
		return c, page, click
	}
	handOver := func(t *testing.T, page executor.Page) *executor.HandedOver {
		t.Helper()
		ctx := await.Context(t)
		h, err := page.HandOver(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.End)
		h.Show(ctx)
		return h
	}

	fetches := func(event, text string) func(*client) {
		return func(c *client) {
			c.send("Runtime.evaluate", map[string]any{"expression": "fetch('/again'); 0"})
			c.event(event, text)
		}
	}
	for _, test := range []struct {
		name    string
		managed bool // not available in the user's Chrome
		deep    bool // a deep test in the user's Chrome, because the code is that of another command
		set     func(*client)
		again   func(*client) // checks that the setting is in force; may be nil
	}{
		{name: "nothing", set: func(*client) {}},
		{
			name: "Debugger.enable",
			set: func(c *client) {
				c.call("Debugger.enable", nil)
				c.send("Runtime.evaluate", map[string]any{"expression": "debugger; 0"})
				c.event("Debugger.paused", "")
			},
			again: func(c *client) {
				c.send("Runtime.evaluate", map[string]any{"expression": "debugger; 'again'"})
				c.event("Debugger.paused", "")
				c.call("Debugger.resume", nil)
			},
		},
		{
			name: "Fetch.enable",
			set: func(c *client) {
				c.call("Fetch.enable", nil)
				c.call("Runtime.evaluate", map[string]any{"expression": "fetch('/paused?Fetch.enable'); 0"})
				c.event("Fetch.requestPaused", "/paused")
			},
			again: fetches("Fetch.requestPaused", "/again"),
		},
		{
			name: "Input.setIgnoreInputEvents",
			set:  func(c *client) { c.call("Input.setIgnoreInputEvents", map[string]any{"ignore": true}) },
		},
		{
			name: "Network.emulateNetworkConditions", deep: true,
			set: func(c *client) {
				c.call("Network.enable", nil)
				c.call("Network.emulateNetworkConditions", map[string]any{"offline": true, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
			},
			again: fetches("Network.loadingFailed", ""),
		},
		{
			name: "Network.setBlockedURLs", deep: true,
			set: func(c *client) {
				c.call("Network.enable", nil)
				c.call("Network.setBlockedURLs", map[string]any{"urls": []string{"*clicked*", "*again*"}})
			},
			again: fetches("Network.loadingFailed", ""),
		},
		{
			name: "Overlay.setInspectMode", deep: true,
			set: func(c *client) {
				c.call("DOM.enable", nil)
				c.call("Overlay.enable", nil)
				c.call("Overlay.setInspectMode", map[string]any{"mode": "searchForNode", "highlightConfig": map[string]any{}})
			},
		},
		{
			name: "Emulation.setScriptExecutionDisabled", managed: true,
			set: func(c *client) { c.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}) },
		},
		{
			name: "Emulation.setVirtualTimePolicy", managed: true,
			set: func(c *client) { c.call("Emulation.setVirtualTimePolicy", map[string]any{"policy": "pause"}) },
		},
	} {
		if test.managed && b.UserChrome {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			if test.deep && b.UserChrome {
				tier.Deep(t)
			}
			c, page, click := open(t, test.name)
			test.set(c)
			h := handOver(t, page)
			if test.name == "Fetch.enable" {
				arrives(t, "/paused?Fetch.enable")
			}
			click()
			arrives(t, "/clicked?"+test.name)
			h.End()
			c.seen = nil
			if test.again != nil {
				test.again(c)
			}
		})
	}

	t.Run("later events", func(t *testing.T) {
		c, page, click := open(t, "later")
		c.call("Network.enable", nil)
		c.call("Runtime.evaluate", map[string]any{"expression": "addEventListener('click', () => fetch('/slow?typed')); console.log('before')"})
		c.event("Runtime.consoleAPICalled", "before")
		h := handOver(t, page)
		click()
		arrives(t, "/slow?typed")
		arrives(t, "/clicked?later")
		h.End()
		c.seen = nil
		c.call("Runtime.disable", nil)
		c.call("Runtime.enable", nil)
		other := connect(t, b.Relay)
		other.call("Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true})
		other.attached(site.URL + "/page?later")
		close(held)
		for _, x := range []*client{c, other} {
			x.call("Runtime.enable", nil)
			x.call("Log.enable", nil)
			x.call("Runtime.evaluate", map[string]any{"expression": "console.log('after')"})
			x.event("Runtime.consoleAPICalled", "after")
			for _, m := range x.seen {
				if text := string(m.Params); m.Session != "" && strings.Contains(text, "typed") {
					t.Errorf("the client received %s %s", m.Method, text)
				}
			}
		}
		c.call("Runtime.evaluate", map[string]any{"expression": "fetch('/later')"})
		c.event("Network.responseReceived", "/later")
		if slices.ContainsFunc(c.seen, func(m message) bool {
			return strings.HasPrefix(m.Method, "Network.") && strings.Contains(string(m.Params), "typed")
		}) {
			t.Error("the client received an event about a request that began during the handover")
		}
	})
}

// A client is a CDP client that is attached to one page.
type client struct {
	t       *testing.T
	ws      *websocket.Conn
	session string
	lastID  int
	seen    []message // the events
}

type message struct {
	ID      int             `json:"id"`
	Session string          `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Error   json.RawMessage `json:"error"`
}

func connect(t *testing.T, address string) *client {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(16 << 20)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return &client{t: t, ws: ws}
}

func (c *client) send(method string, params any) (id int) {
	c.t.Helper()
	c.lastID++
	m := map[string]any{"id": c.lastID, "method": method}
	if params != nil {
		m["params"] = params
	}
	if c.session != "" {
		m["sessionId"] = c.session
	}
	data, err := json.Marshal(m)
	if err == nil {
		err = c.ws.Write(c.t.Context(), websocket.MessageText, data)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return c.lastID
}

// receive reads one message.
func (c *client) receive(what string) (m message) {
	c.t.Helper()
	_, data, err := c.ws.Read(await.Context(c.t))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		c.t.Fatalf("waiting for %s: %v", what, err)
	}
	if m.Method != "" {
		c.seen = append(c.seen, m)
	}
	return m
}

func (c *client) call(method string, params any) {
	c.t.Helper()
	for id := c.send(method, params); ; {
		if m := c.receive(method); m.ID == id {
			if m.Error != nil {
				c.t.Fatalf("%s: %s", method, m.Error)
			}
			return
		}
	}
}

// event waits for an event with text in its parameters.
func (c *client) event(method, text string) message {
	c.t.Helper()
	for i := 0; ; i++ {
		for i >= len(c.seen) {
			c.receive(method)
		}
		if m := c.seen[i]; m.Method == method && strings.Contains(string(m.Params), text) {
			return m
		}
	}
}

// attached uses the session of the page at url.
func (c *client) attached(url string) {
	c.t.Helper()
	m := c.event("Target.attachedToTarget", fmt.Sprintf("%q", url))
	var e struct {
		Session string `json:"sessionId"`
	}
	if err := json.Unmarshal(m.Params, &e); err != nil {
		c.t.Fatal(err)
	}
	c.session = e.Session
}
