package prompting

import (
	"context"
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

// A fakePopup is an extension popup whose prompts have the result of prompt.
type fakePopup struct {
	executor.PermissionPrompter
	prompt func() executor.PromptAnswer
}

func (f fakePopup) Prompt(context.Context, executor.PermissionPrompt) (executor.PromptAnswer, error) {
	return f.prompt(), nil
}

// TestPopupDoesNotWaitForRepeatedCall checks that a call whose prompt the popup shows does not wait for
// a prompt that only a repeated call of the client answers.
func TestPopupDoesNotWaitForRepeatedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		popup := fakePopup{prompt: func() executor.PromptAnswer { return executor.PromptAnswer(AnswerOnce) }}
		pr := New("s", nil, popup, func(audit.Entry, string, string) {})
		defer pr.Close()
		missing := executor.Permission{Kind: executor.PermitSite, Origin: "https://a.test"}
		repeated := &Channel{Elicitation: Elicitation{InputRequests: true}}
		if _, _, err := pr.askOnce(t.Context(), repeated, &Prompt{ID: "1", Missing: missing}); !errors.Is(err, executor.ErrConsentRequired) {
			t.Fatal(err)
		}
		if answer, _, err := pr.askOnce(t.Context(), &Channel{Popup: true}, &Prompt{ID: "2", Missing: missing}); answer != AnswerOnce || err != nil {
			t.Errorf("answer %q, error %v", answer, err)
		}
	})
}

// TestCanceledCallLeavesPrompt checks that a call returns when it is canceled, also after the time
// in which the user can answer.
func TestCanceledCallLeavesPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		popup := fakePopup{prompt: func() executor.PromptAnswer {
			<-release
			return executor.PromptAnswer(answerNo)
		}}
		pr := New("s", nil, popup, func(audit.Entry, string, string) {})
		defer pr.Close()
		defer close(release)
		ctx, cancel := context.WithTimeout(t.Context(), Timeout+RepromptDelay)
		defer cancel()
		if _, _, err := pr.askOnce(ctx, &Channel{Popup: true}, &Prompt{ID: "1"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// TestCloseEndsWaitForRepeatedCall checks that a call that waits for a prompt of another call, which
// a repeated call answers, returns when the session closes.
func TestCloseEndsWaitForRepeatedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pr := New("s", nil, nil, func(audit.Entry, string, string) {})
		repeated := &Channel{Elicitation: Elicitation{InputRequests: true}}
		if _, _, err := pr.askOnce(t.Context(), repeated, &Prompt{ID: "1"}); !errors.Is(err, executor.ErrConsentRequired) {
			t.Fatal(err)
		}
		start := time.Now()
		go pr.Close()
		if answer, _, err := pr.askOnce(t.Context(), repeated, &Prompt{ID: "2"}); answer != answerDismissed || err != nil || time.Now() != start {
			t.Errorf("answer %q, error %v after %v", answer, err, time.Since(start))
		}
	})
}
