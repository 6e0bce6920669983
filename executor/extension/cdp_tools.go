package extension

import (
	"encoding/json"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// toolCommands passes what tools send to a browser to the hub.
type toolCommands struct{ in *installation }

// attach records that tools attach the debugger to a tab.
func (c toolCommands) attach(r route) { c.update(r, func(t *cdpTab) { t.attachedForTools = true }) }

// attached records the result.
func (c toolCommands) attached(r route, err error) {
	c.update(r, func(t *cdpTab) {
		if t.attachedForTools = err == nil; t.attachedForTools {
			t.attached()
		}
	})
}

// update calls f with the tab of a route, if the hub has it.
func (c toolCommands) update(r route, f func(*cdpTab)) {
	if c.in == nil {
		return
	}
	h := c.in.backend.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tabOf(c.in, r.tab); t != nil {
		f(t)
	}
}

// command records what a command of the tools changes in a session that clients may share, and sends
// it with queue, which calls failed if the command fails. It reports whether it answered the command
// instead: the browser would disable what clients use, or not report its state again, because that is
// enabled already.
func (c toolCommands) command(r route, msg *cdproto.Message, queue func(failed func()) error) (answered bool, err error) {
	method := string(msg.Method)
	domain, name, _ := strings.Cut(method, ".")
	screencast := name == "startScreencast" || name == "stopScreencast"
	if c.in == nil || name != "enable" && name != "disable" && name != "setAutoAttach" && !screencast && !cdpshare.IsSetting(method) {
		return false, queue(func() {})
	}
	h := c.in.backend.hub
	h.mu.Lock() // until the command is queued, so that clients send theirs before or after it
	defer h.mu.Unlock()
	t := h.tabOf(c.in, r.tab)
	if t == nil || t.targets[r.session] == nil {
		return false, queue(func() {})
	}
	x := t.targets[r.session]
	used := x.clientsUse(domain)
	undo := func() {}
	switch {
	case screencast:
		t.toolsRender = name == "startScreencast"
		answered = t.screencast != nil || t.rendering && !t.toolsRender
	case name == "setAutoAttach":
		answered = x.toolAttaches(msg.SessionID, json.RawMessage(msg.Params))
	case msg.Method == "Fetch.enable" && t.interceptor() != nil:
		return false, executor.Errorf(executor.ErrCDP, "Use another tab, or ask the user to disconnect that client.",
			"%s intercepts the requests of the tab", t.interceptor().name)
	case name == "enable":
		x.tool.enabled[domain] = true
		if answered = domain == "Runtime" && used; answered {
			x.log.Replay(domain, func(e *wire.CDPEvent, _ bool) { c.in.tr.event(msg.SessionID, e.Method, e.Params) })
		}
	case name == "disable":
		delete(x.tool.enabled, domain)
		x.disabled(domain)
		for _, v := range x.settings.End(nil, domain) {
			x.restore(v)
		}
		if answered = used; !answered {
			defer x.restoreAfterDisable(domain)
		}
	default:
		var v *cdpshare.Setting[*cdpSession]
		v, undo = x.settings.Set(nil, cdpshare.Command{Method: method, Params: json.RawMessage(msg.Params)})
		if answered = v == nil || v.User != nil; answered && v != nil {
			x.restore(v)
		}
	}
	if answered {
		return true, nil
	}
	err = queue(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		undo()
	})
	if err != nil {
		undo()
	}
	return false, err
}

// toolAttaches handles that tools attach to the frames of the target, or detach from them.
func (t *cdpTarget) toolAttaches(session target.SessionID, params json.RawMessage) (answered bool) {
	auto := member[bool](params, "autoAttach")
	t.tool.auto, t.tool.params = auto, params
	if !t.clientsAttach() {
		return false
	}
	tr := t.tab.in.tr
	for _, child := range t.children {
		id := target.SessionID(child.session)
		if !auto {
			if tr.routesTo(id, t.tab.id) {
				tr.unroute(id)
				tr.event(session, "Target.detachedFromTarget", map[string]any{"sessionId": id})
			}
		} else if child.kind == "iframe" && tr.route(id, route{tab: t.tab.id, session: child.session}) {
			tr.event(session, "Target.attachedToTarget", map[string]any{
				"sessionId": id, "targetInfo": child.info, "waitingForDebugger": false,
			})
		}
	}
	if auto {
		t.sendUnanswered("", "Target.setAutoAttach", t.autoAttachParams())
	}
	return true
}
