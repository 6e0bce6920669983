package shield

import (
	"fmt"
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

// TestForgottenDocuments checks that the past documents of a tab count as incomplete until no view
// transition can show one that was not remembered: for two top documents.
func TestForgottenDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		tab := attach(t, r.FakeTransport)
		n := 0
		var worlds []int // of the current documents: of the top document, and of its frame if it has one
		end := func() {
			world := worlds[len(worlds)-1]
			worlds = worlds[:len(worlds)-1]
			r.Emit("T", "Runtime.executionContextDestroyed", fmt.Sprintf(`{"executionContextId":%d,"executionContextUniqueId":"W%[1]d"}`, world))
		}
		top := func() {
			for len(worlds) > 0 {
				end()
			}
			n++
			tab.Load(t, n)
			worlds = []int{n}
		}
		frames := func(count int) {
			for range count {
				if len(worlds) == 2 {
					end()
				}
				n++
				tab.LoadChild(t, n)
				worlds = append(worlds, n)
			}
		}
		check := func(want bool) {
			t.Helper()
			list, complete := tab.Tree.PastDocuments()
			if complete != want {
				t.Errorf("after document %d: %d past documents, complete: %t", n, len(list), complete)
			}
		}
		top()
		frames(50)
		check(true)
		top()
		frames(70) // more than are remembered
		check(false)
		top()
		check(false) // the transition from the second top document
		top()
		check(true)
	})
}
