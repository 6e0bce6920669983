package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestPromptInPopup checks that the extension popup prompts the user while the extension is
// connected, even if the client supports elicitation. Answers take effect immediately in the user's
// Chrome. A call whose prompt is not answered does not block the agent.
func TestPromptInPopup(t *testing.T) {
	t.Parallel() // it mainly waits
	net := newInternet(t)
	b := newUserBrowser(t)
	b.flags = []string{fmt.Sprintf("--host-resolver-rules=MAP *.example.com %s", net.Listener.Addr()), tier.FastWindows + ",HttpsUpgrades"} // the site has no https
	data := filepath.Join(t.TempDir(), "data")
	b.register(t, data)
	client := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		t.Error("the client was prompted")
		return nil, errors.New("not here")
	}}
	s := startMCPWith(t, client, nil, "--data", data, "--port=0", "--no-cdp-fallback", "--subresources=same")
	b.open()
	s.until(t, "no tab shared", "chrome_status", nil)
	// asks makes a call that causes a prompt in the extension popup.
	asks := func(tool string, args map[string]any, question, answer string, during ...func()) (text string) {
		t.Helper()
		answered := make(chan string, 1)
		go func() {
			text, _, err := s.try(t.Context(), tool, args)
			if err != nil {
				text = err.Error()
			}
			answered <- text
		}()
		b.Popup(t, func(popup string) {
			b.holds(t, popup, fmt.Sprintf("document.getElementById('questions').textContent.includes(%q)", question))
			var badge string
			b.Worker(t, "chrome.action.getBadgeText({})", &badge)
			if badge != "?" {
				t.Errorf("the badge is %q", badge)
			}
			for _, do := range during {
				do()
			}
			b.Click(t, popup, "#questions button", answer)
			if len(during) == 0 {
				b.holds(t, popup, "document.getElementById('asking').hidden")
			}
		})
		return <-answered
	}
	to := func(url string) map[string]any { return map[string]any{"url": url} }

	goes := func(host, answer string) {
		t.Helper()
		text := asks("navigate", to("http://"+host+"/page"), "http://"+host+", which is not an allowed site (tool navigate)", answer)
		if want := "http://" + host + "/page"; !strings.Contains(text, want) || strings.Contains(text, "DENIED") {
			t.Fatalf("navigate answered %s", text)
		}
	}
	goes("shop.example.com", "Allow this session")
	s.call(t, "get_text", nil, "This is shop.example.com")
	// An attached tab navigates to another site: its network rules change before the navigation.
	goes("other.example.com", "Allow once")
	s.call(t, "navigate", to("http://shop.example.com/page"))
	text := asks("navigate", to("http://other.example.com/again"), "http://other.example.com,", "No")
	wants(t, "navigate", text, []string{"POLICY_DENIED: ", "the user denied permission"})
	s.refused(t, "POLICY_DENIED", "navigate", to("http://other.example.com/again"), "the user denied permission")
	if n := net.asked("/again"); n != 0 {
		t.Errorf("%d requests to a denied URL", n)
	}

	if tier.DeepEnabled() {
		goes("docs.example.com", "Allow this session")
		s.call(t, "navigate", to("http://shop.example.com/page"))
		unansweredPrompt(t, b, s)
		s.call(t, "navigate", to("http://docs.example.com/page"))
		if text := asks("press", map[string]any{"key": "Tab"}, "wants to act on http://docs.example.com (tool press)", "Allow once"); strings.Contains(text, "DENIED") {
			t.Errorf("press answered %s", text)
		}
		s.call(t, "navigate", to("http://shop.example.com/page"))
	}
	button := map[string]any{"selector": "button"}
	// Two concurrent calls: permission for one does not apply to the other.
	other := make(chan string, 1)
	text = asks("click", button, "wants to act on http://shop.example.com (tool click)", "Allow once", func() {
		go func() {
			text, _, err := s.try(t.Context(), "press", map[string]any{"key": "Tab"})
			if err != nil {
				text = err.Error()
			}
			other <- text
		}()
	})
	if strings.Contains(text, "DENIED") {
		t.Errorf("click answered %s", text)
	}
	b.Popup(t, func(popup string) {
		b.holds(t, popup, "document.getElementById('questions').textContent.includes('wants to act on http://shop.example.com (tool press)')")
		b.Click(t, popup, "#questions button", "No")
	})
	wants(t, "press", <-other, []string{"POLICY_DENIED: ", "the user denied permission"})
	await.Until(t, "the click to arrive", func() bool { return net.asked("/clicked") == 1 })
	s.refused(t, "POLICY_DENIED", "click", button, "the user denied permission")
	if n := net.asked("/clicked"); n != 1 {
		t.Errorf("%d clicks arrived", n)
	}
	s.end(t)
}

// unansweredPrompt checks that a call ends whose prompt is not answered within Timing.Consent, and that
// others continue. "Once" is no longer possible, and the answer applies to no other call.
func unansweredPrompt(t *testing.T, b *userBrowser, s *mcpServer) {
	s.refused(t, "CONSENT_REQUIRED", "click", map[string]any{"selector": "button"}, "has not answered yet", "popup")
	s.call(t, "get_text", nil, "This is shop.example.com")
	b.Popup(t, func(popup string) {
		b.holds(t, popup, "document.getElementById('questions').textContent.includes('wants to act on http://shop.example.com (tool click)')")
		b.holds(t, popup, "[...document.querySelectorAll('#questions button')].map((e) => e.disabled).join() === 'true,false,false'")
		var said string
		b.Eval(t, popup, `import('/page_port.js').then(({ PagePort }) => new Promise((done) => {
			const client = new PagePort(({ questions: [q] }) => client.act('answer', { question: q.id, answer: 'once' }).then(() => done('accepted'), (e) => done(e.message)));
		}))`, &said)
		if !strings.Contains(said, "no longer waiting") {
			t.Errorf("an answer of once for an ended call: %s", said)
		}
	})
}
