package extension

import (
	"encoding/json"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
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
