package shield

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deniedscripts"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// TestOverlappingBlockers removes a blocker while the browser has not handled its input, so that
// the scripts of the blocker are uninstalled only after the next call has installed its blocker.
// New frames must wait until both blockers are uninstalled.
func TestOverlappingBlockers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []string // scripts that were added and removed, and whether new frames wait
		var input *cdproto.Message
		scripts := 0
		added, removed := make(chan struct{}, 2), make(chan struct{}, 2)
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
		c := tab.Client(executor.AllowAll)
		receive := func(c chan struct{}) {
			t.Helper()
			await.Receive(t, "the browser to receive the command", c)
		}
		first := tab.shield.Block(t.Context(), c)
		if _, err := first.Send(t.Context(), "Input.dispatchKeyEvent", nil); err != nil {
			t.Fatal(err)
		}
		if err := first.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := tab.shield.Block(t.Context(), c)
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
		want := []string{"wait true", "add 1", "add 2", "handled", "remove 1", "wait false", "remove 2"}
		if !slices.Equal(log, want) {
			t.Errorf("got %q, want %q", log, want)
		}
	})
}

// unconfirmedInput returns a tab whose document is denied, and a client of it, in a browser that does
// not confirm input until confirm is called. The channel run receives the functions that run in the
// document. If responds is false, the document does not respond to them.
func unconfirmedInput(t *testing.T, responds bool) (tab *testTab, c *frames.Client, run chan string, confirm func()) {
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
	tab = attach(t, b)
	tab.Load(t, 1)
	return tab, tab.Client(deny("https://a.test/1")), run, func() {
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
		tab, c, run, confirm := unconfirmedInput(t, false)
		first := tab.shield.Block(t.Context(), c)
		if _, err := first.Send(t.Context(), "Input.dispatchKeyEvent", nil); err != nil {
			t.Fatal(err)
		}
		awaitRun(t, run, deniedscripts.BlockInput, "during the call")
		if err := first.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitRun(t, run, deniedscripts.BlockInput, "after the call")
		if err := tab.shield.Block(t.Context(), c).End(t.Context()); err != nil {
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
		tab, c, run, _ := unconfirmedInput(t, true)
		b := tab.shield.Block(t.Context(), c)
		start := time.Now()
		if _, err := b.Send(t.Context(), "Input.dispatchKeyEvent", nil); err != nil {
			t.Fatal(err)
		}
		if err := b.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitRun(t, run, deniedscripts.BlockInput, "after the call")
		awaitRun(t, run, deniedscripts.UnblockInput, "after the input was lost")
		if d := time.Since(start); d < BlockTime {
			t.Errorf("the document was unblocked after %v", d)
		}
		// The next call does not wait for the lost input.
		next := tab.shield.Block(t.Context(), c)
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
		tab := attach(t, cdptest.New(nil))
		tab.Load(t, 1)
		gate := executor.AllowAll
		if denied {
			gate = deny("https://a.test/2")
		}
		c := tab.Client(gate)
		b := tab.shield.Block(t.Context(), c)
		b.SetProgress("the text was typed")
		tab.shield.RecordBlocked(tab.Load(t, 2), "keydown")
		tab.Load(t, 3)
		err := tab.shield.Unblock(t.Context(), c)
		if (executor.CodeOf(err) == executor.ErrPolicyDenied) != denied || !denied && err != nil {
			t.Errorf("denied %v: %v", denied, err)
		}
		if denied && !strings.Contains(err.Error(), "(keydown); the text was typed") {
			t.Errorf("the error does not report the progress: %v", err)
		}
	}
}
