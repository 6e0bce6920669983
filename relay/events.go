package relay

import (
	"context"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// handleEvent handles an event, and reports whether m, which it changes, is for the client. Only
// the events that concern a check are decoded.
func (c *client) handleEvent(ctx context.Context, m *executor.CDPMessage) bool {
	s, watched, forward := c.sessions.ofEvent(m.SessionID)
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
		c.requests.recordUnseen(m)
		return false
	}
	if c.requests.isUnseen(m) {
		return false
	}
	m.SessionID = c.sessions.clientID(s)
	switch m.Method {
	case "Target.targetCreated", "Target.targetInfoChanged":
		return s.targetEvent(c, m)
	case "Target.targetDestroyed", "Target.targetCrashed":
		return s.targetGone(m)
	case "Runtime.executionContextCreated":
		return s.contexts.created(m)
	case "Runtime.executionContextDestroyed":
		return s.contexts.destroyed(m)
	case "Runtime.executionContextsCleared":
		s.contexts.clear()
	case "Page.frameNavigated":
		s.frameNavigated(m)
	case "Browser.downloadWillBegin", "Page.downloadWillBegin":
		return c.downloadBegan(m)
	case "Browser.downloadProgress", "Page.downloadProgress":
		id, err := textParam(m.Params, "guid")
		seen, known := c.downloads.get(id)
		return err != nil || seen || !known
	case "Network.requestWillBeSent", "Network.responseReceived":
		c.requests.event(m)
	case "Network.requestWillBeSentExtraInfo":
		c.requests.rawRequest(m)
	case "Network.responseReceivedExtraInfo":
		c.requests.rawResponse(m)
	case "Network.webSocketWillSendHandshakeRequest", "Network.webSocketHandshakeResponseReceived":
		c.requests.webSocketHandshake(m)
	case "ServiceWorker.workerRegistrationUpdated", "ServiceWorker.workerVersionUpdated",
		"ServiceWorker.workerErrorReported":
		return c.server.serviceWorkers(m)
	case "Fetch.requestPaused":
		return c.requestPaused(ctx, s, m)
	case "Fetch.authRequired":
		return c.authRequired(ctx, s, m)
	}
	return true
}

// serviceWorkers handles the events of the domain ServiceWorker, and reports whether the event is
// for the client. The browser reports the service workers of all sites to each page. Those of denied
// sites are removed.
func (s *Server) serviceWorkers(m *executor.CDPMessage) bool {
	e := object(m.Params)
	allowed := func(v any) bool {
		x, _ := v.(map[string]any)
		for _, name := range []string{"scopeURL", "scriptURL", "sourceURL"} {
			if address, _ := x[name].(string); address != "" {
				return s.checkResource(address) == nil
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
