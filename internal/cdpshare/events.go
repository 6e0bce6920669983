package cdpshare

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// IsContent reports whether an event contains what a document shows, logs or receives. Clients that
// may not see the document do not receive it.
func IsContent(method string) bool {
	domain, name, _ := strings.Cut(method, ".")
	switch domain {
	case "Accessibility", "Animation", "Input", "Log":
		return true
	case "DOM":
		return name != "documentUpdated"
	case "Network":
		return strings.HasPrefix(name, "webSocketFrame") || name == "eventSourceMessageReceived"
	case "Runtime":
		return !strings.HasPrefix(name, "executionContext")
	}
	return false
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

// WithoutPayload removes what a document sends from the parameters of an event that clients receive
// without it: of a request, of a dialog, which they can dismiss, and of a pause, which they can end.
func WithoutPayload(method string, params json.RawMessage) json.RawMessage {
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return params
	}
	domain, _, _ := strings.Cut(method, ".")
	switch {
	case method == "Page.javascriptDialogOpening":
		for _, name := range []string{"url", "message", "defaultPrompt"} {
			if p[name] != nil {
				p[name] = encode("")
			}
		}
	case method == "Page.javascriptDialogClosed":
		p["userInput"] = encode("")
	case method == "Debugger.paused":
		p["callFrames"] = encode([]string{})
		for _, name := range []string{"data", "asyncStackTrace"} {
			delete(p, name)
		}
	case domain == "Network" || domain == "Fetch":
		return withoutBody(p, params)
	default:
		return params
	}
	return encode(p)
}

// withoutBody removes what a document sends from an event about a request, which has the parameters
// p and is encoded as params.
func withoutBody(p map[string]json.RawMessage, params json.RawMessage) json.RawMessage {
	var request, headers map[string]json.RawMessage
	if json.Unmarshal(p["request"], &request) != nil {
		return params
	}
	delete(request, "postData")
	delete(request, "postDataEntries")
	if json.Unmarshal(request["headers"], &headers) == nil {
		maps.DeleteFunc(headers,
			func(name string, _ json.RawMessage) bool { return strings.EqualFold(name, "Authorization") })
		request["headers"] = encode(headers)
	}
	p["request"] = encode(request)
	return encode(p)
}
