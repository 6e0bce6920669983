package relay

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// handleEvent handles an event, and reports whether m, which it changes, is for the client. Only
// the events that concern a check are decoded.
func (c *client) handleEvent(ctx context.Context, m *executor.CDPMessage) bool {
	c.mu.Lock()
	watched := m.SessionID != "" && m.SessionID == c.watch
	s := c.sessions[m.SessionID]
	forward := c.started
	c.mu.Unlock()
	if watched {
		c.watchEvent(ctx, m)
		return false
	}
	switch m.Method { // also before the start, and of the browser's session for a client of one page
	case "Target.attachedToTarget":
		forward = c.attached(ctx, m) && forward
	case "Target.detachedFromTarget":
		forward = c.detached(m) && forward
	}
	if s == nil || !forward {
		return false
	}
	if c.handedOver(s) && !c.forwardDuringHandover(ctx, s, m) {
		c.beginsUnseen(m)
		return false
	}
	if c.isUnseen(m) {
		return false
	}
	m.SessionID = c.clientSessionID(s)
	switch m.Method {
	case "Target.targetCreated", "Target.targetInfoChanged":
		return c.targetEvent(s, m)
	case "Target.targetDestroyed", "Target.targetCrashed":
		return c.targetGone(s, m)
	case "Runtime.executionContextCreated":
		return c.executionContextCreated(s, m)
	case "Runtime.executionContextDestroyed":
		return c.executionContextDestroyed(s, m)
	case "Runtime.executionContextsCleared":
		c.mu.Lock()
		clear(s.executionContexts)
		clear(s.uniqueContexts)
		c.mu.Unlock()
	case "Page.frameNavigated":
		c.frameNavigated(s, m)
	case "Browser.downloadWillBegin", "Page.downloadWillBegin":
		if id, err := textParam(m.Params, "guid"); err == nil {
			c.downloads.set(id, true)
		}
	case "Network.requestWillBeSent", "Network.responseReceived":
		c.requestEvent(m)
	case "Network.requestWillBeSentExtraInfo":
		c.rawRequest(m)
	case "Network.responseReceivedExtraInfo":
		c.rawResponse(m)
	case "Network.webSocketWillSendHandshakeRequest", "Network.webSocketHandshakeResponseReceived":
		c.webSocketHandshake(m)
	case "ServiceWorker.workerRegistrationUpdated", "ServiceWorker.workerVersionUpdated", "ServiceWorker.workerErrorReported":
		return c.serviceWorkers(m)
	case "Fetch.requestPaused":
		return c.requestPaused(ctx, s, m)
	case "Fetch.authRequired":
		return c.authRequired(ctx, s, m)
	}
	return true
}

// targetEvent handles Target.targetCreated and Target.targetInfoChanged.
func (c *client) targetEvent(s *cdpSession, m *executor.CDPMessage) bool {
	var e struct{ TargetInfo target }
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	visible := c.server.visible(e.TargetInfo, c)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !visible {
		s.hidden[e.TargetInfo.ID] = true
		return false
	}
	if s.hidden[e.TargetInfo.ID] { // such as a new tab that has left an internal page of the browser
		delete(s.hidden, e.TargetInfo.ID)
		m.Method = "Target.targetCreated"
	}
	return true
}

// targetGone handles Target.targetDestroyed and Target.targetCrashed.
func (c *client) targetGone(s *cdpSession, m *executor.CDPMessage) bool {
	var e struct{ TargetID string }
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	hidden := s.hidden[e.TargetID]
	if m.Method == "Target.targetDestroyed" {
		delete(s.hidden, e.TargetID)
	}
	return !hidden
}

// executionContextCreated handles Runtime.executionContextCreated. It hides our isolated world.
func (c *client) executionContextCreated(s *cdpSession, m *executor.CDPMessage) bool {
	var e struct {
		Context struct {
			ID       int64
			UniqueID string
			Name     string
			AuxData  struct{ IsDefault *bool }
		}
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	x := e.Context
	if x.Name == frames.WorldName && x.AuxData.IsDefault != nil && !*x.AuxData.IsDefault {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.executionContexts[x.ID] = true
	s.uniqueContexts[x.UniqueID] = true
	return true
}

// executionContextDestroyed handles Runtime.executionContextDestroyed.
func (c *client) executionContextDestroyed(s *cdpSession, m *executor.CDPMessage) bool {
	var e struct {
		ID       int64  `json:"executionContextId"`
		UniqueID string `json:"executionContextUniqueId"`
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := s.executionContexts[e.ID]
	delete(s.executionContexts, e.ID)
	delete(s.uniqueContexts, e.UniqueID)
	return known
}

// frameNavigated handles Page.frameNavigated.
func (c *client) frameNavigated(s *cdpSession, m *executor.CDPMessage) {
	var e struct {
		Frame struct{ ParentID, URL string }
	}
	if json.Unmarshal(m.Params, &e) == nil && e.Frame.ParentID == "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		s.setURL(e.Frame.URL)
	}
}

// requestEvent handles Network.requestWillBeSent and Network.responseReceived.
func (c *client) requestEvent(m *executor.CDPMessage) {
	var e struct {
		RequestID string
		Request   struct{ URL string }
		Response  struct{ URL string }
	}
	if json.Unmarshal(m.Params, &e) == nil {
		c.bodies.set(e.RequestID, c.server.checkResource(cmp.Or(e.Request.URL, e.Response.URL)) == nil)
	}
}

// rawRequest handles Network.requestWillBeSentExtraInfo. It removes the cookies of denied sites.
// The event can arrive before the event of the request, so the headers identify the host.
func (c *client) rawRequest(m *executor.CDPMessage) {
	e := object(m.Params)
	headers, _ := e["headers"].(map[string]any)
	allowed := c.server.allowsHost(headers)
	id, _ := e["requestId"].(string)
	c.raw.set(id, allowed)
	if !allowed {
		e["associatedCookies"] = []any{}
		removeCookies(headers)
		m.Params = encode(e)
	}
}

// rawResponse handles Network.responseReceivedExtraInfo, which follows the event of rawRequest.
func (c *client) rawResponse(m *executor.CDPMessage) {
	id, err := textParam(m.Params, "requestId")
	if allowed, _ := c.raw.get(id); allowed && err == nil {
		return
	}
	e := object(m.Params)
	headers, _ := e["headers"].(map[string]any)
	removeCookies(headers)
	delete(e, "headersText")
	e["blockedCookies"] = []any{}
	delete(e, "exemptedCookies")
	m.Params = encode(e)
}

// serviceWorkers handles the events of the domain ServiceWorker, and reports whether the event is
// for the client. The browser reports the service workers of all sites to each page. Those of denied
// sites are removed.
func (c *client) serviceWorkers(m *executor.CDPMessage) bool {
	e := object(m.Params)
	allowed := func(v any) bool {
		x, _ := v.(map[string]any)
		for _, name := range []string{"scopeURL", "scriptURL", "sourceURL"} {
			if address, _ := x[name].(string); address != "" {
				return c.server.checkResource(address) == nil
			}
		}
		return false
	}
	for _, name := range []string{"registrations", "versions"} {
		list, ok := e[name].([]any)
		if !ok {
			continue
		}
		kept := slices.DeleteFunc(list, func(v any) bool { return !allowed(v) })
		e[name] = kept
		m.Params = encode(e)
		return len(kept) > 0 || len(list) == 0
	}
	return allowed(e["errorMessage"])
}

// webSocketHandshake handles the events about the handshake of a page's WebSocket. It removes the
// cookies of denied sites.
func (c *client) webSocketHandshake(m *executor.CDPMessage) {
	e := object(m.Params)
	id, _ := e["requestId"].(string)
	request, _ := e["request"].(map[string]any)
	response, _ := e["response"].(map[string]any)
	if request != nil {
		headers, _ := request["headers"].(map[string]any)
		c.raw.set(id, c.server.allowsHost(headers))
	}
	if allowed, _ := c.raw.get(id); allowed {
		return
	}
	for _, part := range []map[string]any{request, response} {
		for _, name := range []string{"headers", "requestHeaders"} {
			headers, _ := part[name].(map[string]any)
			removeCookies(headers)
		}
		delete(part, "headersText")
		delete(part, "requestHeadersText")
	}
	m.Params = encode(e)
}

// removeCookies removes the headers that contain cookies.
func removeCookies(headers map[string]any) {
	maps.DeleteFunc(headers, func(name string, _ any) bool { return isCookieHeader(name) })
}

func isCookieHeader(name string) bool {
	return strings.EqualFold(name, "Cookie") || strings.EqualFold(name, "Set-Cookie") || strings.EqualFold(name, "Set-Cookie2")
}
