package page

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/entered"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/frametest"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// attach returns a tab of the browser b, with the target id "T".
func attach(t *testing.T, b *cdptest.FakeTransport) *Tab {
	t.Helper()
	return attachWith(t, b, Options{})
}

func attachWith(t *testing.T, b *cdptest.FakeTransport, opts Options) *Tab {
	t.Helper()
	conn := cdpconn.New(b)
	b.Attach("", "T", "page")
	ev, err := conn.BrowserSession().Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tab, err := Attach(t.Context(), ev.Child, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		tab.Wait()
	})
	return tab
}

// offlineTab returns a tab without a browser, of which only the top frame is known.
func offlineTab(top cdp.FrameID) *Tab {
	t := &Tab{openerGroup: new(openerGroup), Recording: record.New(record.Options{}), entered: new(entered.Values)}
	t.sess, t.main, t.log, t.timing = new(cdpconn.Session), top, slog.New(slog.DiscardHandler), timing.Current()
	t.tree = frames.New(t.sess, top, frameObserver{t}, "", t.log, t.timing)
	t.shield = shield.New(t.tree)
	return t
}

// worlds returns a browser that knows which isolated worlds have the page scripts. As in a real
// browser, calls in other worlds fail.
func worlds() *cdptest.FakeTransport { return cdptest.New(replyAsWorlds()) }

// replyAsWorlds returns the function that replies to the commands of worlds.
func replyAsWorlds() func(*cdptest.FakeTransport, *cdproto.Message) {
	installed := make(map[string]int)
	return func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		var params struct {
			World string `json:"uniqueContextId"`
		}
		json.Unmarshal(cmd.Params, &params)
		switch cmd.Method {
		case "Runtime.evaluate":
			installed[params.World]++
			b.Reply(cmd, `{"result":{"type":"undefined"}}`)
		case "Runtime.callFunctionOn":
			if installed[params.World] != 1 {
				b.Reply(cmd, fmt.Sprintf(`{"result":{"type":"object"},"exceptionDetails":{"exceptionId":1,"text":"the scripts were installed %d times","lineNumber":0,"columnNumber":0}}`, installed[params.World]))
				return
			}
			b.Reply(cmd, `{"result":{"type":"string","value":"the title"}}`)
		default:
			b.Reply(cmd, "{}")
		}
	}
}

// TestInstallCanceled checks that a call that is canceled before it is sent leaves the document
// usable for other calls.
func TestInstallCanceled(t *testing.T) {
	b := worlds()
	tab := attach(t, b)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for n := range 50 { // whether the command is sent is random
		d := frametest.Load(t, b, tab.tree, n+1)
		d.Call(canceled, nil, "title")
		if title, err := d.Title(t.Context()); err != nil || title != "the title" {
			t.Fatalf("document %d: %q, %v", n+1, title, err)
		}
	}
}

// TestScriptsInstalledBeforeFirstCall checks that the scripts are sent before all calls when
// several calls on a new document run at the same time.
func TestScriptsInstalledBeforeFirstCall(t *testing.T) {
	b := worlds()
	tab := attach(t, b)
	for n := range 50 {
		d := frametest.Load(t, b, tab.tree, n+1)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if title, err := d.Title(t.Context()); err != nil || title != "the title" {
					t.Errorf("document %d: %q, %v", n+1, title, err)
				}
			})
		}
		wg.Wait()
	}
}

// TestScriptsInstalledOnce checks that the scripts are not sent to a document that reported them as
// installed, and are sent if the report came from another world.
func TestScriptsInstalledOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		world int
		sent  int
	}{{"its own world", 1, 0}, {"another world", 2, 1}} {
		t.Run(c.name, func(t *testing.T) {
			sent := 0
			b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
				switch cmd.Method {
				case "Runtime.evaluate":
					sent++
					b.Reply(cmd, `{"result":{"type":"undefined"}}`)
				case "Runtime.callFunctionOn":
					b.Reply(cmd, fmt.Sprintf(`{"result":{"type":"string","value":"sent %d times"}}`, sent))
				default:
					b.Reply(cmd, "{}")
				}
			})
			tab := attach(t, b)
			d := frametest.Load(t, b, tab.tree, 1)
			b.Emit("T", "Runtime.bindingCalled", fmt.Sprintf(`{"name":%q,"payload":%q,"executionContextId":%d}`, BindingName, installedReport, c.world))
			received := make(chan struct{})
			tab.tree.Reports().Subscribe("after", func([]byte) { close(received) })
			b.Emit("T", "Runtime.bindingCalled", fmt.Sprintf(`{"name":%q,"payload":"{\"token\":\"after\"}","executionContextId":1}`, BindingName))
			<-received // so the report before it was received
			title, err := d.Title(t.Context())
			if want := fmt.Sprintf("sent %d times", c.sent); err != nil || title != want {
				t.Errorf("the scripts were %s, want %s (%v)", title, want, err)
			}
		})
	}
}
