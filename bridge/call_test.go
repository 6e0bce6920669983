package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// command receives frames until a command comes; pings are answered.
func command(t *testing.T, p *Peer) *wire.Command {
	t.Helper()
	for {
		f, err := receive(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		switch f := f.(type) {
		case *wire.Command:
			return f
		case *wire.Ping:
			send(p, &wire.Pong{TS: f.TS})
		}
	}
}

// bubble runs f with a connection and a fake clock.
func bubble(t *testing.T, f func(t *testing.T, i *Conn, p *Peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		i, p := Pipe()
		defer p.Close()
		f(t, i, p)
	})
}

func TestCall(t *testing.T) {
	bubble(t, func(t *testing.T, i *Conn, p *Peer) {
		go func() {
			c := command(t, p)
			if c.Method != wire.MethodCDP || c.TimeoutMs != 60000 || string(c.Params) != `{"tabId":3,"method":"Page.navigate","params":{"url":"https://a.example/<b>"}}` {
				t.Errorf("command %s %d %s", c.Method, c.TimeoutMs, c.Params)
			}
			send(p, &wire.Result{ID: c.ID, Data: []byte(`{"frameId":"F"}`)})
		}()
		var got struct{ FrameID string }
		err := i.Call(t.Context(), wire.MethodCDP, wire.CDPCommand{TabID: 3, Method: "Page.navigate", Params: []byte(`{"url":"https://a.example/<b>"}`)}, &got)
		if err != nil || got.FrameID != "F" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestCallFails(t *testing.T) {
	bubble(t, func(t *testing.T, i *Conn, p *Peer) {
		answers := []wire.Problem{
			{Code: errs.ErrDevToolsOpen, Message: "DevTools are open on the tab"},
			{Code: errs.ErrCDP, Message: "no node", Data: []byte(`{"code":-32000,"message":"No node"}`)},
			{Code: errs.ErrConsentRequired, Message: "the user is being asked"},
			{Code: "FROM_THE_FUTURE", Message: "what"},
		}
		go func() {
			for _, a := range answers {
				send(p, &wire.Failure{ID: command(t, p).ID, Error: a})
			}
		}()
		for _, a := range answers {
			err := i.Call(t.Context(), wire.MethodTabsList, nil, nil)
			want := a.Code
			if a.Code == "FROM_THE_FUTURE" {
				want = errs.ErrInternal
			}
			problem, ok := errors.AsType[*CommandError](err)
			if errs.CodeOf(err) != want || !ok || problem.Message != a.Message || string(problem.Data) != string(a.Data) {
				t.Errorf("error %v (%s), want %s", err, errs.CodeOf(err), want)
			}
			if e, _ := errors.AsType[*errs.Error](err); want == errs.ErrConsentRequired && (!e.Retryable || !strings.Contains(e.Hint, "popup")) {
				t.Errorf("what to do about %+v", e)
			}
		}
	})
}

// TestTimeout checks that a call ends shortly after the timeout that the extension was given. The
// connection stays open, and a late response is ignored.
func TestTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, i *Conn, p *Peer) {
		ids := make(chan string, 10)
		go func() {
			for {
				f, err := receive(context.Background(), p)
				if err != nil {
					return
				}
				switch f := f.(type) {
				case *wire.Ping:
					send(p, &wire.Pong{TS: f.TS})
				case *wire.Command:
					if f.Method == wire.MethodPing {
						send(p, &wire.Result{ID: f.ID, Data: []byte("{}")})
					} else {
						ids <- f.ID
					}
				}
			}
		}()
		for _, tt := range []struct {
			method string
			params any
			want   time.Duration
		}{
			{wire.MethodTabsList, nil, 30 * time.Second},
			{wire.MethodCDP, wire.CDPCommand{Method: "Page.captureScreenshot"}, time.Minute},
			{wire.MethodConsent, wire.PromptParams{}, time.Minute},
		} {
			began := time.Now()
			err := i.Call(t.Context(), tt.method, tt.params, nil)
			if took := time.Since(began); !errors.Is(err, errs.ErrTimeout) || took != tt.want+responseGrace {
				t.Errorf("%s: %v after %v", tt.method, err, took)
			}
			send(p, &wire.Result{ID: <-ids, Data: []byte("{}")})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 800*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := i.Call(ctx, wire.MethodTabsList, nil, nil); !errors.Is(err, errs.ErrTimeout) || time.Since(began) != 800*time.Millisecond {
			t.Errorf("with a deadline: %v after %v", err, time.Since(began))
		}
		if err := i.Call(t.Context(), wire.MethodPing, nil, nil); err != nil {
			t.Errorf("the connection does not continue: %v", err)
		}
		if len(i.pending) != 0 {
			t.Errorf("%d commands are left pending", len(i.pending))
		}
	})
}

func TestCancel(t *testing.T) {
	bubble(t, func(t *testing.T, i *Conn, p *Peer) {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { failed <- i.Call(ctx, wire.MethodTabsList, nil, nil) }()
		c := command(t, p)
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if err := i.Call(ctx, wire.MethodTabsList, nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that is done: %v", err)
		}
		send(p, &wire.Result{ID: c.ID, Data: []byte("{}")})
		go func() {
			c := command(t, p) // the canceled call was not sent
			if c.Method != wire.MethodPing {
				t.Errorf("a command %s", c.Method)
			}
			send(p, &wire.Result{ID: c.ID, Data: []byte("{}")})
		}()
		if err := i.Call(t.Context(), wire.MethodPing, nil, nil); err != nil {
			t.Error(err)
		}
	})
}

// TestEndRejectsAll checks that the end of a connection ends all its calls.
func TestEndRejectsAll(t *testing.T) {
	bubble(t, func(t *testing.T, i *Conn, p *Peer) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := i.Call(t.Context(), wire.MethodTabsList, nil, nil); !errors.Is(err, errs.ErrExtensionDisconnected) {
					t.Errorf("error %v", err)
				}
			})
		}
		queued := make(chan error, 1)
		if err := i.Queue(t.Context(), wire.MethodTabsList, nil, func(_ json.RawMessage, err error) { queued <- err }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		p.Close()
		wg.Wait()
		<-i.Done()
		if _, err := i.Next(t.Context()); !errors.Is(err, errs.ErrExtensionDisconnected) {
			t.Errorf("Next: %v", err)
		}
		if err := <-queued; !errors.Is(err, errs.ErrExtensionDisconnected) {
			t.Errorf("queued: %v", err)
		}
	})
}

// TestOrder: answers to queued commands come in their place among the events.
func TestOrder(t *testing.T) {
	bubble(t, func(t *testing.T, i *Conn, p *Peer) {
		var told []string
		var ids []string
		for n := range 3 {
			err := i.Queue(t.Context(), wire.MethodCDP, nil, func(data json.RawMessage, err error) {
				told = append(told, fmt.Sprint("answer ", n, string(data), err))
			})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, command(t, p).ID)
		}
		event := func(name string) { send(p, &wire.Event{Event: name, Data: []byte("{}")}) }
		event("a")
		send(p, &wire.Result{ID: ids[1], Data: []byte("{}")})
		event("b")
		send(p, &wire.Result{ID: ids[0], Data: []byte("[]")})
		send(p, &wire.Failure{ID: ids[2], Error: wire.Problem{Code: errs.ErrDetached, Message: "taken"}})
		event("c")
		for range 3 {
			e, err := i.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, e.Name)
		}
		if got, want := strings.Join(told, ", "), "a, answer 1{}<nil>, b, answer 0[]<nil>, answer 2taken, c"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := i.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next: %v", err)
		}
	})
}

// TestBackpressure: what the extension does not read is not queued without end.
func TestBackpressure(t *testing.T) {
	bubble(t, func(t *testing.T, i *Conn, p *Peer) {
		params := wire.CDPCommand{Method: "Runtime.evaluate", Params: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}
		accepted := 0
		var err error
		for accepted < 100 {
			if err = i.Queue(t.Context(), wire.MethodCDP, params, func(json.RawMessage, error) {}); err != nil {
				break
			}
			accepted++
			synctest.Wait() // the pipe itself takes a few
		}
		if !errors.Is(err, errs.ErrBackpressure) || accepted < 7 || accepted > 30 {
			t.Errorf("%d MiB accepted, then %v", accepted, err)
		}
		for range accepted {
			if _, err := p.st.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if err := i.Queue(t.Context(), wire.MethodCDP, params, func(json.RawMessage, error) {}); err != nil {
			t.Errorf("when it has read: %v", err)
		}
		synctest.Wait()
		if i.queued != 0 {
			t.Errorf("%d bytes are counted as queued", i.queued)
		}
	})
}

// TestHeartbeat: two pings without an answer, or any other sign, end the
// connection; with one it lives.
func TestHeartbeat(t *testing.T) {
	bubble(t, func(t *testing.T, i *Conn, p *Peer) {
		go func() {
			for n := 0; ; n++ {
				f, err := receive(context.Background(), p)
				if err != nil {
					return
				}
				if ping, ok := f.(*wire.Ping); ok && n < 10 {
					send(p, &wire.Pong{TS: ping.TS})
				}
			}
		}()
		began := time.Now()
		<-i.Done()
		// Ten are answered; the 11th and 12th are not, and the 13th tick ends it.
		if took := time.Since(began); took != 13*wire.Heartbeat {
			t.Errorf("ended after %v", took)
		}
		if err := i.Err(); !errors.Is(err, errs.ErrExtensionDisconnected) || !strings.Contains(err.Error(), "2 pings") {
			t.Errorf("Err %v", err)
		}
	})
}

// TestPeerPings: the extension may ask, too.
func TestPeerPings(t *testing.T) {
	bubble(t, func(t *testing.T, i *Conn, p *Peer) {
		send(p, &wire.Ping{TS: 42})
		f, err := receive(t.Context(), p)
		if pong, ok := f.(*wire.Pong); err != nil || !ok || pong.TS != 42 {
			t.Errorf("got %+v, %v", f, err)
		}
	})
}

func TestPolicyChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allow := "a.example"
		s, err := New(Options{ExtensionID: ourID, Policy: func() Policy { return Policy{Allow: []string{allow}} }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, p := s.Pipe("x")
		allow = "b.example"
		s.PolicyChanged()
		f, err := receive(t.Context(), p)
		if change, ok := f.(*wire.PolicyChange); err != nil || !ok || change.Policy.Allow[0] != "b.example" {
			t.Errorf("got %+v, %v", f, err)
		}
	})
}

// send sends a message from the extension.
func send(p *Peer, m wire.Message) error {
	data, err := wire.Encode(m)
	if err != nil {
		return err
	}
	return p.Send(data)
}

// receive returns the next message to the extension.
func receive(ctx context.Context, p *Peer) (wire.Message, error) {
	data, err := p.Receive(ctx)
	if err != nil {
		return nil, err
	}
	return wire.Decode(data)
}
