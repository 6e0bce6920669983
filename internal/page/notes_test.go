package page

import (
	"errors"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
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

// TestHungPageHint checks the hint for a page that does not respond: if the browser has a window, the
// page may wait for a print preview.
func TestHungPageHint(t *testing.T) {
	for _, noWindow := range []bool{true, false} {
		tab := attachWith(t, cdptest.New(replyAsWorlds()), Options{NoDialogs: true, NoWindow: noWindow})
		v := tab.NewView(ViewOptions{Gate: executor.AllowAll})
		hung := executor.Errorf(executor.ErrTimeout, cdpconn.HungHint, "%w", cdpconn.ErrCallTimeout)
		e, ok := errors.AsType[*executor.Error](v.AsClientError(t.Context(), hung))
		if !ok || !errors.Is(e, cdpconn.ErrCallTimeout) || strings.Contains(e.Hint, "print preview") == noWindow {
			t.Errorf("NoWindow = %v: %v, hint %q", noWindow, e, e.Hint)
		}
	}
}
