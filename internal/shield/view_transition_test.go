package shield

import (
	"testing"
	"testing/synctest"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestViewTransitions checks that an active view transition is denied only if it may show a document
// that the client may not read.
func TestViewTransitions(t *testing.T) {
	for _, c := range []struct {
		name   string
		active string
		gate   executor.Gate
		hidden bool
		denied bool
	}{
		{"none active", "false", deny("https://a.test/1"), true, false},
		{"from an allowed document", "true", executor.AllowAll, false, false},
		{"from a denied document", "true", deny("https://a.test/1"), false, true},
		{"with a frame that was hidden after its start", "true", executor.AllowAll, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder()
				r.returns("hasActiveViewTransition", c.active)
				tab := attach(t, r.FakeTransport)
				tab.Load(t, 1)
				r.Emit("T", "Runtime.executionContextDestroyed", `{"executionContextId":1,"executionContextUniqueId":"W1"}`)
				tab.Load(t, 2)
				q, err := QueryViewTransitions(t.Context(), tab.Client(c.gate))
				if err != nil {
					t.Fatal(err)
				}
				if err := q.Check(t.Context(), c.hidden); (executor.CodeOf(err) == executor.ErrPolicyDenied) != c.denied || !c.denied && err != nil {
					t.Errorf("denied %t: %v", c.denied, err)
				}
			})
		})
	}
}
