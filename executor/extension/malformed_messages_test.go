package extension

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestDisconnectedReason: before anything connects, calls say how to get there.
func TestDisconnectedReason(t *testing.T) {
	b := newBackend(t, newServer(t))
	s, err := b.NewSession(executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Snapshot(t.Context(), "", nil)
	wantCode(t, err, executor.ErrNoBackend, "extension install", "share")
	_, err = s.ListTabs(t.Context())
	wantCode(t, err, executor.ErrNoBackend, "--print-pairing")
	if st := b.Status(t.Context()); st.Ready || st.ExtensionConnected || st.Detail == "" {
		t.Errorf("status %+v", st)
	}
}

// TestNotSetUp: where no extension backend configured, nobody is asked to open it.
func TestNotSetUp(t *testing.T) {
	b := New(Options{Server: newServer(t), DataDir: t.TempDir(), Expected: func() bool { return false }})
	defer b.Close()
	err := b.DisconnectedError()
	wantCode(t, err, executor.ErrNoBackend, "extension install")
	if !errors.Is(err, executor.ErrExtensionNotInstalled) || strings.Contains(err.Error(), "Ask the user") {
		t.Errorf("the reason is %v", err)
	}
}

// TestMalformedMessages: whatever the wire says, nothing panics, and the tabs that are
// there go on.
func TestMalformedMessages(t *testing.T) {
	server := newServer(t)
	b := newBackend(t, server)
	_, peer := server.Pipe("nonsense")
	defer peer.Close()
	answer := func() *wire.Command {
		for {
			f, err := receive(t.Context(), peer)
			if err != nil {
				t.Fatal(err)
			}
			// The download that nobody asked for is cancelled whenever its turn comes.
			if c, ok := f.(*wire.Command); ok && c.Method != wire.MethodDownloadCancel {
				return c
			}
		}
	}
	send(peer, &wire.Result{ID: answer().ID, Data: json.RawMessage(`{"tabs":[]}`)})
	tell := func(event, data string) {
		t.Helper()
		if err := send(peer, &wire.Event{Event: event, Data: json.RawMessage(data)}); err != nil {
			t.Fatal(err)
		}
	}
	tab := func(id, target string) string {
		return `{"tabId":` + id + `,"targetId":"` + target + `","url":"https://a.test/","title":"A","active":false,"own":false,"index":0}`
	}
	tell("tab_shared", tab("1", "")) // no target
	tell("tab_shared", tab("2", "T2"))
	tell("tab_shared", `{}`)
	tell("tab_shared", `{"tabId":"x"}`)
	tell("tab_unshared", `{"tabId":99,"reason":"user"}`)
	tell("detached", `{"tabId":99,"reason":"x"}`)
	tell("nothing of the kind", `{}`)
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
		tell("cdp", `{"tabId":2,`+e+`}`)
		tell("cdp", `{"tabId":99,`+e+`}`)
	}
	for _, method := range []string{
		"Page.frameAttached", "Page.frameDetached", "Page.frameNavigated", "Page.navigatedWithinDocument", "Page.windowOpen", "Page.documentOpened",
		"Page.lifecycleEvent", "Page.frameStartedNavigating", "Page.frameStoppedLoading", "Page.javascriptDialogClosed",
		"Runtime.executionContextCreated", "Runtime.executionContextDestroyed", "Runtime.executionContextsCleared", "Runtime.bindingCalled",
		"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Inspector.targetReloadedAfterCrash", "Target.attachedToTarget", "Target.detachedFromTarget",
		"Network.requestWillBeSent", "Network.responseReceived", "Network.loadingFinished", "Network.loadingFailed", "Page.downloadWillBegin",
	} {
		for _, params := range []string{`{}`, `null`, `[]`, `{"frame":null}`, `7`} {
			tell("cdp", `{"tabId":2,"method":"`+method+`","params":`+params+`}`)
		}
	}
	tell("download", `{"id":-1,"url":"","filename":"","state":"?","bytes":-1,"total":-1,"mime":""}`)
	tell("tab_updated", tab("3", "T3"))
	awaitTabs(t, b, 2)
	s, err := b.NewSession(executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.ListTabs(t.Context())
	if err != nil || len(list) != 2 || list[0].Title != "A" {
		t.Fatalf("listed %+v, %v", list, err)
	}
	// A call that the extension answers with nonsense ends.
	done := make(chan error, 1)
	go func() {
		_, err := s.Text(t.Context(), list[0].ID, nil)
		done <- err
	}()
	c := answer()
	if c.Method != wire.MethodTabAttach {
		t.Fatalf("%s comes first", c.Method)
	}
	send(peer, &wire.Result{ID: c.ID, Data: json.RawMessage(`7`)})
	// What follows was sent without waiting for answers to any of it.
	for range 8 {
		if c := answer(); c.Method != wire.MethodCDP {
			t.Fatalf("%s among the commands", c.Method)
		}
	}
	tell("tab_unshared", `{"tabId":2,"reason":"no such reason"}`)
	wantCode(t, <-done, executor.ErrDetached)
}
