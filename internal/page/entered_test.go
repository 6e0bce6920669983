package page

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// TestMaskEntered checks that texts, lists, maps and JSON are masked, and that origins, ids and
// images are not changed.
func TestMaskEntered(t *testing.T) {
	type result struct {
		Origin string
		Text   string
		List   []executor.Tab
		Any    any
		JSON   executor.RawJSON
		Image  []byte
		Next   *result
	}
	var e entered
	e.add("w", []string{"secret", "secret word", "abc", `say "hi"`, "831942"})
	r := &result{
		Origin: "https://secret.example", Text: "the secret word, abc, say &#34;hi&#34;, say+%22hi%22",
		List: []executor.Tab{{ID: "cdp:secret:1", Title: "secret"}}, Any: []any{"a secret", map[string]any{"k": "secret"}},
		JSON: executor.RawJSON(`{"a":"say \"hi\"","secret":[831942,1831942,83]}`), Image: []byte("secret"), Next: &result{Text: "secret"},
	}
	maskStrings(reflect.ValueOf(r), newEnteredMasker(e.of([]*frames.Document{{World: "w"}, {World: "other"}})))
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Origin":"https://secret.example","Text":"the ••••, abc, ••••, ••••","List":[{"tabId":"cdp:secret:1","url":"","title":"••••","active":false,"index":0}],` +
		`"Any":["a ••••",{"k":"••••"}],"JSON":{"a":"••••","••••":["••••","1••••",83]},"Image":"c2VjcmV0","Next":{"Origin":"","Text":"••••","List":null,"Any":null,"JSON":null,"Image":null,"Next":null}}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	// What pages and browsers make of a value.
	m := newEnteredMasker([]string{`it's <p@ss> wörd_1! `, "831942"})
	for _, text := range []string{
		"it's &lt;p@ss&gt; wörd_1!", "it&#39;s &lt;p@ss&gt; w&ouml;rd_1!", "it's%20%3Cp%40ss%3E%20w%C3%B6rd_1!", "it%27s+%3Cp%40ss%3E+w%c3%b6rd_1%21",
		`it's \<p@ss\> wörd\_1!`, `it's \u003cp@ss\u003e w\u00f6rd_1!`, "IT'S <P@SS> WÖRD_1!", "it's <p@ss> w\u00ad\u00f6rd_1!", "83\u200b1942", "8319…", "83194…",
	} {
		if got := m.Replace("a " + text + " ."); strings.Trim(got, " …a.") != "••••" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	for _, text := range []string{"8… 8", "it is 8319", "…"} {
		if got := m.Replace(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	for i := range 2 * maxEnteredDocuments {
		e.add(fmt.Sprint(i), []string{strings.Repeat("x", 10)})
	}
	if len(e.values) > maxEnteredDocuments || len(e.order) > maxEnteredDocuments {
		t.Errorf("values of %d documents are stored", len(e.values))
	}
}

// TestReturnedDocument checks which documents are unmasked when they arrive after a handover, and
// which values are masked in them.
func TestReturnedDocument(t *testing.T) {
	for _, tt := range []struct {
		how    arrival
		world  string
		values int
		again  bool
	}{
		{arrivalNew, "other", 0, false},
		{arrivalAgain, "other", 1, true},
		{arrivalRestored, "left", 1, true},
		{arrivalRestored, "other", 1, false},
	} {
		var e entered
		d := &frames.Document{World: tt.world}
		e.arrived(arrivalAgain, true, []*frames.Document{d})
		if len(e.pending(d)) > 0 {
			t.Error("without a handover, a document that is loaded again is unmasked")
		}
		e.watched(&frames.Document{World: "left"})
		e.report("left", 0, "831942")
		e.arrived(tt.how, true, nil)
		e.created(d)
		if values := e.of([]*frames.Document{d}); len(values) != tt.values || len(e.pending(d)) > 0 != tt.again {
			t.Errorf("%+v: values %q, unmasked %v", tt, values, len(e.pending(d)) > 0)
		}
		e.arrived(arrivalNew, false, nil)
		if values := e.of([]*frames.Document{d}); len(values) != tt.values {
			t.Errorf("%+v: after a frame has loaded: values %q", tt, values)
		}
		e.arrived(arrivalNew, true, nil)
		next := &frames.Document{World: "next"}
		e.created(next)
		if values := e.of([]*frames.Document{next}); len(values) > 0 || len(e.pending(next)) > 0 {
			t.Errorf("%+v: values %q are masked in the next document", tt, values)
		}
	}
}

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
	load(t, b, tab, 1)
	for _, want := range []string{"watchFields", "distrustContents"} {
		if got := await.Receive(t, want, calls); got != want {
			t.Fatalf("%s was called, want %s", got, want)
		}
	}
}

// TestDocumentKnownAfterHandover checks that a document which becomes known only after a handover can
// be read only once it has masked its fields: the user may have entered something in it.
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
	load(t, b, tab, 1)
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
		if err := tab.unmaskedError(d, executor.OpRead); err == nil {
			t.Errorf("%s can be read before it has masked its fields", frame)
		}
		if err := v.client.Check(t.Context(), d, executor.OpRead, ""); err != nil {
			t.Error(err)
		}
		if got := await.Receive(t, frame, masked); got != d.World {
			t.Errorf("%s was masked, want %s", got, d.World)
		}
		if values := tab.entered.of([]*frames.Document{d}); len(values) != 1 {
			t.Errorf("%s: values %q", frame, values)
		}
	}
	// What the frame loads then is new, and so is a frame of a document that has masked its fields.
	for i, frame := range []string{"late", "new"} {
		if frame == "late" {
			b.Emit("T", "Runtime.executionContextDestroyed", `{"executionContextId":11,"executionContextUniqueId":"W11"}`)
			wait("the end of the document", func(s *frames.State) bool { return s.Frame("late").World() == "" })
		}
		if err := tab.unmaskedError(create(frame, 20+i), executor.OpRead); err != nil {
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
	tab.handoverEnded([]*frames.Document{d})
	if len(tab.entered.pending(d)) > 0 {
		t.Error("the document that was masked cannot be read")
	}
	tab.handoverEnded([]*frames.Document{{World: "old"}})
	if len(tab.entered.pending(d)) != 1 {
		t.Error("the document that was not masked can be read")
	}
}
