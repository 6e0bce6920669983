package extension

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestCDPClientKilled checks that everything that a client holds is free within a second after its
// process was killed: the debugger, intercepted requests and emulation.
func TestCDPClientKilled(t *testing.T) {
	env := newCDPEnv(t)
	env.share("/killed")
	rules, err := policy.New(policy.Config{AllowDomains: []string{env.site.URL}, Eval: true})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := startRelay(t, env.b, policy.NewGuard(rules, nil).Network(), "")
	ws, _, err := websocket.Dial(t.Context(), endpoint.WebSocket, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	ws.SetReadLimit(1 << 20)
	last := 0
	// call sends a command and returns the value at key of its result.
	call := func(session, method string, params map[string]any, key string) (value any) {
		t.Helper()
		last++
		m, _ := json.Marshal(map[string]any{"id": last, "sessionId": session, "method": method, "params": params})
		if err := ws.Write(t.Context(), websocket.MessageText, m); err != nil {
			t.Fatal(err)
		}
		for {
			_, data, err := ws.Read(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			var reply struct {
				ID     int
				Result map[string]any
				Error  any
			}
			if err := json.Unmarshal(data, &reply); err != nil {
				t.Fatal(err)
			}
			if reply.ID == last {
				if reply.Error != nil {
					t.Fatalf("%s: %v", method, reply.Error)
				}
				return reply.Result[key]
			}
		}
	}
	var page any
	for _, info := range call("", "Target.getTargets", nil, "targetInfos").([]any) {
		if target := info.(map[string]any); target["url"] == env.site.URL+"/killed" {
			page = target["targetId"]
		}
	}
	session := call("", "Target.attachToTarget", map[string]any{"targetId": page, "flatten": true}, "sessionId").(string)
	call(session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 333, "height": 222, "deviceScaleFactor": 1, "mobile": false}, "")
	call(session, "Fetch.enable", nil, "")
	call(session, "Runtime.evaluate", map[string]any{"expression": "fetched = 0; fetch('/paused').then(() => fetched = innerWidth); 0"}, "")
	if n := env.attachedTabs(); n != 1 {
		t.Fatalf("the debugger is attached to %d tabs", n)
	}

	ws.CloseNow() // what the system does when it kills the process
	env.waitAttached(0)
	var width int
	await.Until(t, "the request to continue", func() bool {
		env.u.eval(env.u.target("page", "/killed"), "fetched", &width)
		return width != 0
	})
	if width == 333 {
		t.Error("the emulation continues")
	}
}

// TestCDPClientLeavesTabOfTools checks that nothing that a client set remains in a tab that tools use
// after the client has left, also on other sites.
func TestCDPClientLeavesTabOfTools(t *testing.T) {
	env := newCDPEnv(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>%s</title>%s", r.URL.Path, r.Header.Get("Authorization"))
	}))
	t.Cleanup(site.Close)
	env.site.URL = site.URL
	_, id := env.share("/shared")
	recording, err := env.b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pagetest.Of(recording, id).Requests(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := env.evalTool(id, "document.title"); got != `"/shared"` {
		t.Fatalf("the tool read %s", got)
	}
	c := connectCDP(t, env.b)
	session := c.attachAll(site.URL + "/shared")
	c.call(session, "Network.enable", nil, nil)
	c.call(session, "Network.setExtraHTTPHeaders", map[string]any{"headers": map[string]any{"Authorization": "of the client"}}, nil)
	c.call(session, "Network.setBlockedURLs", map[string]any{"urls": []string{"*/blocked"}}, nil)
	const load = "fetch('/sent').then((r) => r.text())"
	if got := c.eval(session, load); !strings.Contains(got, "of the client") {
		t.Errorf("the page received %s", got)
	}
	c.close()
	if n := env.attachedTabs(); n != 1 {
		t.Fatalf("the debugger is attached to %d tabs", n)
	}
	page := env.u.target("page", "/shared")
	var got string
	env.u.eval(page, load, &got)
	if strings.Contains(got, "of the client") {
		t.Errorf("after the client left, the page received %s", got)
	}
	env.u.eval(page, "fetch('/blocked').then((r) => r.text(), () => 'blocked')", &got)
	if got == "blocked" {
		t.Error("after the client left, a request is blocked")
	}
}
