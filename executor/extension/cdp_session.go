package extension

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
)

// A cdpSession is a CDP session of a client. hub.mu guards its fields.
type cdpSession struct {
	client   *cdpClient
	id       string
	kind     string // of the target
	parent   *cdpSession
	children []*cdpSession
	tab      *cdpTab    // nil for the browser
	target   *cdpTarget // nil for the browser and for a tab
	detached bool

	discover       bool
	discoverFilter cdpshare.TargetFilter
	downloads      bool // receives events about downloads
	auto           bool
	autoFilter     cdpshare.TargetFilter
	wait           bool // targets that it attaches to wait for it

	drives    bool // the client has sent more than setup commands
	ready     bool // commands are sent to the browser; if not, see setup
	setup     setup
	enabled   map[string]bool // domains that it uses; whether it receives their events
	lifecycle bool
	scripts   []string // identifiers of scripts for new documents
	bindings  map[string]bool
	drags     bool // receives the events of drags
	stored    int  // size of what is stored for it, in bytes, see countStored
}

// newChild returns a new session below s, of a target of a kind. t is nil for the browser. The caller
// notifies the client.
func (s *cdpSession) newChild(kind string, t *cdpTab) *cdpSession {
	raw := make([]byte, 16)
	rand.Read(raw) // never fails
	child := &cdpSession{
		client: s.client, id: strings.ToUpper(hex.EncodeToString(raw)), kind: kind, parent: s, tab: t,
		enabled: make(map[string]bool), bindings: make(map[string]bool),
	}
	child.setup.session = child
	s.children = append(s.children, child)
	s.client.sessions[child.id] = child
	return child
}

// event sends an event to the client.
func (s *cdpSession) event(method string, params any) {
	s.client.put(executor.CDPMessage{SessionID: s.id, Method: method, Params: mustJSON(params)})
}

// reply replies to a command with a result. A nil result is an empty object.
func (s *cdpSession) reply(m executor.CDPMessage, result any) {
	if result == nil {
		result = emptyResult
	}
	s.answer(m, mustJSON(result), nil)
}

// fail replies to a command with an error.
func (s *cdpSession) fail(m executor.CDPMessage, err *executor.CDPError) { s.answer(m, nil, err) }

// answer replies to a command, unless s is detached. Either result or err is nil.
func (s *cdpSession) answer(m executor.CDPMessage, result json.RawMessage, err *executor.CDPError) {
	if !s.detached {
		s.client.put(executor.CDPMessage{ID: m.ID, SessionID: m.SessionID, Result: result, Error: err})
	}
}

// drop detaches s and the sessions below it, and notifies the client, of those below first.
func (s *cdpSession) drop() {
	below := s.tree()
	s.parent.children = slices.DeleteFunc(s.parent.children, func(x *cdpSession) bool { return x == s })
	for _, x := range slices.Backward(below) {
		params := map[string]any{"sessionId": x.id}
		if x.tab != nil {
			params["targetId"] = x.targetID()
		}
		x.parent.event("Target.detachedFromTarget", params)
	}
	for _, x := range below {
		delete(s.client.sessions, x.id)
	}
	s.client.leave(below)
}

// undo sends the commands that undo what s changed, except where others need it.
func (s *cdpSession) undo() {
	t := s.target
	s.undoSettings() // first: some commands need the domain
	for domain := range s.enabled {
		if domain == "Fetch" {
			if command, ok := t.endInterception(s); ok {
				s.client.undo(t, command.Method, command.Params)
			}
			continue
		}
		t.disabled(domain)
		if domain != "Page" && !t.uses(domain) { // see disable
			s.client.undo(t, domain+".disable", nil)
			t.restoreAfterDisable(domain)
		}
	}
	if s.tab.screencast == s {
		s.client.undo(t, "Page.stopScreencast", nil)
		s.tab.screencastEnded()
	}
	for _, id := range s.scripts {
		s.client.undo(t, "Page.removeScriptToEvaluateOnNewDocument", map[string]any{"identifier": id})
	}
	for name := range s.bindings {
		if !slices.ContainsFunc(t.sessions, func(o *cdpSession) bool { return o.bindings[name] }) {
			s.client.undo(t, "Runtime.removeBinding", map[string]any{"name": name})
		}
	}
	if s.auto {
		s.client.undo(t, "Target.setAutoAttach", t.autoAttachParams())
		if s.wait {
			for _, child := range t.children {
				s.client.undo(child, "Runtime.runIfWaitingForDebugger", nil)
			}
		}
	}
}

// usesDebugger reports whether s needs the debugger: its commands reach the browser, or will.
func (s *cdpSession) usesDebugger() bool {
	return s.ready || s.setup.attaching || s.setup.replaying
}

// tree returns s and the sessions below it, each before its children.
func (s *cdpSession) tree() []*cdpSession {
	list := []*cdpSession{s}
	for _, child := range s.children {
		list = append(list, child.tree()...)
	}
	return list
}

// targetID returns the id of the target of s, which is not the browser.
func (s *cdpSession) targetID() string {
	switch {
	case s.kind == cdpshare.TabTarget:
		return tabTargetID(s.tab.info.TargetID)
	case s.target != nil && s.target.id != "":
		return s.target.id
	}
	return s.tab.info.TargetID
}

// command runs a command of the client.
func (s *cdpSession) command(m executor.CDPMessage) {
	switch {
	case s.kind == cdpshare.BrowserTarget:
		s.browserCommand(m)
	case s.kind == cdpshare.TabTarget:
		s.tabCommand(m)
	case s.handleLocally(m):
	default:
		s.drives = s.drives || setupCommands[m.Method] == nil
		if !s.ready {
			s.setup.command(m)
			return
		}
		s.run(m, func(result json.RawMessage, err *executor.CDPError) { s.answer(m, result, err) })
	}
}

// handleLocally replies to the commands to a page that are not for the debugger. It reports whether m
// is one.
func (s *cdpSession) handleLocally(m executor.CDPMessage) bool {
	domain, name, _ := strings.Cut(m.Method, ".")
	switch {
	case m.Method == "Page.close":
		s.closeTarget(m, s.tab)
	case m.Method == "Page.bringToFront", m.Method == "Page.setDownloadBehavior", domain == "Audits", domain == "WebMCP":
		s.reply(m, nil) // without effect in the user's Chrome
	case m.Method == "Target.getTargetInfo":
		if s.target.info != nil {
			s.reply(m, map[string]any{"targetInfo": s.target.info})
		} else {
			s.reply(m, map[string]any{"targetInfo": s.client.infoOf(s.tab, cdpshare.PageTarget)})
		}
	case m.Method == "Target.detachFromTarget", m.Method == "Target.setDiscoverTargets":
		s.browserCommand(m)
	case domain == "Target" && name != "setAutoAttach", domain == "Browser":
		s.fail(m, unavailable(m.Method, "send the command to the browser target"))
	default:
		return false
	}
	return true
}
