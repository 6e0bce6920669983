package extension

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// headers returns parameters of Network.setExtraHTTPHeaders with a size.
func headers(name string, size int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"headers":{%q:"%s"}}`, name, strings.Repeat("x", size)))
}

// TestCDPLargeCommand sends a command of more than the size of the send queue while another command
// has no result yet.
func TestCDPLargeCommand(t *testing.T) {
	e := newScriptedExtension(t)
	c, session := e.connect("c")
	c.start(session, "Runtime.awaitPromise", nil)
	const method = "Runtime.callFunctionOn"
	c.call(session, method, map[string]any{"arguments": strings.Repeat("x", 2*wire.MaxQueued)}, nil)
	if n := len(e.take(c, session, method)); n < 2*wire.MaxQueued {
		t.Errorf("the extension received %d bytes", n)
	}
}

// TestCDPSetupSize checks that the setup commands that are stored until the debugger is attached have a
// limited size.
func TestCDPSetupSize(t *testing.T) {
	e := newScriptedExtension(t)
	c := connectCDP(t, e.b)
	session := c.attachAll("https://a.test/")
	const method = "Network.setExtraHTTPHeaders"
	c.denied(session, method, headers("large", 3<<20), "commands wait for the debugger")
	c.denied(session, "Page.createIsolatedWorld", map[string]any{"frameId": "T1", "worldName": strings.Repeat("x", 60<<20)}, "commands wait for the debugger")
	for i := range 100 {
		c.call(session, method, headers(fmt.Sprint(i), 100<<10), nil)
	}
	for _, name := range []string{"a", "b", "a"} {
		c.call(session, "Runtime.addBinding", map[string]any{"name": name}, nil)
	}

	// Other sessions.
	var sessions []string
	for {
		var made struct{ SessionID string }
		c.call("", "Target.attachToTarget", map[string]any{"targetId": "T1", "flatten": true}, &made)
		if _, err := c.try(made.SessionID, method, headers("other", 1<<20)); err != nil {
			break
		}
		if sessions = append(sessions, made.SessionID); len(sessions) == 100 {
			t.Fatal("100 sessions store 1 MiB each")
		}
	}
	c.call("", "Target.detachFromTarget", map[string]any{"sessionId": sessions[0]}, nil)
	var made struct{ SessionID string }
	c.call("", "Target.attachToTarget", map[string]any{"targetId": "T1", "flatten": true}, &made)
	c.call(made.SessionID, method, headers("other", 1<<20), nil)
	sessions = append(sessions, made.SessionID)
	for _, id := range sessions[1:] {
		c.call("", "Target.detachFromTarget", map[string]any{"sessionId": id}, nil)
	}

	c.call(session, "Page.stopLoading", nil, nil) // attaches the debugger
	if got, want := e.take(c, session, method), string(headers("99", 100<<10)); got != want {
		t.Errorf("the browser received %.200s", got)
	}
	if got, want := e.take(c, session, "Runtime.addBinding"), `{"name":"a"} {"name":"b"} {"name":"a"}`; got != want {
		t.Errorf("the browser received the bindings %s, want %s", got, want)
	}

	// What is set afterwards is stored, too.
	c.denied(session, method, headers("large", 60<<20), "settings")
	c.call(session, method, headers("small", 1), nil)
}

// TestCDPWaitingSize checks that the commands that wait until the debugger is attached have a limited
// size.
func TestCDPWaitingSize(t *testing.T) {
	e := newScriptedExtension(t)
	e.hold = make(chan struct{})
	c := connectCDP(t, e.b)
	session := c.attachAll("https://a.test/")
	const method = "Runtime.callFunctionOn"
	large := map[string]any{"arguments": strings.Repeat("x", 2*wire.MaxQueued)}
	first := c.start(session, method, large)
	small := c.start(session, "Page.stopLoading", nil)
	c.denied(session, method, large, "too many commands without a result")
	close(e.hold)
	if m := <-first; m.Error != nil {
		t.Errorf("the first command: %+v", m.Error)
	}
	if m := <-small; m.Error != nil {
		t.Errorf("the second command: %+v", m.Error)
	}
	c.call(session, method, large, nil)
}
