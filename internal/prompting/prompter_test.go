package prompting

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestUnansweredPromptsBounded checks that the number of stored prompts is limited if a client
// never repeats its calls.
func TestUnansweredPromptsBounded(t *testing.T) {
	a := New("", nil, nil, func(audit.Entry, string, string) {})
	defer a.Close()
	for i := range 10 * maxPending {
		p := executor.Permission{Kind: executor.PermitSite, Origin: fmt.Sprintf("https://shop%d.example.com", i)}
		if _, _, err := a.askOnce(t.Context(), &Channel{Elicitation: Elicitation{InputRequests: true}}, &Prompt{ID: fmt.Sprint(i), Missing: p}); !errors.Is(err, executor.ErrConsentRequired) {
			t.Fatal(err)
		}
	}
	if len(a.open) > maxPending || len(a.pending) > maxPending {
		t.Errorf("%d prompts are open and %d are stored, want at most %d", len(a.open), len(a.pending), maxPending)
	}
}

// TestForgottenDenials checks that a client that initializes MCP again does not prompt immediately
// for what the user has denied.
func TestForgottenDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New("s", nil, nil, nil)
		defer a.Close()
		p := executor.Permission{Kind: executor.PermitSite, Origin: "https://a.test"}
		a.denied[clientPermission{a.mcpClient("1"), p}] = answerDeclined
		a.Forget("1")
		again := func() Answer {
			a.mu.Lock()
			defer a.mu.Unlock()
			if res, ok := a.suppressed(clientPermission{a.mcpClient("2"), p}); ok {
				return res
			}
			return ""
		}
		if got := again(); got != answerDeclined {
			t.Errorf("after the end of its MCP session: %q", got)
		}
		time.Sleep(RepromptDelay)
		if got := again(); got != "" {
			t.Errorf("after repromptDelay: %q", got)
		}
	})
}
