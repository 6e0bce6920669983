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
	pr := New("", nil, nil, func(audit.Entry, string, string) {})
	defer pr.Close()
	for i := range 10 * maxPending {
		p := executor.Permission{Kind: executor.PermitSite, Origin: fmt.Sprintf("https://shop%d.example.com", i)}
		if _, _, err := pr.askOnce(t.Context(), &Channel{Elicitation: Elicitation{InputRequests: true}}, &Prompt{ID: fmt.Sprint(i), Missing: p}); !errors.Is(err, executor.ErrConsentRequired) {
			t.Fatal(err)
		}
	}
	if len(pr.open) > maxPending || len(pr.pending) > maxPending {
		t.Errorf("%d prompts are open and %d are stored, want at most %d", len(pr.open), len(pr.pending), maxPending)
	}
}

// TestForgottenDenials checks that a client that initializes MCP again does not prompt immediately
// for what the user has denied.
func TestForgottenDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pr := New("s", nil, nil, nil)
		defer pr.Close()
		p := executor.Permission{Kind: executor.PermitSite, Origin: "https://a.test"}
		pr.denied[clientPermission{pr.mcpClient("1"), p}] = answerDeclined
		pr.Forget("1")
		again := func() Answer {
			pr.mu.Lock()
			defer pr.mu.Unlock()
			if res, ok := pr.suppressed(clientPermission{pr.mcpClient("2"), p}); ok {
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
