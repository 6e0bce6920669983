package cdpconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// next returns the next event of s.
func next(t testing.TB, s *Session) Event {
	t.Helper()
	ev, err := s.Next(t.Context())
	if err != nil {
		t.Fatalf("the next event of session %q: %v", s.ID(), err)
	}
	return ev
}

// nextChild returns the child session in the next event of s, which must be
// Target.attachedToTarget.
func nextChild(t testing.TB, s *Session) *Session {
	t.Helper()
	ev := next(t, s)
	if ev.Method != "Target.attachedToTarget" || ev.Child == nil {
		t.Fatalf("got %s, want a new child session", ev.Method)
	}
	return ev.Child
}

// eventsUntilEnd lists the events of s before Test.end, as "session:method".
func eventsUntilEnd(t testing.TB, s *Session) []string {
	t.Helper()
	var list []string
	for {
		ev := next(t, s)
		if ev.Method == "Test.end" {
			return list
		}
		list = append(list, ev.Session.ID()+":"+ev.Method)
	}
}

// TestChildSessionsShareOrderedStream checks that the events of a page and of its nested frames
// arrive in one stream, in the order of the browser, and that each child session is reported before
// its first event. Another page and the browser have separate streams.
func TestChildSessionsShareOrderedStream(t *testing.T) {
	b := cdptest.New(nil)
	c := connect(t, b)
	b.Attach("", "p1", "page")
	b.Emit("p1", "Page.frameNavigated", "{}")
	b.Attach("", "p2", "page")
	b.Emit("p1", "Runtime.executionContextCreated", "{}")
	b.Attach("p1", "f1", "iframe")
	b.Emit("f1", "Page.frameNavigated", "{}")
	b.Emit("p2", "Page.frameNavigated", "{}")
	b.Attach("f1", "f2", "iframe")
	b.Emit("f2", "Runtime.executionContextCreated", "{}")
	b.Emit("", "Target.targetCreated", "{}")
	b.Emit("p1", "Page.frameDetached", "{}")
	b.Detach("f1", "f2")
	b.Emit("f2", "Page.lifecycleEvent", "{}") // the session is gone
	b.Emit("f1", "Page.lifecycleEvent", "{}")
	for _, s := range []string{"", "p1", "p2"} {
		b.Emit(s, "Test.end", "{}")
	}

	p1, p2 := nextChild(t, c.BrowserSession()), nextChild(t, c.BrowserSession())
	if p1.ID() != "p1" || p1.Target().TargetID != "p1" || p1.Target().Type != "page" {
		t.Errorf("the first child is %q, %+v", p1.ID(), p1.Target())
	}
	if got, want := eventsUntilEnd(t, c.BrowserSession()), []string{":Target.targetCreated"}; !slices.Equal(got, want) {
		t.Errorf("events of the browser session: got %q, want %q", got, want)
	}
	if got, want := eventsUntilEnd(t, p2), []string{"p2:Page.frameNavigated"}; !slices.Equal(got, want) {
		t.Errorf("events of p2: got %q, want %q", got, want)
	}
	want := []string{
		"p1:Page.frameNavigated", "p1:Runtime.executionContextCreated",
		"p1:Target.attachedToTarget", "f1:Page.frameNavigated",
		"f1:Target.attachedToTarget", "f2:Runtime.executionContextCreated",
		"p1:Page.frameDetached", "f1:Target.detachedFromTarget", "f1:Page.lifecycleEvent",
	}
	if got := eventsUntilEnd(t, p1); !slices.Equal(got, want) {
		t.Errorf("events of p1: got %q, want %q", got, want)
	}
}

// TestDetachTab checks the error of a pending call and of a later call after their tab was closed.
// Its text contains no terms of the protocol.
func TestDetachTab(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cdptest.New(func(*cdptest.FakeTransport, *cdproto.Message) {})
		c := connect(t, b)
		b.Attach("", "p", "page")
		p := nextChild(t, c.BrowserSession())
		pending, err := p.Start(t.Context(), "Test.hang", nil)
		if err != nil {
			t.Fatal(err)
		}
		b.Detach("", "p")
		for _, err := range []error{pending.Wait(t.Context(), nil), p.Call(t.Context(), "Test.after", nil, nil)} {
			if !errors.Is(err, errs.ErrTargetGone) || !strings.HasSuffix(err.Error(), "the tab was closed") {
				t.Errorf("error %v", err)
			}
		}
	})
}

// TestDetach checks that the calls of a frame and of the frames in it fail after the frame was
// detached, and that the calls of the page and of a sibling frame do not.
func TestDetach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var commands []*cdproto.Message
		b := cdptest.New(func(_ *cdptest.FakeTransport, cmd *cdproto.Message) { commands = append(commands, cmd) })
		c := connect(t, b)
		b.Attach("", "p", "page")
		p := nextChild(t, c.BrowserSession())
		sessions := map[string]*Session{"p": p}
		for _, child := range [][2]string{{"p", "a"}, {"a", "a1"}, {"a1", "a2"}, {"p", "b"}} {
			b.Attach(child[0], child[1], "iframe")
			sessions[child[1]] = nextChild(t, p)
		}
		pending := make(map[string]*Pending)
		for name, s := range sessions {
			var err error
			if pending[name], err = s.Start(t.Context(), "Test.hang", nil); err != nil {
				t.Fatal(err)
			}
		}
		b.Detach("p", "a")
		if ev := next(t, p); ev.Child != sessions["a"] {
			t.Errorf("the event names session %v, want a", ev.Child)
		}
		for _, name := range []string{"a", "a1", "a2"} {
			s := sessions[name]
			if err := pending[name].Wait(t.Context(), nil); !errors.Is(err, errs.ErrTargetGone) || errors.Is(err, ErrClosed) {
				t.Errorf("the call on %s: %v, want ErrTargetGone", name, err)
			} else if !strings.HasSuffix(err.Error(), "the frame was detached") {
				t.Errorf("the call on %s: %v", name, err)
			}
			<-s.Gone()
			if err := s.Call(t.Context(), "Test.after", nil, nil); !errors.Is(err, errs.ErrTargetGone) {
				t.Errorf("a call on %s afterwards: %v, want ErrTargetGone", name, err)
			}
		}
		synctest.Wait()
		if len(commands) != len(sessions) {
			t.Errorf("%d commands were sent, want %d: none to detached sessions", len(commands), len(sessions))
		}
		for _, cmd := range commands {
			b.Reply(cmd, "{}")
		}
		for _, name := range []string{"p", "b"} {
			if err := pending[name].Wait(t.Context(), nil); err != nil {
				t.Errorf("the call on %s: %v", name, err)
			}
			select {
			case <-sessions[name].Gone():
				t.Errorf("%s is gone too", name)
			default:
			}
		}
	})
}

// TestStreamEnds checks that Next returns the events that arrived before a page was detached, and
// then ErrTargetGone.
func TestStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cdptest.New(nil)
		c := connect(t, b)
		b.Attach("", "p", "page")
		p := nextChild(t, c.BrowserSession())
		b.Emit("p", "Page.first", "{}")
		b.Emit("p", "Page.second", "{}")
		b.Detach("", "p")
		<-p.Gone()
		for _, want := range []string{"Page.first", "Page.second"} {
			if ev := next(t, p); ev.Method != want {
				t.Errorf("got %s, want %s", ev.Method, want)
			}
		}
		for range 2 {
			if _, err := p.Next(t.Context()); !errors.Is(err, errs.ErrTargetGone) {
				t.Errorf("at the end: %v, want ErrTargetGone", err)
			}
		}

		// A call of Next that waits returns when its context is done or the session is gone.
		b.Attach("", "q", "page")
		next(t, c.BrowserSession()) // the detach of p
		q := nextChild(t, c.BrowserSession())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		read := func(ctx context.Context) {
			_, err := q.Next(ctx)
			ended <- err
		}
		go read(ctx)
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("after cancellation: %v", err)
		}
		go read(t.Context())
		synctest.Wait()
		b.Detach("", "q")
		if err := <-ended; !errors.Is(err, errs.ErrTargetGone) {
			t.Errorf("after the detach: %v, want ErrTargetGone", err)
		}
	})
}

// TestFlood checks that calls return while many events are unread, and that no event is lost.
func TestFlood(t *testing.T) {
	const events = 100_000
	b := cdptest.New(nil)
	c := connect(t, b)
	b.Attach("", "p", "page")
	p := nextChild(t, c.BrowserSession())
	for i := range events {
		b.Emit("p", "Network.dataReceived", fmt.Sprint(i))
	}
	// The reply arrives after all events.
	if err := p.Call(t.Context(), "Runtime.evaluate", nil, nil); err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if ev := next(t, p); string(ev.Params) != fmt.Sprint(i) {
			t.Fatalf("event %d is %s", i, ev.Params)
		}
	}
}

func TestDecode(t *testing.T) {
	b := cdptest.New(nil)
	c := connect(t, b)
	b.Emit("", "Page.loadEventFired", `{"timestamp":"x"}`)
	b.Emit("", "Page.frameDetached", `{"frameId":"F","reason":"swap"}`)
	if _, err := Decode(next(t, c.BrowserSession()), page.LoadEventFired); err == nil {
		t.Error("a timestamp that is not a number was decoded")
	}
	e, err := Decode(next(t, c.BrowserSession()), page.FrameDetached)
	if err != nil || e.FrameID != "F" || e.Reason != "swap" {
		t.Errorf("got %+v, %v", e, err)
	}
}

// TestSubscribe checks that a subscription receives the events of one method of one session, and no
// events of other methods or of child sessions. The stream also has these events.
func TestSubscribe(t *testing.T) {
	b := cdptest.New(nil)
	c := connect(t, b)
	b.Attach("", "p", "page")
	p := nextChild(t, c.BrowserSession())
	events, cancel := p.Subscribe("Page.loadEventFired")
	defer cancel()
	b.Attach("p", "f", "iframe")
	b.Emit("p", "Page.loadEventFired", `1`)
	b.Emit("p", "Page.frameDetached", `2`)
	b.Emit("f", "Page.loadEventFired", `3`)
	b.Emit("p", "Page.loadEventFired", `4`)
	b.Detach("", "p")
	var got []string
	for params := range events { // closed when the session is gone
		got = append(got, string(params))
	}
	if want := []string{"1", "4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range 5 { // attached, 1, 2, 3, 4
		next(t, p)
	}
	late, stop := p.Subscribe("Page.loadEventFired")
	defer stop()
	if ev, open := <-late; open {
		t.Errorf("a subscription to a session that is gone got %s", ev)
	}
}

func TestSubscribeCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cdptest.New(nil)
		c := connect(t, b)
		s := c.BrowserSession()
		first, cancelFirst := s.Subscribe(target.TargetCreated.Method)
		second, cancelSecond := s.Subscribe(target.TargetCreated.Method)
		b.Emit("", "Target.targetCreated", `1`)
		cancelFirst() // with an event that was not received
		cancelFirst()
		synctest.Wait()
		for range first {
			// The event may arrive or not. The channel must be closed.
		}
		b.Emit("", "Target.targetCreated", `2`)
		for _, want := range []string{"1", "2"} {
			if got := <-second; string(got) != want {
				t.Errorf("the other subscription got %s, want %s", got, want)
			}
		}
		cancelSecond()
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := len(s.subs["Target.targetCreated"]); n != 0 {
			t.Errorf("%d subscriptions remain", n)
		}
	})
}

// TestInOrder checks that a call returns only after the events before its reply were read and Next
// was called again, on the session and on sessions that attach later.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
			b.Emit(string(cmd.SessionID), "Test.before", "{}")
			b.Reply(cmd, `{"n":1}`)
			b.Emit(string(cmd.SessionID), "Test.after", "{}")
		})
		c := connect(t, b)
		b.Attach("", "p", "page")
		p := nextChild(t, c.BrowserSession())
		p.InOrder()
		b.Attach("p", "f", "iframe")
		for _, s := range []*Session{p, nextChild(t, p)} {
			call, err := s.Start(t.Context(), "Test.call", nil)
			if err != nil {
				t.Fatal(err)
			}
			done := func() bool {
				synctest.Wait()
				select {
				case <-call.Done():
					return true
				default:
					return false
				}
			}
			if done() {
				t.Errorf("%s: the call returned before the event was read", s.ID())
			}
			if ev := next(t, p); ev.Method != "Test.before" || ev.Session != s {
				t.Errorf("%s: got %s of %s", s.ID(), ev.Method, ev.Session.ID())
			}
			if done() {
				t.Errorf("%s: the call returned before the event was handled", s.ID())
			}
			if ev := next(t, p); ev.Method != "Test.after" {
				t.Errorf("%s: got %s", s.ID(), ev.Method)
			}
			var result struct {
				N int `json:"n"`
			}
			if err := call.Wait(t.Context(), &result); err != nil || result.N != 1 {
				t.Errorf("%s: got %d, %v", s.ID(), result.N, err)
			}
		}

		// A reply that arrived before the page was detached is still returned.
		call, err := p.Start(t.Context(), "Test.call", nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.Detach("", "p")
		<-p.Gone()
		for _, want := range []string{"Test.before", "Test.after"} {
			if ev := next(t, p); ev.Method != want {
				t.Errorf("got %s, want %s", ev.Method, want)
			}
		}
		if _, err := p.Next(t.Context()); !errors.Is(err, errs.ErrTargetGone) {
			t.Errorf("at the end: %v", err)
		}
		if err := call.Wait(t.Context(), nil); err != nil {
			t.Errorf("the call: %v", err)
		}
	})
}
