package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn/cdptest"
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
