package cdpshare

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// IsContent reports whether an event contains what a site sends to the page.
func IsContent(method string) bool {
	return strings.HasPrefix(method, "Network.webSocketFrame") || method == "Network.eventSourceMessageReceived"
}

// WithoutExtraInfo changes an event of Network so that clients do not wait for the events with
// cookies, which the extension does not send.
func WithoutExtraInfo(params json.RawMessage) json.RawMessage {
	for _, name := range []string{`"hasExtraInfo":`, `"redirectHasExtraInfo":`} {
		params = bytes.Replace(params, []byte(name+"true"), []byte(name+"false"), 1)
	}
	return params
}

// IsStructural reports whether an event is about the frames and execution contexts of a page.
func IsStructural(method string) bool {
	domain, name, _ := strings.Cut(method, ".")
	return domain == "Page" || domain == "Target" || domain == "Inspector" ||
		domain == "Runtime" && strings.HasPrefix(name, "executionContext")
}

// WithoutPayload removes what a document sends from an event about a request.
func WithoutPayload(params json.RawMessage) json.RawMessage {
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
		request["headers"] = encode(headers)
	}
	p["request"] = encode(request)
	return encode(p)
}
