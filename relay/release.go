package relay

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
)

// What a client has set before a page is handed over would remain in force while it cannot change
// it: its requests would wait for answers of the client, and its scripts would stay paused. So the
// page is released from these settings at the start of a handover, and gets them back at the end.

// settings are the commands with which a client could be in the way of the user, except for
// Debugger.enable, with the commands that release the page from them.
var settings = sync.OnceValue(func() map[string]cdpshare.Command {
	all := map[string]cdpshare.Command{}
	for _, method := range []string{
		skipPauses,
		"Emulation.setCPUThrottlingRate",
		"Emulation.setDocumentCookieDisabled",
		"Emulation.setScriptExecutionDisabled",
		"Emulation.setVirtualTimePolicy",
		"Fetch.enable",
		"Input.setIgnoreInputEvents",
		"Input.setInterceptDrags",
		"Network.emulateNetworkConditions",
		"Network.emulateNetworkConditionsByRule",
		"Network.overrideNetworkState",
		"Network.setBlockedURLs",
		"Overlay.setInspectMode",
		"Page.setInterceptFileChooserDialog",
		"Page.setWebLifecycleState",
		"Page.startScreencast",
		"Security.setIgnoreCertificateErrors",
		"Security.setOverrideCertificateErrors",
	} {
		all[method], _ = cdpshare.Neutral(method)
	}
	skip := all[skipPauses]
	skip.Params = json.RawMessage(`{"skip":true}`) // the debugger stays enabled
	all[skipPauses] = skip
	return all
})

// skipPauses replaces Debugger.enable among the settings: disabling the debugger would remove the
// breakpoints of the client.
const skipPauses = "Debugger.setSkipAllPauses"

// sessionSettings are what a client has set in a session.
type sessionSettings struct {
	releasing sync.Mutex // held while settings are released or restored; acquired before mu

	mu       sync.Mutex                 // guards the fields below
	params   map[string]json.RawMessage // by method
	released bool                       // the page is released from the settings
}

// remember records what a command that is about to be sent sets. It reports whether the command is a
// setting.
func (s *sessionSettings) remember(cmd *command) bool {
	method, params := cmd.method, cmd.params
	domain, name, _ := strings.Cut(method, ".")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case name == "disable":
		maps.DeleteFunc(s.params,
			func(method string, _ json.RawMessage) bool { return strings.HasPrefix(method, domain+".") })
		return false
	case method == "Page.stopScreencast":
		delete(s.params, "Page.startScreencast")
		return false
	case method == "Debugger.enable":
		if s.params[skipPauses] != nil {
			return true
		}
		method, params = skipPauses, json.RawMessage(`{"skip":false}`)
	default:
		if _, ok := settings()[method]; !ok {
			return false
		}
	}
	if params == nil {
		params = json.RawMessage("{}")
	}
	before := s.params[method]
	if s.params == nil {
		s.params = map[string]json.RawMessage{}
	}
	s.params[method] = params
	failed := cmd.failed
	cmd.failed = func() {
		if failed != nil {
			failed()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.params[method] = before; before == nil {
			delete(s.params, method)
		}
	}
	return true
}

// watchHandovers updates all sessions when a handover begins or ends.
func (c *client) watchHandovers(ctx context.Context) {
	for {
		changed := c.browser.conn.HandoversChanged()
		for _, s := range c.sessions.all() {
			c.updateSettings(ctx, s, false)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// updateSettings releases the page of a session from the settings of the client if the page is handed
// over, and otherwise restores them if the page was released. again means that a setting was sent
// since then.
func (c *client) updateSettings(ctx context.Context, s *cdpSession, again bool) {
	post := func(method string, params json.RawMessage) { c.browser.post(ctx, s.id, method, params) }
	s.settings.update(func() bool { return c.handedOver(s) }, again, post)
}

// update releases the settings if the page is handed over, and otherwise restores those that were
// released, by the commands that it passes to post. again is as for updateSettings.
func (s *sessionSettings) update(
	isHandedOver func() bool, again bool, post func(method string, params json.RawMessage),
) {
	s.releasing.Lock()
	defer s.releasing.Unlock()
	handedOver := isHandedOver()
	s.mu.Lock()
	unchanged := s.released == handedOver && !(again && handedOver)
	values := maps.Clone(s.params)
	s.mu.Unlock()
	if unchanged {
		return
	}
	for method, params := range values {
		if !handedOver {
			post(method, params)
			continue
		}
		release := settings()[method]
		post(release.Method, release.Params)
		if method == skipPauses {
			post("Debugger.resume", nil)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = handedOver
}

// isReleased reports whether the page is released from the settings.
func (s *sessionSettings) isReleased() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released
}
