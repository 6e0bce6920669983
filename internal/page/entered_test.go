package page

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/frametest"
)

// TestWatchFieldsOfLateDocument checks that the contents of a document that becomes known during a
// handover are not taken for those of the page: the user may have entered them.
func TestWatchFieldsOfLateDocument(t *testing.T) {
	calls := make(chan string, 100)
	reply := replyAsWorlds()
	b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		for _, name := range []string{"watchFields", "distrustContents"} {
			if strings.Contains(string(cmd.Params), `"`+name+`"`) {
				calls <- name
			}
		}
		reply(b, cmd)
	})
	tab := attach(t, b)
	v := tab.NewView(ViewOptions{Gate: executor.AllowAll})
	tab.openerGroup.beginHandover(v)
	frametest.Load(t, b, tab.tree, 1)
	for _, want := range []string{"watchFields", "distrustContents"} {
		if got := await.Receive(t, want, calls); got != want {
			t.Fatalf("%s was called, want %s", got, want)
		}
	}
}

// TestDocumentKnownAfterHandover checks that a document which becomes known only after a handover
// can be read only once it has masked its fields: the user may have entered something in it.
func TestDocumentKnownAfterHandover(t *testing.T) {
	masked := make(chan string, 100)
	reply := replyAsWorlds()
	b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		if !strings.Contains(string(cmd.Params), `"maskEntered"`) {
			reply(b, cmd)
			return
		}
		var params struct {
			World string `json:"uniqueContextId"`
		}
		if err := json.Unmarshal(cmd.Params, &params); err != nil {
			t.Error(err)
		}
		masked <- params.World
		b.Reply(cmd, `{"result":{"type":"object","value":{"values":["831942"],"parsed":true}}}`)
	})
	tab := attach(t, b)
	v := tab.NewView(ViewOptions{Gate: executor.AllowAll})
	frametest.Load(t, b, tab.tree, 1)
	attachFrame := func(id, parent string) {
		b.Emit("T", "Page.frameAttached", fmt.Sprintf(`{"frameId":%q,"parentFrameId":%q}`, id, parent))
	}
	wait := func(what string, cond func(*frames.State) bool) {
		t.Helper()
		if err := tab.tree.Await(t.Context(), func(s *frames.State) (bool, error) { return cond(s), nil }); err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
	}
	create := func(frame string, n int) *frames.Document {
		t.Helper()
		b.Emit("T", "Runtime.executionContextCreated", fmt.Sprintf(
			`{"context":{"id":%d,"origin":"https://a.test","name":%q,"uniqueId":"W%d","auxData":{"frameId":%q,"isDefault":false,"type":"isolated"}}}`, n, frames.WorldName, n, frame))
		var d *frames.Document
		wait("the document of "+frame, func(s *frames.State) bool { d = s.Document(s.Frame(cdp.FrameID(frame))); return d != nil })
		return d
	}

	if !tab.openerGroup.beginHandover(v) {
		t.Fatal("the handover did not begin")
	}
	attachFrame("late", "T")
	attachFrame("other", "T")
	wait("the frames", func(s *frames.State) bool { return s.Frame("other") != nil })
	v.endHandover()
	if got := await.Receive(t, "the top document", masked); got != "W1" {
		t.Fatalf("%s was masked, want W1", got)
	}
	attachFrame("inner", "late")
	attachFrame("new", "T")

	for i, frame := range []string{"inner", "late"} {
		d := create(frame, 10+i)
		if err := v.client.Check(t.Context(), d, executor.OpList, ""); err != nil { // must not call the page
			t.Error(err)
		}
		if err := tab.entered.CheckMasked(d, executor.OpRead); err == nil {
			t.Errorf("%s can be read before it has masked its fields", frame)
		}
		if err := v.client.Check(t.Context(), d, executor.OpRead, ""); err != nil {
			t.Error(err)
		}
		if got := await.Receive(t, frame, masked); got != d.World {
			t.Errorf("%s was masked, want %s", got, d.World)
		}
		if values := tab.entered.Of([]*frames.Document{d}); len(values) != 1 {
			t.Errorf("%s: values %q", frame, values)
		}
	}
	// What the frame loads then is new, and so is a frame of a document that has masked its fields.
	for i, frame := range []string{"late", "new"} {
		if frame == "late" {
			b.Emit("T", "Runtime.executionContextDestroyed", `{"executionContextId":11,"executionContextUniqueId":"W11"}`)
			wait("the end of the document", func(s *frames.State) bool { return s.Frame("late").World() == "" })
		}
		if err := tab.entered.CheckMasked(create(frame, 20+i), executor.OpRead); err != nil {
			t.Errorf("%s: %v", frame, err)
		}
	}
}

// TestDocumentKnownAtEndOfHandover checks that a document which becomes known while a handover ends
// cannot be read before it has masked its fields.
func TestDocumentKnownAtEndOfHandover(t *testing.T) {
	tab := offlineTab("T")
	s := tab.tree.Lock()
	s.HandleEvent(cdpconn.Event{Session: tab.sess, Method: "Runtime.executionContextCreated", Params: fmt.Appendf(nil,
		`{"context":{"id":1,"origin":"https://a.test","name":%q,"uniqueId":"new","auxData":{"frameId":"T"}}}`, frames.WorldName)})
	d := s.Document(s.Top())
	s.Unlock()
	end := func(masked *frames.Document) {
		s := tab.tree.Lock()
		defer s.Unlock()
		tab.entered.HandoverEnded(s, []*frames.Document{masked})
	}
	end(d)
	if len(tab.entered.Pending(d)) > 0 {
		t.Error("the document that was masked cannot be read")
	}
	end(&frames.Document{World: "old"})
	if len(tab.entered.Pending(d)) != 1 {
		t.Error("the document that was not masked can be read")
	}
}
