package extension

import (
	"context"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
)

// decode decodes the parameters of a command into p. Like the browser, it distinguishes upper and
// lower case in names: the caller has checked the parameters by these names. If it fails, it replies
// to the command and returns false.
func (s *cdpSession) decode(m executor.CDPMessage, p any) bool {
	if len(m.Params) > 0 && cdpconn.Unmarshal([]byte(m.Params), p) != nil {
		s.fail(m, invalidParams(""))
		return false
	}
	return true
}

// browserParams are the parameters of the commands of the targets of the browser and of tabs.
type browserParams struct {
	TargetID  string                `json:"targetId"`
	SessionID string                `json:"sessionId"`
	URL       string                `json:"url"`
	Context   string                `json:"browserContextId"`
	Events    bool                  `json:"eventsEnabled"`
	Discover  bool                  `json:"discover"`
	Auto      bool                  `json:"autoAttach"`
	Filter    cdpshare.TargetFilter `json:"filter"`
}

// A browserHandler replies to a command of a session of the browser target.
type browserHandler func(s *cdpSession, m executor.CDPMessage, p browserParams)

// browserCommands are the commands of the browser target.
var browserCommands = map[string]browserHandler{
	"Browser.close":                   closeBrowser,
	"Browser.getVersion":              getVersion,
	"Browser.setDownloadBehavior":     setDownloadBehavior,
	"Runtime.runIfWaitingForDebugger": withoutEffect,
	"Storage.clearCookies":            notAvailable(cookiesReason),
	"Storage.getCookies":              notAvailable(cookiesReason),
	"Storage.setCookies":              notAvailable(cookiesReason),
	"Target.activateTarget":           withoutEffect, // the user selects tabs
	"Target.attachToBrowserTarget":    attachToBrowser,
	"Target.attachToTarget":           attachToTarget,
	"Target.closeTarget":              closeTarget,
	"Target.createBrowserContext":     notAvailable(contextReason),
	"Target.createTarget":             createTarget,
	"Target.detachFromTarget":         detachFromTarget,
	"Target.disposeBrowserContext":    notAvailable(contextReason),
	"Target.getBrowserContexts":       getBrowserContexts,
	"Target.getTargetInfo":            getTargetInfo,
	"Target.getTargets":               getTargets,
	"Target.setAutoAttach":            setBrowserAutoAttach,
	"Target.setDiscoverTargets":       setDiscoverTargets,
}

// Why commands of the browser target are not available.
const (
	contextReason = "there is one browser context, the user's"
	cookiesReason = "a client can use the cookies of a page only, by Network.getCookies and Network.setCookie"
)

// browserCommand replies to a command of a session of the browser target.
func (s *cdpSession) browserCommand(m executor.CDPMessage) {
	handle := browserCommands[m.Method]
	if handle == nil {
		s.fail(m, unavailable(m.Method, "the browser target does not have this command"))
		return
	}
	var p browserParams
	if s.decode(m, &p) {
		handle(s, m, p)
	}
}

// notAvailable returns a handler that fails with a reason.
func notAvailable(reason string) browserHandler {
	return func(s *cdpSession, m executor.CDPMessage, _ browserParams) { s.fail(m, unavailable(m.Method, reason)) }
}

// withoutEffect succeeds.
func withoutEffect(s *cdpSession, m executor.CDPMessage, _ browserParams) { s.reply(m, nil) }

// closeBrowser disconnects the client.
func closeBrowser(s *cdpSession, m executor.CDPMessage, _ browserParams) {
	s.reply(m, nil)
	s.client.end(errClientClosed)
}

// getVersion describes Chrome by its major version, which is all that an extension receives.
func getVersion(s *cdpSession, m executor.CDPMessage, _ browserParams) {
	chrome := s.client.chrome
	major, _, _ := strings.Cut(chrome, ".")
	s.reply(m, map[string]any{
		"protocolVersion": "1.3", "product": "Chrome/" + chrome, "revision": "", "jsVersion": "",
		"userAgent": "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + major + ".0.0.0 Safari/537.36",
	})
}

// setDownloadBehavior only turns events on or off: the user's Chrome saves files where the user
// wants.
func setDownloadBehavior(s *cdpSession, m executor.CDPMessage, p browserParams) {
	s.downloads = p.Events
	s.reply(m, nil)
}

func getBrowserContexts(s *cdpSession, m executor.CDPMessage, _ browserParams) {
	s.reply(m, map[string]any{"browserContextIds": []string{}, "defaultBrowserContextId": defaultContextID})
}

// getTargets lists the tabs, their pages, and the browser.
func getTargets(s *cdpSession, m executor.CDPMessage, p browserParams) {
	list := []targetInfo{}
	for _, t := range s.client.hub.tabs {
		for _, kind := range p.Filter.TabKinds() {
			list = append(list, s.client.infoOf(t, kind))
		}
	}
	if p.Filter.Matches(cdpshare.BrowserTarget) {
		list = append(list, browserInfo)
	}
	s.reply(m, map[string]any{"targetInfos": list})
}

// getTargetInfo describes a target, without an id the browser.
func getTargetInfo(s *cdpSession, m executor.CDPMessage, p browserParams) {
	h := s.client.hub
	if t, kind := h.findTarget(p.TargetID); t != nil {
		s.reply(m, map[string]any{"targetInfo": s.client.infoOf(t, kind)})
	} else if x := h.findChild(p.TargetID); x != nil {
		s.reply(m, map[string]any{"targetInfo": x.info})
	} else if p.TargetID == "" || p.TargetID == browserTargetID {
		s.reply(m, map[string]any{"targetInfo": browserInfo})
	} else {
		s.fail(m, errNoTarget)
	}
}

// setBrowserAutoAttach attaches s to all tabs, and to those that appear later.
func setBrowserAutoAttach(s *cdpSession, m executor.CDPMessage, p browserParams) {
	s.auto, s.autoFilter = p.Auto, p.Filter
	for _, t := range s.client.hub.tabs {
		s.autoAttach(t)
	}
	s.reply(m, nil)
}

// attachToTarget attaches s to the browser, a frame or worker, a tab or a page.
func attachToTarget(s *cdpSession, m executor.CDPMessage, p browserParams) {
	h := s.client.hub
	if p.TargetID == browserTargetID {
		attachToBrowser(s, m, p)
	} else if x := h.findChild(p.TargetID); x != nil {
		s.reply(m, map[string]any{"sessionId": s.attachTo(x, false).id})
	} else if t, kind := h.findTarget(p.TargetID); t != nil {
		s.reply(m, map[string]any{"sessionId": s.attach(t, kind).id})
	} else {
		s.fail(m, errNoTarget)
	}
}

// detachFromTarget detaches one of the sessions below s.
func detachFromTarget(s *cdpSession, m executor.CDPMessage, p browserParams) {
	child := s.client.sessions[p.SessionID]
	if child == nil || child == s || child.parent == nil {
		s.fail(m, errNoChild)
		return
	}
	child.drop()
	s.reply(m, nil)
}

// createTarget opens a tab. The reply follows when it is open.
func createTarget(s *cdpSession, m executor.CDPMessage, p browserParams) {
	if p.Context != "" && p.Context != defaultContextID {
		s.fail(m, serverError("Failed to find browser context with id %s", p.Context))
		return
	}
	s.replyLater(m, func(ctx context.Context) (any, error) {
		info, err := s.client.openTab(ctx, p.URL)
		return map[string]any{"targetId": info.TargetID}, err
	})
}

// closeTarget closes a tab. The reply follows when it is closed.
func closeTarget(s *cdpSession, m executor.CDPMessage, p browserParams) {
	t, _ := s.client.hub.findTarget(p.TargetID)
	if t == nil {
		s.fail(m, errNoTarget)
		return
	}
	s.closeTarget(m, t)
}

// attachToBrowser attaches s to the browser target.
func attachToBrowser(s *cdpSession, m executor.CDPMessage, _ browserParams) {
	child := s.newChild(cdpshare.BrowserTarget, nil)
	s.event("Target.attachedToTarget", map[string]any{
		"sessionId": child.id, "targetInfo": browserInfo, "waitingForDebugger": false,
	})
	s.reply(m, map[string]any{"sessionId": child.id})
}

// tabCommand replies to a command of a session of a tab's target. Clients use it to attach to the
// page.
func (s *cdpSession) tabCommand(m executor.CDPMessage) {
	var p browserParams
	if !s.decode(m, &p) {
		return
	}
	switch m.Method {
	case "Target.setAutoAttach":
		s.auto, s.autoFilter = p.Auto, p.Filter
		s.autoAttach(s.tab)
		s.reply(m, nil)
	case "Target.getTargetInfo":
		s.reply(m, map[string]any{"targetInfo": s.client.infoOf(s.tab, cdpshare.TabTarget)})
	case "Target.detachFromTarget":
		detachFromTarget(s, m, p)
	case "Target.setDiscoverTargets", "Runtime.runIfWaitingForDebugger":
		s.reply(m, nil)
	default:
		s.fail(m, unknownMethodError(m.Method))
	}
}

// setDiscoverTargets reports the tabs to s, now and when they change. chromedp sends the command to
// pages. Frames and workers are reported when the client attaches to them.
func setDiscoverTargets(s *cdpSession, m executor.CDPMessage, p browserParams) {
	before := s.discover
	s.discover, s.discoverFilter = p.Discover, p.Filter
	if p.Discover && !before {
		if p.Filter.Matches(cdpshare.BrowserTarget) {
			s.event("Target.targetCreated", map[string]any{"targetInfo": browserInfo})
		}
		for _, t := range s.client.hub.tabs {
			s.report("Target.targetCreated", t)
		}
	}
	s.reply(m, nil)
}

// discovers returns the kinds of the targets of tabs that are reported to s.
func (s *cdpSession) discovers() []string {
	if !s.discover {
		return nil
	}
	return s.discoverFilter.TabKinds()
}

// report sends an event with the information about the targets of a tab that s discovers.
func (s *cdpSession) report(method string, t *cdpTab) {
	for _, kind := range s.discovers() {
		s.event(method, map[string]any{"targetInfo": s.client.infoOf(t, kind)})
	}
}

// autoAttach attaches s to a tab or its page, if that is enabled and s is not attached to it.
func (s *cdpSession) autoAttach(t *cdpTab) {
	if !s.auto {
		return
	}
	for _, kind := range s.autoFilter.TabKinds() {
		if kind != s.kind &&
			!slices.ContainsFunc(s.children, func(x *cdpSession) bool { return x.tab == t && x.kind == kind }) {
			s.attach(t, kind)
		}
	}
}

// attach returns a new session of a tab or its page. It does not attach the debugger.
func (s *cdpSession) attach(t *cdpTab, kind string) *cdpSession {
	child := s.newChild(kind, t)
	if kind == cdpshare.PageTarget {
		child.target = t.page
		t.page.sessions = append(t.page.sessions, child)
		if t.live {
			child.ready, t.attachedForClients = true, true
			t.keepRendering()
		}
	}
	s.event("Target.attachedToTarget", map[string]any{
		"sessionId": child.id, "targetInfo": s.client.infoOf(t, kind), "waitingForDebugger": false,
	})
	return child
}
