package extension

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestDisconnectedReason checks that calls describe how to install and pair the extension while no
// extension has connected.
func TestDisconnectedReason(t *testing.T) {
	b := newBackend(t, newServer(t))
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	_, err = pagetest.Of(s, "").Snapshot(t.Context(), nil)
	wantCode(t, err, executor.ErrNoBackend, "extension install", "share")
	_, err = s.Tabs(t.Context())
	wantCode(t, err, executor.ErrNoBackend, "bridge.NewPairing")
	if st := b.Status(t.Context()); st.Ready || st.ExtensionConnected || st.Detail == "" {
		t.Errorf("status %+v", st)
	}
}

// TestBadOptions checks that New rejects options that are invalid.
func TestBadOptions(t *testing.T) {
	rules, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	network := policy.NewGuard(rules, nil).Network()
	for name, o := range map[string]Options{
		"no server":  {},
		"proxy":      {Server: newServer(t), Network: network, Proxy: "socks5://127.0.0.1:1080"},
		"no network": {Server: newServer(t), Proxy: "http://127.0.0.1:1080"},
	} {
		b, err := New(&o)
		if wantCode(t, err, executor.ErrBadArgs); b != nil {
			t.Errorf("%s: New returned a Backend", name)
		}
	}
}

// TestNotSetUp checks that the error does not ask the user to open Chrome if no extension is
// expected.
func TestNotSetUp(t *testing.T) {
	b, err := New(&Options{Server: newServer(t), DataDir: t.TempDir(), Expected: func() bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	err = b.DisconnectedError()
	wantCode(t, err, executor.ErrNoBackend, "extension install")
	if !errors.Is(err, executor.ErrExtensionNotInstalled) || strings.Contains(err.Error(), "Ask the user") {
		t.Errorf("error %v", err)
	}
}

// TestMalformedMessages sends malformed messages and checks that the backend does not panic and
// that the shared tabs stay usable.
func TestMalformedMessages(t *testing.T) {
	server := newServer(t)
	b := newBackend(t, server)
	_, peer := server.Pipe("malformed")
	defer peer.Close()
	nextCommand := func() *wire.Command {
		for {
			f, err := receive(t.Context(), peer)
			if err != nil {
				t.Fatal(err)
			}
			// The command that cancels the unexpected download can arrive at any time.
			if c, ok := f.(*wire.Command); ok && c.Method != wire.MethodDownloadCancel {
				return c
			}
		}
	}
	send(peer, &wire.Result{ID: nextCommand().ID, Data: json.RawMessage(`{"tabs":[]}`)})
	sendEvent := func(event, data string) {
		t.Helper()
		if err := send(peer, &wire.Event{Event: event, Data: json.RawMessage(data)}); err != nil {
			t.Fatal(err)
		}
	}
	tab := func(id, target string) string {
		return `{"tabId":` + id + `,"targetId":"` + target + `","url":"https://a.test/","title":"A","active":false,"own":false,"index":0}`
	}
	sendEvent("tab_shared", tab("1", "")) // no target id
	sendEvent("tab_shared", tab("2", "T2"))
	sendEvent("tab_shared", `{}`)
	sendEvent("tab_shared", `{"tabId":"x"}`)
	sendEvent("tab_unshared", `{"tabId":99,"reason":"user"}`)
	sendEvent("detached", `{"tabId":99,"reason":"x"}`)
	sendEvent("unknown event", `{}`)
	for _, e := range []string{
		`"method":"Target.attachedToTarget","params":{"sessionId":"","targetInfo":{"targetId":"F","type":"iframe"},"waitingForDebugger":false}`,
		`"method":"Target.attachedToTarget","params":{"sessionId":"tab-1","targetInfo":{"targetId":"F","type":"iframe"},"waitingForDebugger":false}`,
		`"method":"Target.attachedToTarget","params":{"sessionId":"C1"}`,
		`"method":"Target.attachedToTarget","params":{"sessionId":7}`,
		`"method":"Target.attachedToTarget","params":null`,
		`"method":"Target.attachedToTarget"`,
		`"method":"Target.detachedFromTarget","params":{"sessionId":""}`,
		`"method":"Target.detachedFromTarget","params":{"sessionId":"tab-1"}`,
		`"method":"ChromeMCP.detached","params":{"code":"DETACHED","final":true}`,
		`"sessionId":"tab-1","method":"Page.frameNavigated","params":{}`,
		`"sessionId":"unknown","method":"Page.frameNavigated","params":{}`,
		`"method":"","params":{}`, `"method":"x","params":{}`, `"method":"Page.downloadWillBegin","params":{"frameId":1}`,
	} {
		sendEvent("cdp", `{"tabId":2,`+e+`}`)
		sendEvent("cdp", `{"tabId":99,`+e+`}`)
	}
	for _, method := range []string{
		"Page.frameAttached", "Page.frameDetached", "Page.frameNavigated", "Page.navigatedWithinDocument", "Page.windowOpen", "Page.documentOpened",
		"Page.lifecycleEvent", "Page.frameStartedNavigating", "Page.frameStoppedLoading", "Page.javascriptDialogClosed",
		"Runtime.executionContextCreated", "Runtime.executionContextDestroyed", "Runtime.executionContextsCleared", "Runtime.bindingCalled",
		"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Inspector.targetReloadedAfterCrash", "Target.attachedToTarget", "Target.detachedFromTarget",
		"Network.requestWillBeSent", "Network.responseReceived", "Network.loadingFinished", "Network.loadingFailed", "Page.downloadWillBegin",
	} {
		for _, params := range []string{`{}`, `null`, `[]`, `{"frame":null}`, `7`} {
			sendEvent("cdp", `{"tabId":2,"method":"`+method+`","params":`+params+`}`)
		}
	}
	sendEvent("download", `{"id":-1,"url":"","filename":"","state":"?","bytes":-1,"total":-1,"mime":""}`)
	sendEvent("tab_updated", tab("3", "T3"))
	awaitTabs(t, b, 2)
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Tabs(t.Context())
	if err != nil || len(list) != 2 || list[0].Title != "A" {
		t.Fatalf("tabs %+v, %v", list, err)
	}
	// A call returns even if the result from the extension is malformed.
	done := make(chan error, 1)
	go func() {
		_, err := pagetest.Of(s, list[0].ID).Text(t.Context(), nil)
		done <- err
	}()
	c := nextCommand()
	if c.Method != wire.MethodTabAttach {
		t.Fatalf("first command is %s", c.Method)
	}
	send(peer, &wire.Result{ID: c.ID, Data: json.RawMessage(`7`)})
	// The backend sends these commands without waiting for a response to any of them.
	for range 8 {
		if c := nextCommand(); c.Method != wire.MethodCDP {
			t.Fatalf("unexpected command %s", c.Method)
		}
	}
	sendEvent("tab_unshared", `{"tabId":2,"reason":"no such reason"}`)
	wantCode(t, <-done, executor.ErrDetached)
}
