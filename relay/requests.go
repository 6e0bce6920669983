package relay

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// requests are the requests of pages that events for a client named. They are safe for concurrent
// use.
type requests struct {
	server *Server
	known  recent // by request id
	bodies recent // by id of a request with a response: the client may read it
	raw    recent // by request id: the policy allows the request of the last ExtraInfo event
	unseen recent // ids of the requests that began in a page that was handed over
}

// event handles Network.requestWillBeSent and Network.responseReceived. Only the latter decides about
// the response, because an event about a redirect may be dropped.
func (r *requests) event(m *executor.CDPMessage) {
	var e struct {
		RequestID string
		Type      string
		Response  *struct {
			URL               string
			FromServiceWorker bool
		}
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	r.known.set(e.RequestID, true)
	if m.Method == "Network.responseReceived" && e.Response != nil {
		// A service worker can answer a request with an opaque response: one of another site that the page
		// cannot read, at any URL. Requests for documents and by XMLHttpRequest fail with such a response.
		opaque := e.Response.FromServiceWorker && e.Type != "Document" && e.Type != "XHR"
		r.bodies.set(e.RequestID, !opaque && r.server.checkResource(e.Response.URL) == nil)
	}
}

// rawRequest handles Network.requestWillBeSentExtraInfo. It removes the cookies of denied sites.
// The event can arrive before the event of the request, so the headers identify the host.
func (r *requests) rawRequest(m *executor.CDPMessage) {
	e := object(m.Params)
	headers, _ := e["headers"].(map[string]any)
	allowed := r.server.allowsHost(headers)
	id, _ := e["requestId"].(string)
	r.raw.set(id, allowed)
	if !allowed {
		e["associatedCookies"] = []any{}
		removeCookies(headers)
		m.Params = encode(e)
	}
}

// rawResponse handles Network.responseReceivedExtraInfo, which follows the event of rawRequest.
func (r *requests) rawResponse(m *executor.CDPMessage) {
	id, err := textParam(m.Params, "requestId")
	if allowed, _ := r.raw.get(id); allowed && err == nil {
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

// webSocketHandshake handles the events about the handshake of a page's WebSocket. It removes the
// cookies of denied sites.
func (r *requests) webSocketHandshake(m *executor.CDPMessage) {
	e := object(m.Params)
	id, _ := e["requestId"].(string)
	request, _ := e["request"].(map[string]any)
	response, _ := e["response"].(map[string]any)
	if request != nil {
		headers, _ := request["headers"].(map[string]any)
		r.raw.set(id, r.server.allowsHost(headers))
	}
	if allowed, _ := r.raw.get(id); allowed {
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
	return strings.EqualFold(name, "Cookie") || strings.EqualFold(name, "Set-Cookie") ||
		strings.EqualFold(name, "Set-Cookie2")
}

// recordUnseen records a request that begins during a handover, whose later events are not for the
// client, either: their URLs may contain what the user entered.
func (r *requests) recordUnseen(m *executor.CDPMessage) {
	switch m.Method {
	case "Network.requestWillBeSent", "Network.webSocketCreated":
		if id, err := textParam(m.Params, "requestId"); err == nil {
			r.unseen.set(id, true)
		}
	}
}

// isUnseen reports whether an event is about a request that began during a handover.
func (r *requests) isUnseen(m *executor.CDPMessage) bool {
	if r.unseen.empty() || !strings.HasPrefix(m.Method, "Network.") {
		return false
	}
	id, err := textParam(m.Params, "requestId")
	_, unseen := r.unseen.get(id)
	return unseen && err == nil
}
