package cdpconn

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestMessageLimit checks that only the head and the tail of a message over the limit are stored,
// and that they identify the message.
func TestMessageLimit(t *testing.T) {
	lie := `\",\"sessionId\":\"LIE\"}`
	for name, tt := range map[string]struct {
		head, tail string
		size       int
		want       cdproto.Message
		err        bool // it is over the limit
	}{
		"event":                               {`{"method":"Runtime.consoleAPICalled","params":{"a":"`, `"},"sessionId":"S1"}`, MaxEvent, cdproto.Message{Method: "Runtime.consoleAPICalled", SessionID: "S1"}, true},
		"event within the limit":              {`{"method":"Runtime.consoleAPICalled","params":{"a":"`, `"},"sessionId":"S1"}`, MaxEvent - 100, cdproto.Message{Method: "Runtime.consoleAPICalled", SessionID: "S1"}, false},
		"reply":                               {`{"id":124,"result":{"a":"`, `"},"sessionId":"S1"}`, MaxReply, cdproto.Message{ID: 124, SessionID: "S1"}, true},
		"reply within the limit":              {`{"id":124,"result":{"a":"`, `"},"sessionId":"S1"}`, MaxEvent - 50 + 1000, cdproto.Message{ID: 124, SessionID: "S1"}, false},
		"session id in page text":             {`{"method":"Page.frameNavigated","params":{"a":"`, lie + `"}}`, MaxEvent, cdproto.Message{Method: "Page.frameNavigated"}, true},
		"session id in page text and message": {`{"method":"Page.frameNavigated","params":{"a":"`, lie + `"},"sessionId":"S1"}`, MaxEvent, cdproto.Message{Method: "Page.frameNavigated", SessionID: "S1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var m Message
			text := tt.head + strings.Repeat("x", tt.size) + tt.tail
			for len(text) > 0 { // in parts, as it arrives
				n := min(len(text), 65_521)
				_, _ = m.Write([]byte(text[:n]))
				text = text[n:]
			}
			if stored := cap(m.buf) + cap(m.head) + cap(m.tail); tt.err && stored > 4096 {
				t.Errorf("%d bytes are stored", stored)
			}
			var got cdproto.Message
			if err := m.Decode(&got); err != nil {
				t.Fatal(err)
			}
			if got.ID != tt.want.ID || got.Method != tt.want.Method || got.SessionID != tt.want.SessionID || (got.Error != nil) != tt.err {
				t.Errorf("got %+v", got)
			}
		})
	}
	var m Message
	_, _ = m.Write([]byte(`{"params":"` + strings.Repeat("x", MaxEvent)))
	if err := m.Decode(new(cdproto.Message)); err == nil {
		t.Error("a message that is neither a reply nor an event was accepted")
	}
}

// TestLostEvent checks that a session is detached after the loss of an event that the page layer's
// state depends on, and continues after the loss of another event.
func TestLostEvent(t *testing.T) {
	b := cdptest.New(nil)
	c := New(b)
	defer c.Close()
	b.Attach("", "S1", "page")
	ev, err := c.BrowserSession().Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lose := func(method string) {
		b.Send(&cdproto.Message{SessionID: "S1", Method: cdproto.MethodType(method), Error: &cdproto.Error{Message: "too long"}})
	}
	lose("Runtime.consoleAPICalled")
	if err := ev.Child.Call(t.Context(), runtime.CommandEnable, nil, nil); err != nil {
		t.Errorf("after a lost console event: %v", err)
	}
	lose("Page.frameNavigated")
	gone, err := c.BrowserSession().Next(t.Context())
	if err != nil || gone.Method != "Target.detachedFromTarget" || gone.Child != ev.Child {
		t.Errorf("%+v, %v", gone, err)
	}
	var e target.EventDetachedFromTarget
	if err := Unmarshal(gone.Params, &e); err != nil || e.SessionID != "S1" {
		t.Errorf("%+v, %v", e, err)
	}
	if err := ev.Child.Call(t.Context(), runtime.CommandEnable, nil, nil); !errors.Is(err, errs.ErrTargetGone) {
		t.Errorf("after a lost navigation event: %v", err)
	}
	if n := c.Dropped(); n != 1 {
		t.Errorf("%d events were dropped", n)
	}
}

// TestQueueLimit checks that unread events are stored up to a limit.
func TestQueueLimit(t *testing.T) {
	s := newStream()
	params := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	for range 100 {
		s.put(Event{Method: "Runtime.consoleAPICalled", Params: params})
	}
	if !s.put(Event{Method: "Page.frameNavigated", Params: params}) {
		t.Error("a navigation event was dropped")
	}
	if s.queued > maxQueued+2<<20 || len(s.queue) > 40 {
		t.Errorf("%d events with %d bytes are queued", len(s.queue), s.queued)
	}
}

// TestFloods checks that reading repetitive messages takes limited time.
func TestFloods(t *testing.T) {
	testlog.Floods(t, func(text string) {
		for _, head := range []string{"", `{"id":1,"result":`, `{"method":"A.b","params":"`} {
			var m Message
			_, _ = m.Write([]byte(head + text))
			_ = m.Decode(new(cdproto.Message))
		}
	})
}

func TestStartOfShortReply(t *testing.T) {
	long := strings.Repeat("é\\n\\u0041x", MaxShortReply)
	const session = `,"sessionId":"AB12"}`
	for _, c := range []struct{ name, text, want string }{
		{"value", `{"id":7,"result":{"result":{"type":"string","value":"` + long + `"}}` + session, `"threw":false}`},
		{"exception", `{"id":7,"result":{"result":{"type":"string","value":"` + long + `"},"exceptionDetails":{"exceptionId":1,"exception":{"type":"string","value":"` + long + `"}}}` + session, `"threw":true}`},
	} {
		for cut := range 12 { // shifts the limit, so that it is in the middle of each escape
			var m Message
			text := strings.Replace(c.text, `"value":"`, `"value":"`+strings.Repeat("-", cut), 1)
			for part := range slices.Chunk([]byte(text), 60_000) {
				m.Write(part)
			}
			if n := cap(m.buf) + cap(m.head); n > 2*MaxShortReply {
				t.Errorf("%s: %d bytes are stored", c.name, n)
			}
			var msg cdproto.Message
			if err := m.Decode(&msg); err != nil || msg.Error != nil || msg.ID != 7 || msg.SessionID != "AB12" {
				t.Fatalf("%s: %+v, %v", c.name, msg, err)
			}
			var got struct {
				Result struct{ Type, Value string }
				Cut    bool
			}
			if err := json.Unmarshal(msg.Result, &got); err != nil {
				t.Fatalf("%s, %d: %v", c.name, cut, err)
			}
			if !got.Cut || len(got.Result.Value) < shortHead/4 || !strings.HasSuffix(string(msg.Result), c.want) {
				t.Errorf("%s: cut %v, %d bytes, ends with %s", c.name, got.Cut, len(got.Result.Value), msg.Result[len(msg.Result)-30:])
			}
		}
	}
	var m Message
	m.Write([]byte(`{"id":8,"result":{"data":"` + long + `"}}`))
	var msg cdproto.Message
	if err := m.Decode(&msg); err != nil || msg.Error != nil || len(msg.Result) < len(long) {
		t.Errorf("a reply of usual length: %v, %+v", err, msg.Error)
	}
}

// TestLogLimit checks that the events of a page that logs endlessly are dropped and counted
// separately for each session and method, and that a reply does not wait for the reader of the
// events.
func TestLogLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cdptest.New(nil)
		c := New(b)
		defer c.Close()
		b.Attach("", "S1", "page")
		b.Attach("", "S2", "page")
		first, second := nextChild(t, c.BrowserSession()), nextChild(t, c.BrowserSession())
		params := `{"type":"` + strings.Repeat("x", 100_000) + `"}`
		count := func(s *Session, method string) (kept, lost int) {
			b.Emit(s.ID(), "Test.end", "{}")
			for {
				ev := next(t, s)
				switch {
				case ev.Method == "Test.end":
					return kept, lost
				case ev.Method != method:
					t.Errorf("got %s", ev.Method)
				case ev.Lost > 0:
					lost += ev.Lost
				case string(ev.Params) == params:
					kept++
				}
			}
		}
		const console, thrown = "Runtime.consoleAPICalled", "Runtime.exceptionThrown"
		for range 1000 {
			b.Emit("S1", console, params)
		}
		b.Emit("S1", EventsDropped, `{"method":"`+console+`","count":7}`)
		b.Emit("S1", EventsDropped, `{"method":"Page.frameNavigated","count":7}`)
		b.Emit("S1", EventsDropped, `{"method":"`+console+`","count":-7}`)
		if err := first.Call(t.Context(), runtime.CommandEnable, nil, nil); err != nil {
			t.Error(err)
		}
		if n := len(first.stream.queue); n > 100 {
			t.Errorf("%d events are queued", n)
		}
		kept, lost := count(first, console)
		if kept < 50 || kept > 100 || kept+lost != 1007 || c.Dropped() != int64(lost) {
			t.Errorf("%d kept, %d lost, %d dropped", kept, lost, c.Dropped())
		}
		b.Emit("S2", console, params)
		if kept, lost := count(second, console); kept != 1 || lost != 0 {
			t.Errorf("another session: %d kept, %d lost", kept, lost)
		}
		b.Emit("S1", thrown, params)
		if kept, lost := count(first, thrown); kept != 1 || lost != 0 {
			t.Errorf("another method: %d kept, %d lost", kept, lost)
		}
		time.Sleep(time.Second) // in synctest's fake time
		b.Emit("S1", console, params)
		if kept, lost := count(first, console); kept != 1 || lost != 0 {
			t.Errorf("after a second: %d kept, %d lost", kept, lost)
		}
	})
}

// TestSplit checks that the parts of a message are found without decoding it, and that messages of
// another form are decoded.
func TestSplit(t *testing.T) {
	const lie = `"\",\"sessionId\":\"LIE\"}"`
	var m Message
	for _, tt := range []struct {
		text, method, session, params string
		id                            int64
		split                         bool
	}{
		{`{"method":"Runtime.consoleAPICalled","params":{"a":` + lie + `},"sessionId":"S1"}`, "Runtime.consoleAPICalled", "S1", `{"a":` + lie + `}`, 0, true},
		{`{"method":"Page.frameNavigated","params":{"sessionId":"X"},"sessionId":"S1"}`, "Page.frameNavigated", "S1", `{"sessionId":"X"}`, 0, true},
		{`{"method":"Page.frameNavigated","params":{"b":1,"sessionId":"X"}}`, "Page.frameNavigated", "", `{"b":1,"sessionId":"X"}`, 0, false},
		{`{"method":"Page.frameNavigated","params":{"b":1},"sessionId":"S1"} `, "Page.frameNavigated", "S1", `{"b":1}`, 0, false},
		{`{"id":7,"result":{"a":` + lie + `},"sessionId":"S-1"}`, "", "S-1", `{"a":` + lie + `}`, 7, true},
		{`{"id":7,"result":{},"sessionId":"S1"}`, "", "S1", `{}`, 7, true},
		{`{"id":7,"result":{"b":1,"sessionId":"X"}}`, "", "", `{"b":1,"sessionId":"X"}`, 7, false},
		{`{"id":7,"error":{"code":-32602,"message":"m","data":"d"},"sessionId":"S1"}`, "", "S1", `{"code":-32602,"message":"m","data":"d"}`, 7, false},
		{`{"method":"Page.frameNavigated","sessionId":"S1","params":{"b":"x"}}`, "Page.frameNavigated", "S1", `{"b":"x"}`, 0, false},
		{`{"method":"Page.frameNavigated","sessionId":"S1"}`, "Page.frameNavigated", "S1", ``, 0, false},
		{`{"id":7,"x":1,"result":{},"sessionId":"S1"}`, "", "S1", `{}`, 7, false},
	} {
		m.Reset()
		_, _ = m.Write([]byte(tt.text))
		var msg cdproto.Message
		if got := m.split(new(cdproto.Message)); got != tt.split {
			t.Errorf("%s: split %v, want %v", tt.text, got, tt.split)
		}
		if err := m.Decode(&msg); err != nil {
			t.Fatal(err)
		}
		content := string(msg.Params) + string(msg.Result)
		if string(msg.Method) != tt.method || string(msg.SessionID) != tt.session || content != tt.params || msg.ID != tt.id {
			t.Errorf("%s: got %+v", tt.text, msg)
		}
	}
}
