package relay

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// While a page is handed over to the user, no client acts in it or receives what happens there.
// Clients still learn of its targets, documents and execution contexts, because they cannot continue
// without.

// handedOver reports whether the page of a session is handed over to the user. The session of a frame
// or worker that the client attached without a page counts as one of any page.
func (c *client) handedOver(s *cdpSession) bool {
	if s == nil || s.target.ID == "" {
		return false // the browser target
	}
	return c.browser.conn.HandedOver(c.sessions.pageOf(s))
}

var errHandedOver = executor.Errorf(executor.ErrTimeout, "Wait, and send it again.",
	"the page is handed over to the user")

// errResultDropped is the error of a command that had its effect: the client must not repeat it.
var errResultDropped = executor.Errorf(executor.ErrTimeout, "Wait, and read the page.",
	"the command was executed, but the page was handed over to the user before its result arrived")

// checkHandover returns why a command cannot be sent because a page is handed over.
func (c *client) checkHandover(cmd *command) error {
	switch cmd.method {
	case "Target.closeTarget", "Target.activateTarget":
		if id, err := cmd.text("targetId"); err == nil && id != "" && c.browser.conn.HandedOver(id) {
			return errHandedOver
		}
		return nil
	case "Target.detachFromTarget", "Target.setAutoAttach", "Runtime.runIfWaitingForDebugger":
		return nil
	case "Fetch.continueRequest": // without a change
		if len(object(cmd.params)) == 1 {
			return nil
		}
	}
	if c.handedOver(cmd.session) {
		return errHandedOver
	}
	return nil
}

// structural are events that clients receive about a page that is handed over.
var structural = map[string]bool{
	"Runtime.executionContextCreated": true, "Runtime.executionContextDestroyed": true,
	"Runtime.executionContextsCleared": true, "Page.frameAttached": true, "Page.frameDetached": true,
	"Page.frameNavigated": true, "Page.navigatedWithinDocument": true, "Page.frameStartedLoading": true,
	"Page.frameStoppedLoading": true, "Page.frameStartedNavigating": true, "Page.lifecycleEvent": true,
	"Page.loadEventFired": true, "Page.domContentEventFired": true, "Page.javascriptDialogClosed": true,
	"Debugger.resumed": true,
}

// forwardDuringHandover reports whether an event of a page that is handed over is for the client. It
// lets a page continue that waits for the client.
func (c *client) forwardDuringHandover(ctx context.Context, s *cdpSession, m *executor.CDPMessage) bool {
	if m.Method == "Page.javascriptDialogClosed" {
		e := object(m.Params)
		e["userInput"] = "" // what the user has entered in a prompt
		m.Params = encode(e)
	}
	if structural[m.Method] || strings.HasPrefix(m.Method, "Target.") || strings.HasPrefix(m.Method, "Inspector.") {
		return true
	}
	resume, params := "", map[string]any{}
	switch m.Method {
	case "Fetch.requestPaused":
		resume = "Fetch.continueRequest"
	case "Fetch.authRequired":
		resume, params["authChallengeResponse"] = "Fetch.continueWithAuth", map[string]any{"response": "Default"}
	case "Debugger.paused":
		resume, params = "Debugger.resume", nil
	}
	if resume == "" {
		return false
	}
	if params != nil {
		var e struct{ RequestID string }
		_ = json.Unmarshal(m.Params, &e)
		params["requestId"] = e.RequestID
	}
	c.background(ctx, s.id, resume, params)
	return false
}

// downloadBegan records a download, and reports whether its event is for the client. Events of the
// browser's session name the page by one of its frames.
func (c *client) downloadBegan(m *executor.CDPMessage) bool {
	frame, err := textParam(m.Params, "frameId")
	seen := err == nil && !c.browser.conn.HandedOver(frame)
	if id, err := textParam(m.Params, "guid"); err == nil {
		c.downloads.set(id, seen)
	}
	return seen
}
