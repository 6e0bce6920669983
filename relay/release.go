package relay

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// What a client has set before a page is handed over would remain in force while it cannot change
// it: its requests would wait for answers of the client, and its scripts would stay paused. So the
// page is released from these settings at the start of a handover, and gets them back at the end.

// A setting is a command with which a client could be in the way of the user.
type setting struct {
	off     string         // the command that releases the page; "" means the same command
	neutral map[string]any // its parameters
}

// settings are the commands from which a page is released, except for Debugger.enable.
var settings = sync.OnceValue(func() map[string]setting {
	return map[string]setting{
		skipPauses:                             {neutral: map[string]any{"skip": true}},
		"Emulation.setCPUThrottlingRate":       {neutral: map[string]any{"rate": 1}},
		"Emulation.setDocumentCookieDisabled":  {neutral: map[string]any{"disabled": false}},
		"Emulation.setScriptExecutionDisabled": {neutral: map[string]any{"value": false}},
		"Emulation.setVirtualTimePolicy":       {neutral: map[string]any{"policy": "advance"}},
		"Fetch.enable":                         {off: "Fetch.disable"},
		"Input.setIgnoreInputEvents":           {neutral: map[string]any{"ignore": false}},
		"Input.setInterceptDrags":              {neutral: map[string]any{"enabled": false}},
		"Network.emulateNetworkConditions":     {neutral: online()},
		"Network.emulateNetworkConditionsByRule": {neutral: map[string]any{
			"matchedNetworkConditions": []any{},
		}},
		"Network.overrideNetworkState":          {neutral: online()},
		"Network.setBlockedURLs":                {neutral: map[string]any{"urls": []string{}}},
		"Overlay.setInspectMode":                {neutral: map[string]any{"mode": "none", "highlightConfig": map[string]any{}}},
		"Page.setInterceptFileChooserDialog":    {neutral: map[string]any{"enabled": false}},
		"Page.setWebLifecycleState":             {neutral: map[string]any{"state": "active"}},
		"Page.startScreencast":                  {off: "Page.stopScreencast"},
		"Security.setIgnoreCertificateErrors":   {neutral: map[string]any{"ignore": false}},
		"Security.setOverrideCertificateErrors": {neutral: map[string]any{"override": false}},
	}
})

// skipPauses replaces Debugger.enable among the settings: disabling the debugger would remove the
// breakpoints of the client.
const skipPauses = "Debugger.setSkipAllPauses"

// online returns the parameters of commands that emulate a network, without emulation.
func online() map[string]any {
	return map[string]any{"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
}

// remember records what a command that is about to be sent sets. It reports whether the command is a
// setting.
func (c *client) remember(cmd *command) bool {
	method, params := cmd.method, cmd.params
	domain, name, _ := strings.Cut(method, ".")
	c.mu.Lock()
	defer c.mu.Unlock()
	s := cmd.session
	switch {
	case name == "disable":
		maps.DeleteFunc(s.settings, func(method string, _ json.RawMessage) bool { return strings.HasPrefix(method, domain+".") })
		return false
	case method == "Page.stopScreencast":
		delete(s.settings, "Page.startScreencast")
		return false
	case method == "Debugger.enable":
		if s.settings[skipPauses] != nil {
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
	before := s.settings[method]
	if s.settings == nil {
		s.settings = map[string]json.RawMessage{}
	}
	s.settings[method] = params
	cmd.failed = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if s.settings[method] = before; before == nil {
			delete(s.settings, method)
		}
	}
	return true
}

// watchHandovers updates all sessions when a handover begins or ends.
func (c *client) watchHandovers(ctx context.Context) {
	for {
		changed := c.conn.HandoversChanged()
		c.mu.Lock()
		sessions := slices.Collect(maps.Values(c.sessions))
		c.mu.Unlock()
		for _, s := range sessions {
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
	c.releasing.Lock()
	defer c.releasing.Unlock()
	handedOver := c.handedOver(s)
	c.mu.Lock()
	unchanged := s.released == handedOver && !(again && handedOver)
	values := maps.Clone(s.settings)
	c.mu.Unlock()
	if unchanged {
		return
	}
	for method, params := range values {
		if !handedOver {
			c.post(ctx, s, method, params)
			continue
		}
		set := settings()[method]
		if set.off != "" {
			c.post(ctx, s, set.off, nil)
			continue
		}
		c.post(ctx, s, method, encode(set.neutral))
		if method == skipPauses {
			c.post(ctx, s, "Debugger.resume", nil)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.released = handedOver
}

// released reports whether the page of a session is released from the settings of the client.
func (c *client) released(s *cdpSession) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.released
}

// post sends a command of the relay and does not wait for its result.
func (c *client) post(ctx context.Context, s *cdpSession, method string, params json.RawMessage) {
	_, _ = c.send(ctx, &command{sessionID: s.id, method: method, params: params, reply: make(chan executor.CDPMessage, 1)})
}

// beginsUnseen records a request that begins during a handover, whose later events are not for the
// client, either: their URLs may contain what the user entered.
func (c *client) beginsUnseen(m *executor.CDPMessage) {
	switch m.Method {
	case "Network.requestWillBeSent", "Network.webSocketCreated":
		if id, err := textParam(m.Params, "requestId"); err == nil {
			c.unseen.set(id, true)
		}
	}
}

// isUnseen reports whether an event is about a request that began during a handover.
func (c *client) isUnseen(m *executor.CDPMessage) bool {
	if c.unseen.empty() || !strings.HasPrefix(m.Method, "Network.") {
		return false
	}
	id, err := textParam(m.Params, "requestId")
	_, unseen := c.unseen.get(id)
	return unseen && err == nil
}
