package page

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestOverlappingBlockers ends a blocker while the browser has not handled its
// input, so that it is uninstalled only after the blocker of the next call was
// installed. New frames wait until both are uninstalled.
func TestOverlappingBlockers(t *testing.T) {
	var mu sync.Mutex
	var log []string // what was installed and uninstalled
	var input *cdproto.Message
	scripts := 0
	added, removed := make(chan struct{}, 3), make(chan struct{}, 2)
	b := cdptest.New(func(b *cdptest.Browser, cmd *cdproto.Message) {
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
	await := func(c chan struct{}) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(10 * time.Second):
			t.Fatal("the browser did not receive the command")
		}
	}
	await(added) // not of a blocker
	first := v.block(t.Context())
	if _, err := v.startInput(t.Context(), "Input.dispatchKeyEvent", nil); err != nil {
		t.Fatal(err)
	}
	if err := first.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := v.block(t.Context())
	await(added)
	await(added)
	mu.Lock()
	log = append(log, "handled")
	b.Reply(input, "{}")
	mu.Unlock()
	await(removed)
	if err := second.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(removed)
	mu.Lock()
	defer mu.Unlock()
	want := []string{"add 1", "wait false", "wait true", "add 2", "add 3", "handled", "remove 2", "wait false", "remove 3"}
	if !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

// TestRenewedBlock sends input that the browser does not confirm. The document stays
// blocked for longer than a block lasts, also after the end of the call, until the
// browser confirms the input.
func TestRenewedBlock(t *testing.T) {
	var mu sync.Mutex
	var input *cdproto.Message
	blocked := make(chan struct{}, 10)
	b := cdptest.New(func(b *cdptest.Browser, cmd *cdproto.Message) {
		mu.Lock()
		defer mu.Unlock()
		switch cmd.Method {
		case "Page.addScriptToEvaluateOnNewDocument":
			b.Reply(cmd, `{"identifier":"1"}`)
			return
		case "Input.dispatchKeyEvent":
			input = cmd
			return
		case "Runtime.callFunctionOn":
			var params struct {
				Function string `json:"functionDeclaration"`
			}
			json.Unmarshal(cmd.Params, &params)
			if params.Function == wire.BarScript {
				blocked <- struct{}{}
			}
			b.Reply(cmd, `{"result":{"type":"undefined"}}`)
			return
		}
		b.Reply(cmd, "{}")
	})
	tab := attach(t, b)
	load(t, b, tab, 1)
	v := tab.NewView(ViewOptions{Gate: executor.GateFunc(func(context.Context, executor.Access) error {
		return executor.Errorf(executor.ErrPolicyDenied, "", "denied")
	})})
	first := v.block(t.Context())
	if _, err := v.startInput(t.Context(), "Input.dispatchKeyEvent", nil); err != nil {
		t.Fatal(err)
	}
	await := func(when string) {
		t.Helper()
		select {
		case <-blocked:
		case <-time.After(2 * blockTime):
			t.Fatal("the block was not renewed", when)
		}
	}
	await("during the call")
	if err := first.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	await("after the call")
	second := v.block(t.Context())
	if len(second.inputs) != 1 {
		t.Errorf("the next blocker waits for %d inputs, want 1", len(second.inputs))
	}
	if err := second.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	await("after the next call")
	mu.Lock()
	b.Reply(input, "{}")
	mu.Unlock()
	select {
	case <-second.inputs[0].Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the confirmation did not arrive")
	}
	if n := len(unconfirmed(second.inputs)); n > 0 {
		t.Errorf("%d inputs are unconfirmed after the confirmation", n)
	}
}
