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

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// connect returns a connection to b that ends with the test.
func connect(t testing.TB, b Transport) *Conn {
	t.Helper()
	c := New(b)
	t.Cleanup(func() { c.Close() })
	return c
}

// silent takes commands and answers none.
func silent(*cdptest.FakeTransport, *cdproto.Message) {}

// inFlight returns the number of calls that wait for their replies.
func (c *Conn) inFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// TestRepliesFindTheirCalls answers many calls in the opposite order of their
// arrival: each gets the reply to its own.
func TestRepliesFindTheirCalls(t *testing.T) {
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
		t.Errorf("%d calls still wait", n)
	}
}

func TestCDPErrorPassedThrough(t *testing.T) {
	c := connect(t, cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		b.Fail(cmd, -32000, "No node with given id found")
	}))
	err := c.BrowserSession().Call(t.Context(), "DOM.focus", nil, nil)
	var e *Error
	if !errors.Is(err, executor.ErrCDP) || !errors.As(err, &e) {
		t.Fatalf("got %v, want an Error that is ErrCDP", err)
	}
	if *e != (Error{Method: "DOM.focus", Code: -32000, Message: "No node with given id found"}) {
		t.Errorf("got %+v", *e)
	}
	if want := "DOM.focus: No node with given id found"; e.Error() != want {
		t.Errorf("text %q, want %q", e, want)
	}
}

// TestUnansweredCalls shows that a call ends with its context, or else after
// DefaultCallTimeout; that a reply which comes later goes to nobody; and that
// the connection lives on.
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
		}, 3 * time.Second, executor.ErrTimeout, errWhy},
		{"none", context.WithCancel, DefaultCallTimeout, executor.ErrTimeout, errWhy},
		{"cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			stop := time.AfterFunc(time.Second, func() { cancel(errWhy) })
			return ctx, func() { stop.Stop(); cancel(nil) }
		}, time.Second, errWhy, executor.ErrTimeout},
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
					t.Errorf("%d calls still wait", n)
				}
				var result struct {
					Of string `json:"of"`
				}
				if err := c.BrowserSession().Call(t.Context(), "Page.reload", nil, &result); err != nil || result.Of != "the second" {
					t.Errorf("the next call got the reply of %q, %v", result.Of, err)
				}
				if err := c.Err(); err != nil {
					t.Errorf("the connection ended: %v", err)
				}
			})
		})
	}
}

// A stuck transport never takes a command, as a pipe whose reader hangs.
type stuck struct {
	*cdptest.FakeTransport
	closed chan struct{}
	once   sync.Once
}

func (s *stuck) Write(context.Context, *cdproto.Message) error {
	<-s.closed
	return io.ErrClosedPipe
}

func (s *stuck) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.FakeTransport.Close()
}

// TestBlockedTransport shows that calls end with their contexts although the
// transport takes nothing, more of them than any buffer holds.
func TestBlockedTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, &stuck{FakeTransport: cdptest.New(nil), closed: make(chan struct{})})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		var wg sync.WaitGroup
		for range 3 * cap(c.writes) {
			wg.Go(func() {
				if err := c.BrowserSession().Call(ctx, "Runtime.evaluate", nil, nil); !errors.Is(err, executor.ErrTimeout) {
					t.Errorf("got %v, want ErrTimeout", err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
		if n := c.inFlight(); n != 0 {
			t.Errorf("%d calls still wait", n)
		}
		// One without a deadline is freed by the end of the connection.
		freed := make(chan error)
		go func() {
			_, err := c.BrowserSession().Start(context.Background(), "Runtime.evaluate", nil)
			freed <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-freed; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

// TestAllWaitsBounded: without a deadline commands that are only started end
// as calls do, be it that the browser does not take them or does not answer.
func TestAllWaitsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, &stuck{FakeTransport: cdptest.New(nil), closed: make(chan struct{})})
		start := time.Now()
		for c.BrowserSession().inBuffer() {
			if _, err := c.BrowserSession().Start(context.Background(), "Runtime.evaluate", nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		_, err := c.BrowserSession().Start(context.Background(), "Runtime.evaluate", nil)
		if took := time.Since(start); !errors.Is(err, executor.ErrTimeout) || took != DefaultCallTimeout {
			t.Errorf("one that is not taken: %v after %v", err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, cdptest.New(silent))
		start := time.Now()
		p, err := c.BrowserSession().Start(context.Background(), "Page.crash", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Wait(context.Background(), nil)
		if took := time.Since(start); !errors.Is(err, executor.ErrTimeout) || took != DefaultCallTimeout {
			t.Errorf("one that is not answered: %v after %v", err, took)
		}
		if n := c.inFlight(); n != 0 {
			t.Errorf("%d calls still wait", n)
		}
	})
}

// inBuffer reports whether another command can be handed over at once.
func (s *Session) inBuffer() bool { return len(s.conn.writes) < cap(s.conn.writes) }

// TestDisconnect ends the connection from the browser's side: every call fails,
// every session goes, and what comes after fails at once.
func TestDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cdptest.New(silent)
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
			t.Fatalf("ended early: %v", err)
		}
		b.Disconnect()
		<-c.Done()
		for _, p := range calls {
			if err := p.Wait(t.Context(), nil); !errors.Is(err, executor.ErrTargetGone) || !errors.Is(err, ErrClosed) {
				t.Errorf("got %v, want ErrTargetGone and ErrClosed", err)
			}
		}
		if err := c.Err(); !errors.Is(err, io.EOF) {
			t.Errorf("the connection ended with %v, want what the transport said", err)
		}
		for _, s := range []*Session{c.BrowserSession(), page, frame} {
			<-s.Gone()
			if err := s.Call(t.Context(), "Test.after", nil, nil); !errors.Is(err, ErrClosed) {
				t.Errorf("a call afterwards: %v, want ErrClosed", err)
			}
		}
		for _, s := range []*Session{c.BrowserSession(), page} {
			if ev, err := s.Next(t.Context()); !errors.Is(err, executor.ErrTargetGone) {
				t.Errorf("an event afterwards: %v, %v", ev.Method, err)
			}
		}
	})
}

// TestClose is called by many at once: all return, with everything ended and
// with the first cause kept.
func TestClose(t *testing.T) {
	c := New(cdptest.New(silent))
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
				t.Error("Close returned before the end")
			}
		})
	}
	wg.Wait()
	if err := p.Wait(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("the call under way: %v, want ErrClosed", err)
	}
	if err := c.Err(); err != ErrClosed {
		t.Errorf("the cause is %v, want ErrClosed", err)
	}
}

// A slow transport takes a second to notice that it was closed.
type slow struct{ *cdptest.FakeTransport }

func (s slow) Read(ctx context.Context, msg *cdproto.Message) error {
	err := s.FakeTransport.Read(ctx, msg)
	if err != nil {
		time.Sleep(time.Second)
	}
	return err
}

// TestCloseWaits shows that nothing of a connection runs after Close.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(slow{cdptest.New(nil)})
		start := time.Now()
		c.Close()
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, but the reader needs 1s to end", took)
		}
	})
}

// TestCloseWhileAttaching ends connections while targets come: each session
// that was handed out goes, and with it whoever waits on it.
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
	if !errors.Is(err, executor.ErrCDP) {
		t.Errorf("got %v, want ErrCDP", err)
	}
}

// TestBadResult shows that a result of the wrong form is an error of that call
// alone.
func TestBadResult(t *testing.T) {
	c := connect(t, cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) { b.Reply(cmd, `{"n":"many"}`) }))
	var result struct {
		N int `json:"n"`
	}
	if err := c.BrowserSession().Call(t.Context(), "Test.count", nil, &result); err == nil {
		t.Errorf("got %d, want an error", result.N)
	}
	if err := c.BrowserSession().Call(t.Context(), "Test.count", make(chan int), nil); err == nil {
		t.Error("a channel was sent as parameters")
	}
	if err := c.BrowserSession().Call(t.Context(), "Test.count", nil, nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// TestBrokenText decodes page text that is not Unicode: half of a surrogate
// pair, as script can make them, and bytes that are no UTF-8.
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
