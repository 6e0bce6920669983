package extension

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// deliver passes an event of the browser to the client, if the client would receive it with a
// separate session, and may see it. hidden is whether the event concerns an execution context of the
// tools.
func (s *cdpSession) deliver(e *wire.CDPEvent, hidden bool) {
	if e.Denied && !isStructural(e.Method) {
		return
	}
	if hidden || !s.receives(e) || e.NoConsent && isContent(e.Method) {
		return
	}
	params, ok := s.setup.toClient(e.Method, e.Params, s.tab.info.TargetID)
	if !ok {
		return
	}
	if len(params) == 0 {
		params = emptyResult
	} else if strings.HasPrefix(e.Method, "Network.") {
		params = withoutExtraInfo(params)
	}
	if e.NoConsent {
		params = withoutPayload(params)
	}
	s.event(e.Method, params)
}

// receives reports whether s would receive an event with a separate session: the client has enabled
// it.
func (s *cdpSession) receives(e *wire.CDPEvent) bool {
	domain, _, _ := strings.Cut(e.Method, ".")
	switch {
	case s.detached || !s.ready && !s.setup.replaying || domain == "Target" || domain == "ChromeMCP":
		return false
	case domain == "Inspector", e.Method == "Input.dragIntercepted" && s.drags: // have no enable
		return true
	case e.Method == "Page.screencastFrame":
		return s.tab.screencast == s
	case !s.enabled[domain]:
		return false
	case e.Method == "Page.lifecycleEvent":
		return s.lifecycle
	case e.Method == "Runtime.bindingCalled":
		return s.bindings[member[string](e.Params, "name")]
	}
	return true
}

// isContent reports whether an event contains what a site sends to the page.
func isContent(method string) bool {
	return strings.HasPrefix(method, "Network.webSocketFrame") || method == "Network.eventSourceMessageReceived"
}

// withoutExtraInfo changes an event of Network so that clients do not wait for the events with
// cookies, which the extension does not send.
func withoutExtraInfo(params json.RawMessage) json.RawMessage {
	for _, name := range []string{`"hasExtraInfo":`, `"redirectHasExtraInfo":`} {
		params = bytes.Replace(params, []byte(name+"true"), []byte(name+"false"), 1)
	}
	return params
}

// isStructural reports whether an event is about the frames and execution contexts of a page.
func isStructural(method string) bool {
	domain, name, _ := strings.Cut(method, ".")
	return domain == "Page" || domain == "Target" || domain == "Inspector" ||
		domain == "Runtime" && strings.HasPrefix(name, "executionContext")
}

// withoutPayload removes what a document sends from an event about a request.
func withoutPayload(params json.RawMessage) json.RawMessage {
	var p, request map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p["request"], &request) != nil {
		return params
	}
	delete(request, "postData")
	delete(request, "postDataEntries")
	var headers map[string]json.RawMessage
	if json.Unmarshal(request["headers"], &headers) == nil {
		maps.DeleteFunc(headers,
			func(name string, _ json.RawMessage) bool { return strings.EqualFold(name, "Authorization") })
		request["headers"] = mustJSON(headers)
	}
	p["request"] = mustJSON(request)
	return mustJSON(p)
}
