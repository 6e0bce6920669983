package page

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deniedscripts"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// TestOverlappingBlockers removes a blocker while the browser has not handled its input, so that
// the scripts of the blocker are uninstalled only after the next call has installed its blocker.
// New frames must wait until both blockers are uninstalled.
func TestOverlappingBlockers(t *testing.T) {
	var mu sync.Mutex
	var log []string // scripts that were added and removed, and whether new frames wait
	var input *cdproto.Message
	scripts := 0
	added, removed := make(chan struct{}, 3), make(chan struct{}, 2)
	b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		mu.Lock()
		defer mu.Unlock()
		var params struct {
			Wait       bool   `json:"waitForDebuggerOnStart"`
			Identifier string `json:"identifier"`
		}
		json.Unmarshal(cmd.Params, &params)
		switch cmd.Method {
		case "Target.setAutoAttach":
			log = append(log, fmt.Sprint("wait ", params.Wait))
		case "Page.addScriptToEvaluateOnNewDocument":
			scripts++
			log = append(log, fmt.Sprint("add ", scripts))
			added <- struct{}{}
			b.Reply(cmd, fmt.Sprintf(`{"identifier":"%d"}`, scripts))
			return
		case "Page.removeScriptToEvaluateOnNewDocument":
			log = append(log, "remove "+params.Identifier)
			removed <- struct{}{}
		case "Input.dispatchKeyEvent":
			input = cmd
			return
		}
		b.Reply(cmd, "{}")
	})
	tab := attach(t, b)
	v := tab.NewView(ViewOptions{Gate: executor.AllowAll})
	receive := func(c chan struct{}) {
		t.Helper()
		await.Receive(t, "the browser to receive the command", c)
	}
	receive(added) // the page scripts, not a blocker
	first := v.Block(t.Context())
	if _, err := v.StartInput(t.Context(), "Input.dispatchKeyEvent", nil); err != nil {
		t.Fatal(err)
	}
	if err := first.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := v.Block(t.Context())
	receive(added)
	receive(added)
	mu.Lock()
	log = append(log, "handled")
	b.Reply(input, "{}")
	mu.Unlock()
	receive(removed)
	if err := second.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	receive(removed)
	mu.Lock()
	defer mu.Unlock()
	want := []string{"add 1", "wait false", "wait true", "add 2", "add 3", "handled", "remove 2", "wait false", "remove 3"}
	if !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

// unconfirmedInput returns a view of a tab whose document is denied, in a browser that does not
// confirm input until confirm is called. The channel run receives the functions that run in the
// document. If responds is false, the document does not respond to them.
func unconfirmedInput(t *testing.T, responds bool) (v *View, run chan string, confirm func()) {
	var mu sync.Mutex
	var inputs []*cdproto.Message
	run = make(chan string, 100)
	b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		mu.Lock()
		defer mu.Unlock()
		switch cmd.Method {
		case "Page.addScriptToEvaluateOnNewDocument":
			b.Reply(cmd, `{"identifier":"1"}`)
		case "Input.dispatchKeyEvent":
			inputs = append(inputs, cmd)
		case "Runtime.callFunctionOn":
			var params struct {
				Function string `json:"functionDeclaration"`
			}
			json.Unmarshal(cmd.Params, &params)
			run <- params.Function
			if responds {
				b.Reply(cmd, `{"result":{"type":"undefined"}}`)
			}
		default:
			b.Reply(cmd, "{}")
		}
	})
	tab := attach(t, b)
	load(t, b, tab, 1)
	v = tab.NewView(ViewOptions{Gate: executor.GateFunc(func(context.Context, executor.Access) error {
		return executor.Errorf(executor.ErrPolicyDenied, "", "denied")
	})})
	return v, run, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, cmd := range inputs {
			b.Reply(cmd, "{}")
		}
	}
}

// awaitRun waits until function runs. when completes the error message.
func awaitRun(t *testing.T, run chan string, function, when string) {
	t.Helper()
	for await.Receive(t, "the function to run "+when, run) != function {
	}
}

// TestSlowDocument sends input that the browser does not confirm, to a document that does not
// respond. The document stays blocked, also after the end of the call and of the next one, until
// the browser confirms the input.
func TestSlowDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, run, confirm := unconfirmedInput(t, false)
		first := v.Block(t.Context())
		if _, err := v.StartInput(t.Context(), "Input.dispatchKeyEvent", nil); err != nil {
			t.Fatal(err)
		}
		awaitRun(t, run, deniedscripts.BlockInput, "during the call")
		if err := first.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitRun(t, run, deniedscripts.BlockInput, "after the call")
		if err := v.Block(t.Context()).End(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 3 { // longer than a block lasts
			awaitRun(t, run, deniedscripts.BlockInput, "after the next call")
		}
		confirm()
		awaitRun(t, run, deniedscripts.UnblockInput, "after the confirmation")
	})
}

// TestLostInput sends input that the browser never confirms, to a document that responds. The
// document is unblocked when the input can no longer arrive.
func TestLostInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, run, _ := unconfirmedInput(t, true)
		b := v.Block(t.Context())
		start := time.Now()
		if _, err := v.StartInput(t.Context(), "Input.dispatchKeyEvent", nil); err != nil {
			t.Fatal(err)
		}
		if err := b.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitRun(t, run, deniedscripts.BlockInput, "after the call")
		awaitRun(t, run, deniedscripts.UnblockInput, "after the input was lost")
		if d := time.Since(start); d < shield.BlockTime {
			t.Errorf("the document was unblocked after %v", d)
		}
		// The next call does not wait for the lost input.
		next := v.Block(t.Context())
		start = time.Now()
		if err := next.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("the next call waited for %v", d)
		}
	})
}

// TestBlockedInNewDocument checks that input that a new document has blocked is reported as denied
// only if the gate denies the document. It also blocks input before it is admitted.
func TestBlockedInNewDocument(t *testing.T) {
	for _, denied := range []bool{false, true} {
		b := cdptest.New(replyAsWorlds())
		tab := attach(t, b)
		load(t, b, tab, 1)
		v := tab.NewView(ViewOptions{Gate: executor.GateFunc(func(_ context.Context, a executor.Access) error {
			if denied && a.URL == "https://a.test/2" {
				return executor.Errorf(executor.ErrPolicyDenied, "", "denied")
			}
			return nil
		})})
		blocker := v.Block(t.Context())
		load(t, b, tab, 2)
		b.Emit("T", "Runtime.bindingCalled", fmt.Sprintf(`{"name":%q,"payload":"{\"blocked\":\"keydown\"}","executionContextId":2}`, BindingName))
		load(t, b, tab, 3) // events are handled in order
		if err := blocker.End(t.Context()); (executor.CodeOf(err) == executor.ErrPolicyDenied) != denied || !denied && err != nil {
			t.Errorf("denied %v: %v", denied, err)
		}
	}
}
