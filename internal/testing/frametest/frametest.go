// Package frametest provides the frame tree of a tab in a fake browser, for tests of the packages that
// use one.
package frametest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deniedscripts"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A Tab is the frame tree of a page target, which follows the events of a fake browser.
type Tab struct {
	*frames.Tree
	// OnDocument is DocumentCreated of the observer of the tree. nil means no call. It must be set
	// before the first document loads.
	OnDocument func(*frames.Document) (after func())

	browser *cdptest.FakeTransport
}

// Attach returns a tab of the browser b, with the target id "T".
func Attach(t testing.TB, b *cdptest.FakeTransport) *Tab {
	t.Helper()
	conn := cdpconn.New(b)
	b.Attach("", "T", "page")
	ev, err := conn.BrowserSession().Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tab := &Tab{browser: b}
	tab.Tree = frames.New(ev.Child, "T", observer{tab: tab}, "", slog.New(slog.DiscardHandler), timing.Current())
	ev.Child.InOrder()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tab.consumeEvents()
	}()
	t.Cleanup(func() {
		conn.Close()
		<-ended
		tab.WaitIdle()
	})
	return tab
}

// consumeEvents handles the events of the target until it is gone.
func (t *Tab) consumeEvents() {
	for {
		ev, err := t.Session().Next(context.Background())
		s := t.Lock()
		if err != nil {
			s.End(err)
			t.Changes.Notify()
			s.Unlock()
			return
		}
		after := s.HandleEvent(ev)
		t.Changes.Notify()
		s.Unlock()
		if after != nil {
			after()
		}
	}
}

// Client returns a client of the tab.
func (t *Tab) Client(gate executor.Gate) *frames.Client {
	return &frames.Client{
		Tree: t.Tree, Gate: gate, OpenedBySession: func() bool { return true },
		CheckMasked: func(context.Context, *frames.Document, executor.Operation) error { return nil },
	}
}

// Load is [Load] for the tab.
func (t *Tab) Load(tb testing.TB, n int) *frames.Document {
	tb.Helper()
	return Load(tb, t.browser, t.Tree, n)
}

// Load commits the document https://a.test/n, whose isolated world is Wn, in the top frame of tree,
// and returns it. The target of tree is "T", and its events must be handled.
func Load(t testing.TB, b *cdptest.FakeTransport, tree *frames.Tree, n int) *frames.Document {
	t.Helper()
	return load(t, b, tree, "T", "", fmt.Sprintf("https://a.test/%d", n), n)
}

// LoadChild commits the document https://b.test/n, whose isolated world is Wn, in the frame F of the
// top document, and returns it. The frame is in the process of the top document.
func (t *Tab) LoadChild(tb testing.TB, n int) *frames.Document {
	tb.Helper()
	return LoadChild(tb, t.browser, t.Tree, n)
}

// LoadChild is Tab.LoadChild for a tree as in [Load].
func LoadChild(t testing.TB, b *cdptest.FakeTransport, tree *frames.Tree, n int) *frames.Document {
	t.Helper()
	b.Emit("T", "Page.frameAttached", `{"frameId":"F","parentFrameId":"T"}`)
	return load(t, b, tree, "F", "T", fmt.Sprintf("https://b.test/%d", n), n)
}

func load(t testing.TB, b *cdptest.FakeTransport, tree *frames.Tree, frame, parent cdp.FrameID, url string, n int) *frames.Document {
	t.Helper()
	origin := frames.OriginOfURL(url)
	b.Emit("T", "Page.frameNavigated", fmt.Sprintf(
		`{"frame":{"id":%q,"parentId":%q,"loaderId":"L%d","url":%q,"domainAndRegistry":"","securityOrigin":%q,"mimeType":"text/html","secureContextType":"Secure","crossOriginIsolatedContextType":"Isolated","gatedAPIFeatures":[]},"type":"Navigation"}`,
		frame, parent, n, url, origin))
	b.Emit("T", "Runtime.executionContextCreated", fmt.Sprintf(
		`{"context":{"id":%d,"origin":%q,"name":%q,"uniqueId":"W%d","auxData":{"frameId":%q,"isDefault":false,"type":"isolated"}}}`, n, origin, frames.WorldName, n, frame))
	var d *frames.Document
	err := tree.Await(t.Context(), func(s *frames.State) (bool, error) {
		d = s.Document(s.Frame(frame))
		return d != nil && d.World == fmt.Sprint("W", n), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// An observer is the observer of the tree of a tab. Dialogs and external programs do not occur.
type observer struct {
	frames.Observer // nil
	tab             *Tab
}

func (o observer) FrameAdded(id, parent cdp.FrameID)            {}
func (o observer) FrameRemoved(id cdp.FrameID)                  {}
func (o observer) OpensProgram(id cdp.FrameID, url string) bool { return false }
func (o observer) DocumentCommitted(s *frames.State, f *frames.Frame, restored bool, navigation frames.Navigation) {
}
func (o observer) DocumentDropped(id cdp.FrameID, navigation frames.Navigation) {}
func (o observer) WorldAdded(s *frames.State)                                   {}
func (o observer) DialogError() error                                           { return nil }
func (o observer) OtherDialogError() error                                      { return nil }
func (o observer) EarlyDialogURL() string                                       { return "" }
func (o observer) OwnsBlank() bool                                              { return false }

func (o observer) DocumentCreated(d *frames.Document) (after func()) {
	if o.tab.OnDocument == nil {
		return nil
	}
	return o.tab.OnDocument(d)
}

// deniedScripts are the names of the scripts of package deniedscripts.
var deniedScripts = map[string]string{
	deniedscripts.BlockInput: "blockInput", deniedscripts.UnblockInput: "unblockInput", deniedscripts.LockScrolling: "lockScrolling",
	deniedscripts.HideContent: "hideContent", deniedscripts.WaitHidden: "waitHidden", deniedscripts.ShowContent: "showContent",
}

// CommandName returns a short name of a command: that of the function that it calls in a document, the
// type of the input event that it sends, or its method without the domain.
func CommandName(cmd *cdproto.Message) string {
	var params struct {
		Function  string `json:"functionDeclaration"`
		Type      string `json:"type"`
		Arguments []struct {
			Value string `json:"value"`
		} `json:"arguments"`
	}
	json.Unmarshal(cmd.Params, &params)
	switch {
	case deniedScripts[params.Function] != "":
		return deniedScripts[params.Function]
	case len(params.Arguments) > 0:
		return params.Arguments[0].Value
	case params.Type != "":
		return params.Type
	}
	_, name, _ := strings.Cut(string(cmd.Method), ".")
	return name
}
