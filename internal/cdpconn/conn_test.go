package cdpconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// connect returns a connection over b that is closed at the end of the test.
func connect(t testing.TB, b Transport) *Conn {
	t.Helper()
	c := New(b)
	t.Cleanup(func() { c.Close() })
	return c
}

// ignoreCommands accepts commands and replies to none.
func ignoreCommands(*cdptest.FakeTransport, *cdproto.Message) {}

// inFlight returns the number of commands whose reply has not arrived.
func (c *Conn) inFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// TestRepliesInReverseOrder checks that each call gets its own reply if many replies arrive in the
// reverse order of the commands.
func TestRepliesInReverseOrder(t *testing.T) {
	const calls = 500
	var waiting []*cdproto.Message
	c := connect(t, cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		waiting = append(waiting, cmd)
		if len(waiting) < calls {
			return
		}
		for _, cmd := range slices.Backward(waiting) {
			b.Reply(cmd, fmt.Sprintf(`{"echo":%s}`, cmd.Params))
		}
	}))
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			var result struct {
				Echo map[string]int `json:"echo"`
			}
			if err := c.BrowserSession().Call(t.Context(), "Test.echo", map[string]int{"N": i}, &result); err != nil || result.Echo["N"] != i {
				t.Errorf("call %d got %d, %v", i, result.Echo["N"], err)
			}
		})
	}
	wg.Wait()
	if n := c.inFlight(); n != 0 {
		t.Errorf("%d calls are still pending", n)
	}
}

func TestCDPErrorPassedThrough(t *testing.T) {
	c := connect(t, cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		b.Fail(cmd, -32000, "No node with given id found")
	}))
	err := c.BrowserSession().Call(t.Context(), "DOM.focus", nil, nil)
	var e *Error
	if !errors.Is(err, errs.ErrCDP) || !errors.As(err, &e) {
		t.Fatalf("got %v, want an Error that is ErrCDP", err)
	}
	if *e != (Error{Method: "DOM.focus", Code: -32000, Message: "No node with given id found"}) {
		t.Errorf("got %+v", *e)
	}
	if want := "DOM.focus: No node with given id found"; e.Error() != want {
		t.Errorf("text %q, want %q", e, want)
	}
}

// TestUnansweredCalls checks that a call without a reply returns when its context is done, or else
// after DefaultCallTimeout; that a late reply is ignored; and that the connection stays open.
func TestUnansweredCalls(t *testing.T) {
	errWhy := errors.New("the user changed their mind")
	for _, test := range []struct {
		name  string
		ctx   func(context.Context) (context.Context, context.CancelFunc)
		after time.Duration
		is    error
		isNot error
	}{
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 3*time.Second)
		}, 3 * time.Second, errs.ErrTimeout, errWhy},
		{"no deadline", context.WithCancel, DefaultCallTimeout, errs.ErrTimeout, errWhy},
		{"canceled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			stop := time.AfterFunc(time.Second, func() { cancel(errWhy) })
			return ctx, func() { stop.Stop(); cancel(nil) }
		}, time.Second, errWhy, errs.ErrTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var late *cdproto.Message
				b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
					if late == nil {
						late = cmd
						return
					}
					b.Reply(late, `{"of":"the first"}`)
					b.Reply(cmd, `{"of":"the second"}`)
				})
				c := connect(t, b)
				ctx, cancel := test.ctx(t.Context())
				defer cancel()
				start := time.Now()
				err := c.BrowserSession().Call(ctx, "Page.navigate", nil, nil)
				if !errors.Is(err, test.is) || errors.Is(err, test.isNot) {
					t.Errorf("got %v, want %v", err, test.is)
				}
				if took := time.Since(start); took != test.after {
					t.Errorf("took %v, want %v", took, test.after)
				}
				if n := c.inFlight(); n != 0 {
					t.Errorf("%d calls are still pending", n)
				}
				var result struct {
					Of string `json:"of"`
				}
				if err := c.BrowserSession().Call(t.Context(), "Page.reload", nil, &result); err != nil || result.Of != "the second" {
					t.Errorf("the next call got the reply of %q, %v", result.Of, err)
				}
				if err := c.Err(); err != nil {
					t.Errorf("the connection was closed: %v", err)
				}
			})
		})
	}
}

// A blockedTransport never accepts a command, like a pipe whose reader hangs.
type blockedTransport struct {
	*cdptest.FakeTransport
	closed chan struct{}
	once   sync.Once
}

func (b *blockedTransport) Write(context.Context, *cdproto.Message) error {
	<-b.closed
	return io.ErrClosedPipe
}

func (b *blockedTransport) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.FakeTransport.Close()
}

// TestBlockedTransport checks that calls return when their contexts are done if the transport
// accepts no command, also if there are more calls than the queue has space for.
func TestBlockedTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, &blockedTransport{FakeTransport: cdptest.New(nil), closed: make(chan struct{})})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		var wg sync.WaitGroup
		for range 3 * cap(c.writes) {
			wg.Go(func() {
				if err := c.BrowserSession().Call(ctx, "Runtime.evaluate", nil, nil); !errors.Is(err, errs.ErrTimeout) {
					t.Errorf("got %v, want ErrTimeout", err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
		if n := c.inFlight(); n != 0 {
			t.Errorf("%d calls are still pending", n)
		}
		// A call without a deadline returns when the connection is closed.
		returned := make(chan error)
		go func() {
			_, err := c.BrowserSession().Start(context.Background(), "Runtime.evaluate", nil)
			returned <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-returned; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

// TestAllWaitsBounded checks that Start and Wait return after DefaultCallTimeout if their context
// has no deadline: Start if the browser does not accept the command, Wait if it does not reply.
func TestAllWaitsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, &blockedTransport{FakeTransport: cdptest.New(nil), closed: make(chan struct{})})
		start := time.Now()
		for c.BrowserSession().canQueue() {
			if _, err := c.BrowserSession().Start(context.Background(), "Runtime.evaluate", nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		_, err := c.BrowserSession().Start(context.Background(), "Runtime.evaluate", nil)
		if took := time.Since(start); !errors.Is(err, errs.ErrTimeout) || took != DefaultCallTimeout {
			t.Errorf("command not accepted: %v after %v", err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, cdptest.New(ignoreCommands))
		start := time.Now()
		p, err := c.BrowserSession().Start(context.Background(), "Page.crash", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Wait(context.Background(), nil)
		if took := time.Since(start); !errors.Is(err, errs.ErrTimeout) || took != DefaultCallTimeout {
			t.Errorf("command without a reply: %v after %v", err, took)
		}
		if n := c.inFlight(); n != 0 {
			t.Errorf("%d calls are still pending", n)
		}
	})
}

// canQueue reports whether another command can be queued without waiting.
func (s *Session) canQueue() bool { return len(s.conn.writes) < cap(s.conn.writes) }

// TestDisconnect checks that all pending calls fail and all sessions are gone after the browser
// closed the connection, and that later calls fail immediately.
func TestDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cdptest.New(ignoreCommands)
		c := connect(t, b)
		b.Attach("", "page", "page")
		page := nextChild(t, c.BrowserSession())
		b.Attach("page", "frame", "iframe")
		frame := nextChild(t, page)

		var calls []*Pending
		for _, s := range []*Session{c.BrowserSession(), page, frame} {
			p, err := s.Start(t.Context(), "Test.hang", nil)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, p)
		}
		synctest.Wait()
		if err := c.Err(); err != nil {
			t.Fatalf("closed too early: %v", err)
		}
		b.Disconnect()
		<-c.Done()
		for _, p := range calls {
			if err := p.Wait(t.Context(), nil); !errors.Is(err, errs.ErrTargetGone) || !errors.Is(err, ErrClosed) {
				t.Errorf("got %v, want ErrTargetGone and ErrClosed", err)
			}
		}
		if err := c.Err(); !errors.Is(err, io.EOF) {
			t.Errorf("the connection was closed with %v, want the transport's error", err)
		}
		for _, s := range []*Session{c.BrowserSession(), page, frame} {
			<-s.Gone()
			if err := s.Call(t.Context(), "Test.after", nil, nil); !errors.Is(err, ErrClosed) {
				t.Errorf("a call afterwards: %v, want ErrClosed", err)
			}
		}
		for _, s := range []*Session{c.BrowserSession(), page} {
			if ev, err := s.Next(t.Context()); !errors.Is(err, errs.ErrTargetGone) {
				t.Errorf("an event afterwards: %v, %v", ev.Method, err)
			}
		}
	})
}

// TestClose checks that concurrent calls of Close all return after the connection is closed, and
// that Err returns the first reason.
func TestClose(t *testing.T) {
	c := New(cdptest.New(ignoreCommands))
	p, err := c.BrowserSession().Start(t.Context(), "Test.hang", nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			select {
			case <-c.Done():
			default:
				t.Error("Close returned before the connection was closed")
			}
		})
	}
	wg.Wait()
	if err := p.Wait(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("the pending call: %v, want ErrClosed", err)
	}
	if err := c.Err(); err != ErrClosed {
		t.Errorf("the reason is %v, want ErrClosed", err)
	}
}

// A slowTransport waits before it returns from Read after it was closed.
type slowTransport struct {
	*cdptest.FakeTransport
	wait func()
}

func (s slowTransport) Read(ctx context.Context, msg *cdproto.Message) error {
	err := s.FakeTransport.Read(ctx, msg)
	if err != nil {
		s.wait()
	}
	return err
}

// TestCloseWaits checks that Close waits for the goroutines of the connection.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(slowTransport{cdptest.New(nil), func() { time.Sleep(time.Second) }})
		start := time.Now()
		c.Close()
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, but the reading goroutine takes 1s to return", took)
		}
	})
}

// TestCloseWhileAttaching closes connections while targets are being attached, and checks that each
// session that an event reported is gone.
func TestCloseWhileAttaching(t *testing.T) {
	for range 20 {
		b := cdptest.New(nil)
		for i := range 2000 {
			b.Attach("", fmt.Sprint("page", i), "page")
		}
		c := New(b)
		nextChild(t, c.BrowserSession())
		c.Close()
		for {
			ev, err := c.BrowserSession().Next(t.Context())
			if err != nil {
				break
			}
			select {
			case <-ev.Child.Gone():
			default:
				t.Fatalf("session %s outlived its connection", ev.Child.ID())
			}
		}
	}
}

func TestTypedCall(t *testing.T) {
	c := connect(t, cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		switch cmd.Method {
		case "Browser.getVersion":
			b.Reply(cmd, `{"protocolVersion":"1.3","product":"Chrome/156","revision":"","userAgent":"","jsVersion":""}`)
		case "Target.getTargetInfo":
			if string(cmd.Params) != `{"targetId":"T1"}` {
				b.Fail(cmd, -32602, "No target with given id found")
				return
			}
			b.Reply(cmd, `{"targetInfo":{"targetId":"T1","type":"page","title":"One"}}`)
		}
	}))
	v, err := cdp.Call(t.Context(), c.BrowserSession(), browser.GetVersion, cdp.Empty{})
	if err != nil || v.Product != "Chrome/156" {
		t.Errorf("got %+v, %v", v, err)
	}
	info, err := cdp.Call(t.Context(), c.BrowserSession(), target.GetTargetInfo, target.GetTargetInfoParams{TargetID: "T1"})
	if err != nil || info.TargetInfo.Title != "One" {
		t.Errorf("got %+v, %v", info, err)
	}
	_, err = cdp.Call(t.Context(), c.BrowserSession(), target.GetTargetInfo, target.GetTargetInfoParams{TargetID: "T2"})
	if !errors.Is(err, errs.ErrCDP) {
		t.Errorf("got %v, want ErrCDP", err)
	}
}

// TestBadResult checks that a result of the wrong type makes only its own call fail.
func TestBadResult(t *testing.T) {
	c := connect(t, cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) { b.Reply(cmd, `{"n":"many"}`) }))
	var result struct {
		N int `json:"n"`
	}
	if err := c.BrowserSession().Call(t.Context(), "Test.count", nil, &result); err == nil {
		t.Errorf("got %d, want an error", result.N)
	}
	if err := c.BrowserSession().Call(t.Context(), "Test.count", make(chan int), nil); err == nil {
		t.Error("a channel was accepted as parameters")
	}
	if err := c.BrowserSession().Call(t.Context(), "Test.count", nil, nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// TestBrokenText checks the decoding of page text that is not valid Unicode: lone surrogates, which
// a script can create, and bytes that are not valid UTF-8.
func TestBrokenText(t *testing.T) {
	for in, want := range map[string]string{
		`"a\ud83db"`:         "a\uFFFDb",
		`"a\ude00b"`:         "a\uFFFDb",
		`"\ud83d\ude00"`:     "😀",
		"\"a\xffb\"":         "a\uFFFDb",
		"\"a\xed\xa0\xbdb\"": "a\uFFFD\uFFFD\uFFFDb",
	} {
		c := connect(t, cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) { b.Reply(cmd, `{"value":`+in+`}`) }))
		var result struct {
			Value string `json:"value"`
		}
		if err := c.BrowserSession().Call(t.Context(), "Runtime.evaluate", nil, &result); err != nil || result.Value != want {
			t.Errorf("%s: got %q, %v, want %q", in, result.Value, err, want)
		}
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	params := map[string]any{"expression": "1+1", "returnByValue": true}
	type result struct {
		Result struct {
			Value int `json:"value"`
		} `json:"result"`
	}
	c := connect(b, cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		b.Reply(cmd, `{"result":{"type":"number","value":2,"description":"2"}}`)
	}))
	call := func(b *testing.B, s *Session) {
		var r result
		if err := s.Call(context.Background(), "Runtime.evaluate", params, &r); err != nil || r.Result.Value != 2 {
			b.Fatalf("got %+v, %v", r, err)
		}
	}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			call(b, c.BrowserSession())
		}
	})
	b.Run("many", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				var r result
				if err := c.BrowserSession().Call(context.Background(), "Runtime.evaluate", params, &r); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
