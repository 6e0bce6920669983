package cdpshare

import (
	"encoding/json"
	"testing"
)

// TestEventsWithoutConsent checks what clients receive of the events of a document that they may not
// see.
func TestEventsWithoutConsent(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"Runtime.consoleAPICalled", `{"args":[{"value":"secret"}]}`, ""},
		{"Runtime.exceptionThrown", `{"exceptionDetails":{"text":"secret"}}`, ""},
		{"Runtime.bindingCalled", `{"payload":"secret"}`, ""},
		{"Runtime.executionContextCreated", `{"context":{"id":1}}`, `{"context":{"id":1}}`},
		{"Log.entryAdded", `{"entry":{"text":"secret"}}`, ""},
		{"Accessibility.loadComplete", `{"root":{"name":"secret"}}`, ""},
		{"DOM.characterDataModified", `{"characterData":"secret"}`, ""},
		{"DOM.documentUpdated", `{}`, `{}`},
		{"Input.dragIntercepted", `{"data":{"items":["secret"]}}`, ""},
		{"Network.webSocketFrameReceived", `{"response":"secret"}`, ""},
		{"Network.eventSourceMessageReceived", `{"data":"secret"}`, ""},
		{"Network.loadingFinished", `{"requestId":"1"}`, `{"requestId":"1"}`},
		{"Fetch.requestPaused", `{"request":{"headers":{"Accept":"*/*","authorization":"secret"},"postData":"secret"}}`, `{"request":{"headers":{"Accept":"*/*"}}}`},
		{"Page.javascriptDialogOpening", `{"defaultPrompt":"secret","message":"secret","type":"prompt","url":"https://x.test/secret"}`, `{"defaultPrompt":"","message":"","type":"prompt","url":""}`},
		{"Page.javascriptDialogOpening", `{"message":"secret","type":"alert"}`, `{"message":"","type":"alert"}`},
		{"Page.javascriptDialogClosed", `{"result":true,"userInput":"secret"}`, `{"result":true,"userInput":""}`},
		{"Page.frameNavigated", `{"frame":{"id":"1"}}`, `{"frame":{"id":"1"}}`},
		{"Debugger.paused", `{"callFrames":[{"this":"secret"}],"data":"secret","reason":"exception"}`, `{"callFrames":[],"reason":"exception"}`},
	} {
		got := ""
		if !IsContent(c.method) {
			got = string(WithoutPayload(c.method, json.RawMessage(c.params)))
		}
		if got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.method, c.params, got, c.want)
		}
	}
}
