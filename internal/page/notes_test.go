package page

import (
	"errors"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// TestDeniedNote checks that the note on a document that is not known yet does not say that the
// policy denied it.
func TestDeniedNote(t *testing.T) {
	denied := executor.Errorf(executor.ErrPolicyDenied, "The user can allow it.", "host %q is not in the allow list", "b.test")
	if got, want := deniedNote(denied), `navigation denied by policy. POLICY_DENIED: host "b.test" is not in the allow list. The user can allow it.`; got != want {
		t.Errorf("denied: %q, want %q", got, want)
	}
	unknown := &executor.Error{Code: executor.ErrPolicyDenied, Retryable: true, Err: errors.New("the frame is not known yet")}
	if got := deniedNote(unknown); strings.Contains(strings.ToLower(got), "denied") || !strings.Contains(got, "the frame is not known yet") {
		t.Errorf("not known: %q", got)
	}
}

// TestProgressIsNotRetryable checks that an error that reports what a call has done does not ask
// for the same call again, which would do it twice.
func TestProgressIsNotRetryable(t *testing.T) {
	err := &executor.Error{Code: executor.ErrNotActionable, Retryable: true, Err: errors.New("the page did not receive the key")}
	got, ok := errors.AsType[*executor.Error](shield.WithProgress(err, "the text was typed"))
	if !ok || got.Retryable || got.Message() != "the page did not receive the key; the text was typed" {
		t.Errorf("got %+v", got)
	}
	if shield.WithProgress(err, "") != error(err) || !err.Retryable {
		t.Errorf("an error without progress is changed: %+v", err)
	}
}
