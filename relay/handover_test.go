package relay

import (
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
)

// TestHandedOverPage checks that a client can neither act in a page that is handed over to the user
// nor receives what happens there, also in its frames, and that the page does not wait for the
// client.
func TestHandedOverPage(t *testing.T) {
	b := newFake()
	late := make(chan executor.CDPMessage, 1)
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		if m.Method == "Runtime.evaluate" || m.Method == "Input.insertText" {
			late <- m
			return true
		}
		return false
	}
	_, address := serve(t, Options{Browser: b})
	c := dial(t, address+"/devtools/browser/x", "")
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true})
	b.conn().attach("", "page", target{ID: "P", Type: "page", URL: "https://example.com/"})
	b.conn().attach("page", "frame", target{ID: "F", Type: "iframe", URL: "https://example.com/f"})
	b.conn().attach("", "root frame", target{ID: "F", Type: "iframe", URL: "https://example.com/f"})
	b.conn().attach("", "worker", target{ID: "W", Type: "shared_worker", URL: "blob:https://example.com/1"})
	b.conn().attach("", "other", target{ID: "O", Type: "page", URL: "https://example.com/o"})
	c.event("Target.attachedToTarget", func(e map[string]any) bool { return e["sessionId"] == "other" })
	before := c.send("page", "Runtime.evaluate", map[string]any{"expression": "1"})
	pending := <-late
	inserted := c.send("page", "Input.insertText", map[string]any{"text": "once"})
	pendingText := <-late

	target := "P"
	b.handOver(&target)
	for _, session := range []string{"page", "frame", "root frame", "worker"} {
		c.denied(session, "DOM.enable", nil, "the page is handed over to the user")
		c.denied(session, "Fetch.continueRequest", map[string]any{"requestId": "1", "method": "POST"}, "the page is handed over to the user")
	}
	for _, id := range []string{"P", "tab of P"} {
		c.denied("", "Target.closeTarget", map[string]any{"targetId": id}, "the page is handed over to the user")
		c.denied("", "Target.activateTarget", map[string]any{"targetId": id}, "the page is handed over to the user")
	}
	c.call("other", "DOM.enable", nil)
	b.conn().reply(pending, map[string]any{"result": map[string]any{"value": "typed"}})
	b.conn().reply(pendingText, map[string]any{})
	b.conn().emit("page", "Console.messageAdded", map[string]any{"text": "typed"})
	b.conn().emit("frame", "DOM.attributeModified", map[string]any{"name": "value", "value": "typed"})
	b.conn().emit("page", "Fetch.requestPaused", map[string]any{"requestId": "7", "request": map[string]any{"url": "https://example.com/?typed"}})
	b.conn().emit("page", "Page.loadEventFired", map[string]any{"timestamp": 1})
	for done := false; !done; {
		switch m := c.next(); {
		case m.ID == before:
			if m.Error == nil || strings.Contains(m.Error.Message, "again") {
				t.Errorf("the result of a command from before the handover: %s, %v", m.Result, m.Error)
			}
		case m.ID == inserted:
			if m.Error != nil {
				t.Errorf("a command from before the handover that succeeded: %v", m.Error)
			}
		case m.Method == "Page.loadEventFired":
			done = true
		default:
			t.Errorf("the client received %+v", m)
		}
	}
	c.call("other", "DOM.disable", nil) // the relay's command was sent before
	for !slices.Contains(b.sent(), "Fetch.continueRequest") {
		c.call("other", "DOM.disable", nil)
	}
	b.handOver(nil)
	c.call("page", "DOM.enable", nil)
}

// TestSettingsDuringHandover checks that a page that is handed over is released from what a client has
// set, and gets it back before the client's next command.
func TestSettingsDuringHandover(t *testing.T) {
	b := newFake()
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		if m.Method != "Fetch.enable" || m.SessionID != "frame" {
			return false
		}
		c.queue <- executor.CDPMessage{ID: m.ID, SessionID: m.SessionID, Error: &executor.CDPError{Code: codeServer, Message: "no"}}
		return true
	}
	_, address := serve(t, Options{Browser: b})
	c := dial(t, address+"/devtools/browser/x", "")
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true}) // then it has started
	b.conn().attach("", "page", target{ID: "P", Type: "page", URL: "https://example.com/"})
	b.conn().attach("page", "frame", target{ID: "F", Type: "iframe", URL: "https://example.com/f"})
	b.conn().attach("", "other", target{ID: "O", Type: "page", URL: "https://example.com/o"})
	c.event("Target.attachedToTarget", func(e map[string]any) bool { return e["sessionId"] == "other" })

	set := map[string]map[string]any{}
	for method, s := range settings() {
		set[method] = map[string]any{"set by": "the client"}
		if table()[s.Method] == nil {
			t.Errorf("%s does not exist", s.Method)
		}
		c.call("page", method, set[method])
		c.call("other", method, set[method])
	}
	c.call("frame", "Debugger.enable", nil)
	c.call("frame", "Network.setBlockedURLs", map[string]any{"urls": []string{"*"}})
	c.call("frame", "Network.disable", nil)
	c.call("frame", "Page.startScreencast", nil)
	c.call("frame", "Page.stopScreencast", nil)
	c.denied("frame", "Fetch.enable", nil, "no") // it sets nothing

	commands := func(n int) map[string][]string {
		sent := b.awaitSent(t, n)
		all := map[string][]string{}
		for _, m := range sent {
			all[m.SessionID] = append(all[m.SessionID], m.Method+" "+string(m.Params))
		}
		for _, list := range all {
			slices.Sort(list)
		}
		return all
	}
	var released, restored []string
	for method, s := range settings() {
		released = append(released, s.Method+" "+string(s.Params))
		restored = append(restored, method+" "+string(encode(set[method])))
	}
	released = append(released, "Debugger.resume ")
	slices.Sort(released)
	slices.Sort(restored)

	b.forget()
	target := "P"
	b.handOver(&target)
	got := commands(len(released) + 2)
	if !slices.Equal(got["page"], released) {
		t.Errorf("released by\n%q, want\n%q", got["page"], released)
	}
	if want := []string{"Debugger.resume ", `Debugger.setSkipAllPauses {"skip":true}`}; !slices.Equal(got["frame"], want) {
		t.Errorf("the frame was released by %q", got["frame"])
	}
	if len(got) != 2 {
		t.Errorf("commands were sent to %q", got)
	}

	b.forget()
	b.handedOver.Store(nil) // the relay is not notified before the next command
	c.call("page", "Page.startScreencast", map[string]any{"format": "png"})
	if got := commands(len(restored) + 1)["page"]; !slices.Equal(slices.DeleteFunc(got, func(s string) bool { return s == `Page.startScreencast {"format":"png"}` }), restored) {
		t.Errorf("restored by\n%q, want\n%q", got, restored)
	}
	if last := b.awaitSent(t, 1); last[len(last)-1].Method != "Page.startScreencast" {
		t.Errorf("the command of the client was sent before %s", last[len(last)-1].Method)
	}
	b.forget()
	b.handovers.Notify()
	if got := commands(1); !slices.Equal(got["frame"], []string{`Debugger.setSkipAllPauses {"skip":false}`}) {
		t.Errorf("restored by %q", got)
	}
}

// TestRequestsDuringHandover checks that a client learns nothing later about a request that began
// while the page was handed over.
func TestRequestsDuringHandover(t *testing.T) {
	b := newFake()
	_, address := serve(t, Options{Browser: b})
	c := dial(t, address+"/devtools/browser/x", "")
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true}) // then it has started
	b.conn().attach("", "page", target{ID: "P", Type: "page", URL: "https://example.com/"})
	c.event("Target.attachedToTarget", nil)
	request := func(id string) {
		b.conn().emit("page", "Network.requestWillBeSent", map[string]any{"requestId": id, "request": map[string]any{"url": "https://example.com/" + id}})
	}
	request("before")
	c.event("Network.requestWillBeSent", nil)
	target := "P"
	b.handOver(&target)
	request("typed")
	b.conn().emit("page", "Page.loadEventFired", map[string]any{"timestamp": 1})
	c.event("Page.loadEventFired", nil)
	b.handOver(nil)
	for _, id := range []string{"typed", "before"} {
		b.conn().emit("page", "Network.responseReceived", map[string]any{"requestId": id, "response": map[string]any{"url": "https://example.com/" + id}})
	}
	if m := c.next(); m.Method != "Network.responseReceived" || object(m.Params)["requestId"] != "before" {
		t.Errorf("the client received %s %s", m.Method, m.Params)
	}
	for _, method := range []string{"Network.getRequestPostData", "Network.getResponseBody"} {
		c.denied("page", method, map[string]any{"requestId": "typed"}, "No resource with given id")
	}
	c.call("page", "Network.getRequestPostData", map[string]any{"requestId": "before"})
}

// TestEntriesDuringHandover checks that a client does not receive what the user enters in a prompt
// dialog, nor the downloads that start during a handover.
func TestEntriesDuringHandover(t *testing.T) {
	b := newFake()
	_, address := serve(t, Options{Browser: b})
	c := dial(t, address+"/devtools/browser/x", "")
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true}) // then it has started
	b.conn().attach("", "page", target{ID: "P", Type: "page", URL: "https://example.com/"})
	c.event("Target.attachedToTarget", nil)
	download := func(id, frame string) {
		b.conn().emit("", "Browser.downloadWillBegin", map[string]any{"guid": id, "frameId": frame, "url": "https://example.com/" + id, "suggestedFilename": id})
		b.conn().emit("", "Browser.downloadProgress", map[string]any{"guid": id, "state": "completed", "filePath": "/" + id})
	}
	target := "P"
	b.handOver(&target)
	b.conn().emit("page", "Page.javascriptDialogClosed", map[string]any{"frameId": "P", "result": true, "userInput": "typed"})
	if m := c.next(); m.Method != "Page.javascriptDialogClosed" || object(m.Params)["userInput"] != "" {
		t.Errorf("the client received %s %s", m.Method, m.Params)
	}
	download("mine", "P")
	download("frame", "a frame of P")
	b.conn().emit("page", "Page.loadEventFired", map[string]any{"timestamp": 1})
	if m := c.next(); m.Method != "Page.loadEventFired" {
		t.Errorf("the client received %s %s", m.Method, m.Params)
	}
	b.handOver(nil)
	b.conn().emit("", "Browser.downloadProgress", map[string]any{"guid": "mine", "state": "completed", "filePath": "/mine"})
	c.denied("", "Browser.cancelDownload", map[string]any{"guid": "mine"}, "No download item found")
	download("later", "P")
	for _, want := range []string{"Browser.downloadWillBegin", "Browser.downloadProgress"} {
		if m := c.next(); m.Method != want || object(m.Params)["guid"] != "later" {
			t.Errorf("the client received %s %s, want %s", m.Method, m.Params, want)
		}
	}
}

// TestSettingsInChromium checks that Chromium accepts the commands that undo what a client has set.
func TestSettingsInChromium(t *testing.T) {
	_, address := serve(t, Options{Browser: startPlain(t)})
	c := dial(t, address+"/devtools/browser/x", "")
	page := c.open("about:blank", "")
	for _, domain := range []string{"DOM", "Debugger", "Network", "Overlay", "Page", "Security"} {
		c.call(page, domain+".enable", nil)
	}
	for method := range table() {
		if s, ok := cdpshare.Neutral(method); ok {
			c.call(page, s.Method, s.Params)
		}
	}
	for _, s := range settings() {
		c.call(page, s.Method, s.Params)
	}
}
