package extension

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A doneFunc receives the result of a command or its error. It is called with hub.mu held.
type doneFunc func(json.RawMessage, *executor.CDPError)

// emptyResult is the result of a command that returns nothing.
var emptyResult = json.RawMessage("{}")

// sharedCommands are the commands whose effect depends on other users of the shared session, or must
// be undone, other than those of enable, disable, emulate and set.
var sharedCommands = map[string]func(*cdpSession, executor.CDPMessage, doneFunc){
	"Fetch.disable":                         endInterception,
	"Fetch.enable":                          intercept,
	"Input.setInterceptDrags":               (*cdpSession).setInterceptDrags,
	"Page.addScriptToEvaluateOnNewDocument": (*cdpSession).addScript,
	"Page.captureScreenshot":                (*cdpSession).captureScreenshot,
	"Page.screencastFrameAck":               acknowledgeFrame,
	"Page.setLifecycleEventsEnabled":        (*cdpSession).setLifecycleEvents,
	"Page.startScreencast":                  startScreencast,
	"Page.stopScreencast":                   stopScreencast,
	"Runtime.addBinding":                    (*cdpSession).addBinding,
	"Runtime.runIfWaitingForDebugger":       (*cdpSession).runIfWaiting,
	"Target.setAutoAttach":                  (*cdpSession).setAutoAttach,
}

// run runs a command in the browser, unless the shared session has its effect already. It calls done
// with the result, in the order of the messages of the browser.
func (s *cdpSession) run(m executor.CDPMessage, done doneFunc) {
	if m.Method == "Network.setUserAgentOverride" { // for the browser it is the same
		m.Method = "Emulation.setUserAgentOverride"
	}
	domain, name, _ := strings.Cut(m.Method, ".")
	switch shared := sharedCommands[m.Method]; {
	case shared != nil:
		shared(s, m, done)
	case domain == "Fetch":
		answerPaused(s, m, done)
	case name == "enable":
		s.enable(m, domain, done)
	case name == "disable":
		s.disable(m, domain, done)
	case domain == "Emulation" && name != "setFocusEmulationEnabled" && !strings.HasPrefix(name, "get") &&
		name != "canEmulate":
		s.emulate(m, done)
	case cdpshare.IsSetting(m.Method):
		s.set(m, done)
	default:
		s.send(m, done)
	}
}

// enable enables a domain for s. If it is enabled already, the browser does not report its state
// again. Then s receives the recorded events, in order with the results of earlier commands.
func (s *cdpSession) enable(m executor.CDPMessage, domain string, done doneFunc) {
	target := s.target
	first := !target.uses(domain)
	s.enabled[domain] = first || s.enabled[domain]
	s.send(m, func(result json.RawMessage, err *executor.CDPError) {
		receives, uses := s.enabled[domain]
		if err != nil {
			delete(s.enabled, domain)
		} else if uses && !receives {
			s.enabled[domain] = true
			target.log.Replay(domain, s.deliver)
		}
		done(result, err)
	})
}

// disable disables a domain for s, and in the browser if no other session and no tool uses it. Page
// remains enabled: the extension follows the documents of the tab by its events.
func (s *cdpSession) disable(m executor.CDPMessage, domain string, done doneFunc) {
	_, had := s.enabled[domain]
	delete(s.enabled, domain)
	s.target.disabled(domain)
	for _, v := range s.target.settings.End(s, domain) {
		s.target.restore(v)
	}
	s.countStored()
	if !had || domain == "Page" || s.target.uses(domain) {
		done(emptyResult, nil)
		return
	}
	s.send(m, done)
	s.target.restoreAfterDisable(domain)
}

// emulate runs a command of Emulation, which one client at a time can do in a tab.
func (s *cdpSession) emulate(m executor.CDPMessage, done doneFunc) {
	undo, owner, ok := s.tab.emulation.Set(s.client, cdpshare.Command{Method: m.Method, Params: m.Params})
	if !ok {
		done(nil, serverError("%s emulates in this tab", owner.name))
		return
	}
	s.send(m, func(result json.RawMessage, err *executor.CDPError) {
		if err != nil {
			undo()
		}
		done(result, err)
	})
}

// setLifecycleEvents selects whether s receives lifecycle events. They are never turned off in the
// browser, because others may use them.
func (s *cdpSession) setLifecycleEvents(m executor.CDPMessage, done doneFunc) {
	s.lifecycle = member[bool](m.Params, "enabled")
	if !s.lifecycle {
		done(emptyResult, nil)
		return
	}
	s.send(m, done)
}

// setInterceptDrags selects whether s receives the events of drags.
func (s *cdpSession) setInterceptDrags(m executor.CDPMessage, done doneFunc) {
	s.drags = member[bool](m.Params, "enabled")
	s.set(m, done)
}

// runIfWaiting resumes a target, unless the tools resume it when they are ready.
func (s *cdpSession) runIfWaiting(m executor.CDPMessage, done doneFunc) {
	if s.target.tool.auto {
		done(emptyResult, nil)
		return
	}
	s.send(m, done)
}

// captureScreenshot takes a screenshot, for which the tab must render.
func (s *cdpSession) captureScreenshot(m executor.CDPMessage, done doneFunc) {
	s.tab.keepRendering()
	s.send(m, done)
}

// startScreencast starts a screencast, which one client at a time can do in a tab. The extension
// checks each frame.
func startScreencast(s *cdpSession, m executor.CDPMessage, done doneFunc) {
	before := s.tab.screencast
	if before != nil && before.client != s.client {
		done(nil, serverError("%s records this tab", before.client.name))
		return
	}
	s.tab.screencast = s
	s.send(m, func(result json.RawMessage, err *executor.CDPError) {
		if err != nil && s.tab.screencast == s {
			s.tab.screencast = before
		}
		done(result, err)
	})
}

// stopScreencast ends the screencast of s.
func stopScreencast(s *cdpSession, m executor.CDPMessage, done doneFunc) {
	if s.tab.screencast != s {
		done(emptyResult, nil)
		return
	}
	s.send(m, done)
	s.tab.screencastEnded()
}

// acknowledgeFrame acknowledges a frame of the screencast of s.
func acknowledgeFrame(s *cdpSession, m executor.CDPMessage, done doneFunc) {
	if s.tab.screencast != s {
		done(emptyResult, nil)
		return
	}
	s.send(m, done)
}

// addBinding adds a binding, and records its name: s receives only the calls of bindings that it
// added.
func (s *cdpSession) addBinding(m executor.CDPMessage, done doneFunc) {
	s.bindings[member[string](m.Params, "name")] = true
	s.send(m, done)
}

// addScript adds a script for new documents, and records its identifier.
func (s *cdpSession) addScript(m executor.CDPMessage, done doneFunc) {
	s.send(m, func(result json.RawMessage, err *executor.CDPError) {
		if id := member[string](result, "identifier"); err == nil && id != "" {
			s.scripts = append(s.scripts, id)
		}
		done(result, err)
	})
}

// setAutoAttach attaches s to the frames and workers of its target, or detaches it from them.
func (s *cdpSession) setAutoAttach(m executor.CDPMessage, done doneFunc) {
	var p struct {
		Auto    bool                  `json:"autoAttach"`
		Wait    bool                  `json:"waitForDebuggerOnStart"`
		Flatten bool                  `json:"flatten"`
		Filter  cdpshare.TargetFilter `json:"filter"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		done(nil, invalidParams(""))
		return
	}
	if p.Auto && !p.Flatten {
		done(nil, invalidParams("only the flat protocol is supported"))
		return
	}
	s.auto, s.wait, s.autoFilter = p.Auto, p.Wait, p.Filter
	if !p.Auto {
		for _, child := range slices.Clone(s.children) {
			child.drop()
		}
	}
	s.send(executor.CDPMessage{Method: m.Method, Params: s.target.autoAttachParams()}, func(result json.RawMessage, err *executor.CDPError) {
		for _, child := range s.target.children {
			s.attachChild(child, false)
		}
		done(result, err)
	})
}

// attachChild attaches s to a frame or worker, if s attaches automatically.
func (s *cdpSession) attachChild(t *cdpTarget, waiting bool) {
	if !s.auto || s.detached || !s.autoFilter.Matches(t.kind) ||
		slices.ContainsFunc(s.children, func(x *cdpSession) bool { return x.target == t }) {
		return
	}
	s.attachTo(t, waiting)
}

// attachTo returns a new session of a frame or worker.
func (s *cdpSession) attachTo(t *cdpTarget, waiting bool) *cdpSession {
	child := s.newChild(t.kind, t.tab)
	child.target, child.ready = t, true
	t.sessions = append(t.sessions, child)
	s.event("Target.attachedToTarget", map[string]any{
		"sessionId": child.id, "targetInfo": t.info, "waitingForDebugger": waiting,
	})
	return child
}

// send sends a command to the browser. It calls done with the result.
func (s *cdpSession) send(m executor.CDPMessage, done doneFunc) {
	params, ok := s.setup.ToBrowser(m.Params)
	if !ok {
		done(nil, errNoContext)
		return
	}
	s.client.queueCommand(s.tab, wire.CDPCommand{
		TabID: s.tab.id, SessionID: s.target.session, Method: m.Method, Params: params, Client: s.client.id,
	}, true, done)
}
