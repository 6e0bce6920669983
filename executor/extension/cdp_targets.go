package extension

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A cdpTarget is a page, frame or worker with its CDP session of the browser. hub.mu guards its
// fields.
type cdpTarget struct {
	tab          *cdpTab
	session      string // empty for the page
	id           string // empty for the page
	kind         string
	info         json.RawMessage // Target.TargetInfo; nil for the page
	children     []*cdpTarget
	sessions     []*cdpSession // of clients
	tool         toolUse
	log          cdpshare.EventLog
	interception cdpshare.Interception[*cdpSession]
	settings     cdpshare.Settings[*cdpSession] // nil is the tools
}

// A toolUse is what tools use of a session.
type toolUse struct {
	enabled map[string]bool // domains
	auto    bool            // attaches to frames
	params  json.RawMessage // of Target.setAutoAttach
}

// command returns a command to the target. client is the id of the client that sends it, or "" for
// tools: the extension checks their commands differently. params may be nil.
func (t *cdpTarget) command(client, method string, params any) wire.CDPCommand {
	command := wire.CDPCommand{TabID: t.tab.id, SessionID: t.session, Method: method, Client: client}
	if params != nil {
		command.Params = mustJSON(params)
	}
	return command
}

// sendUnanswered sends a command to the target whose result neither a client nor tools wait for. The
// parameters are those of command.
func (t *cdpTarget) sendUnanswered(client, method string, params any) {
	h := t.tab.hub
	err := t.tab.queue(context.Background(), wire.MethodCDP, t.command(client, method, params), func(_ json.RawMessage, err error) {
		h.logFailure(err)
	})
	h.logFailure(err)
}

// newTarget returns a target of a tab. session is empty for the page.
func newTarget(t *cdpTab, session, kind string) *cdpTarget {
	return &cdpTarget{
		tab: t, session: session, kind: kind, tool: toolUse{enabled: make(map[string]bool)},
		log: cdpshare.EventLog{HiddenWorld: frames.WorldName},
	}
}

// uses reports whether tools or a client use a domain of the target.
func (t *cdpTarget) uses(domain string) bool {
	return t.tool.enabled[domain] || t.clientsUse(domain)
}

// clientsUse reports whether a client uses a domain of the target.
func (t *cdpTarget) clientsUse(domain string) bool {
	return slices.ContainsFunc(t.sessions, func(s *cdpSession) bool { _, ok := s.enabled[domain]; return ok })
}

// disabled forgets the events of a domain if it is no longer used: the browser will send them again.
func (t *cdpTarget) disabled(domain string) {
	if !t.uses(domain) {
		t.log.Disabled(domain)
	}
}

// clientsAttach reports whether a client attaches to the frames and workers of the target.
func (t *cdpTarget) clientsAttach() bool {
	return slices.ContainsFunc(t.sessions, func(s *cdpSession) bool { return s.auto })
}

// autoAttachParams returns the parameters of Target.setAutoAttach that tools and clients together
// need.
func (t *cdpTarget) autoAttachParams() json.RawMessage {
	if !t.clientsAttach() {
		if t.tool.auto {
			return t.tool.params
		}
		return json.RawMessage(`{"autoAttach":false,"waitForDebuggerOnStart":false,"flatten":true}`)
	}
	wait := member[bool](t.tool.params, "waitForDebuggerOnStart")
	for _, s := range t.sessions {
		wait = wait || s.auto && s.wait
	}
	return mustJSON(map[string]any{"autoAttach": true, "waitForDebuggerOnStart": wait, "flatten": true})
}

// addChild adds the frame or worker of Target.attachedToTarget.
func (t *cdpTarget) addChild(e *wire.CDPEvent) *cdpTarget {
	var p struct {
		Session string          `json:"sessionId"`
		Info    json.RawMessage `json:"targetInfo"`
		Waiting bool            `json:"waitingForDebugger"`
	}
	var info struct {
		ID   string `json:"targetId"`
		Type string `json:"type"`
	}
	if json.Unmarshal(e.Params, &p) != nil || json.Unmarshal(p.Info, &info) != nil || p.Session == "" ||
		t.tab.targets[p.Session] != nil || strings.HasPrefix(p.Session, sessionPrefix) {
		return nil
	}
	child := newTarget(t.tab, p.Session, info.Type)
	child.id, child.info = info.ID, withContext(p.Info)
	t.children = append(t.children, child)
	t.tab.targets[p.Session] = child
	for _, s := range slices.Clone(t.sessions) {
		s.attachChild(child, p.Waiting)
	}
	return child
}

// withContext sets the browser context of a target.
func withContext(info json.RawMessage) json.RawMessage {
	var p map[string]json.RawMessage
	if json.Unmarshal(info, &p) != nil {
		return info
	}
	p["browserContextId"] = mustJSON(defaultContextID)
	return mustJSON(p)
}

// removeChild removes the frame or worker of Target.detachedFromTarget.
func (t *cdpTarget) removeChild(e *wire.CDPEvent) {
	child := t.tab.targets[member[string](e.Params, "sessionId")]
	if !slices.Contains(t.children, child) {
		return
	}
	t.children = slices.DeleteFunc(t.children, func(x *cdpTarget) bool { return x == child })
	child.forget()
}

// forget removes a target that is gone, and the targets below it.
func (t *cdpTarget) forget() {
	delete(t.tab.targets, t.session)
	for _, child := range t.children {
		child.forget()
	}
	for _, s := range slices.Clone(t.sessions) {
		s.ready = false // nothing remains to be undone
		s.drop()
	}
}
