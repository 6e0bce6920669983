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

// command returns the next command to the extension. It answers pings.
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
func bubble(t *testing.T, f func(t *testing.T, conn *Conn, p *Peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		conn, p := Pipe()
		defer p.Close()
		f(t, conn, p)
	})
}

func TestCall(t *testing.T) {
	bubble(t, func(t *testing.T, conn *Conn, p *Peer) {
		go func() {
			c := command(t, p)
			if c.Method != wire.MethodCDP || c.TimeoutMs != 60000 || string(c.Params) != `{"tabId":3,"method":"Page.navigate","params":{"url":"https://a.example/<b>"}}` {
				t.Errorf("command %s %d %s", c.Method, c.TimeoutMs, c.Params)
			}
			send(p, &wire.Result{ID: c.ID, Data: []byte(`{"frameId":"F"}`)})
		}()
		var got struct{ FrameID string }
		err := conn.Call(t.Context(), wire.MethodCDP, wire.CDPCommand{TabID: 3, Method: "Page.navigate", Params: []byte(`{"url":"https://a.example/<b>"}`)}, &got)
		if err != nil || got.FrameID != "F" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestCallFails(t *testing.T) {
	bubble(t, func(t *testing.T, conn *Conn, p *Peer) {
		answers := []wire.Problem{
			{Code: errs.ErrDevToolsOpen, Message: "DevTools are open on the tab"},
			{Code: errs.ErrCDP, Message: "no node", Data: []byte(`{"code":-32000,"message":"No node"}`)},
			{Code: errs.ErrConsentRequired, Message: "the user has not answered"},
			{Code: "UNKNOWN_CODE", Message: "what"},
		}
		go func() {
			for _, a := range answers {
				send(p, &wire.Failure{ID: command(t, p).ID, Error: a})
			}
		}()
		for _, a := range answers {
			err := conn.Call(t.Context(), wire.MethodTabsList, nil, nil)
			want := a.Code
			if a.Code == "UNKNOWN_CODE" {
				want = errs.ErrInternal
			}
			problem, ok := errors.AsType[*CommandError](err)
			if errs.CodeOf(err) != want || !ok || problem.Message != a.Message || string(problem.Data) != string(a.Data) {
				t.Errorf("error %v (%s), want %s", err, errs.CodeOf(err), want)
			}
			if e, _ := errors.AsType[*errs.Error](err); want == errs.ErrConsentRequired && (!e.Retryable || !strings.Contains(e.Hint, "popup")) {
				t.Errorf("hint of %+v", e)
			}
		}
	})
}

// TestTimeout checks that a call ends shortly after the timeout that was sent to the extension. The
// connection stays open, and a late response is ignored.
func TestTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, conn *Conn, p *Peer) {
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
			err := conn.Call(t.Context(), tt.method, tt.params, nil)
			if took := time.Since(began); !errors.Is(err, errs.ErrTimeout) || took != tt.want+responseGrace {
				t.Errorf("%s: %v after %v", tt.method, err, took)
			}
			send(p, &wire.Result{ID: <-ids, Data: []byte("{}")})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 800*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := conn.Call(ctx, wire.MethodTabsList, nil, nil); !errors.Is(err, errs.ErrTimeout) || time.Since(began) != 800*time.Millisecond {
			t.Errorf("with a deadline: %v after %v", err, time.Since(began))
		}
		if err := conn.Call(t.Context(), wire.MethodPing, nil, nil); err != nil {
			t.Errorf("ping after the timeouts: %v", err)
		}
		if len(conn.pending) != 0 {
			t.Errorf("%d commands are still pending", len(conn.pending))
		}
	})
}

func TestCancel(t *testing.T) {
	bubble(t, func(t *testing.T, conn *Conn, p *Peer) {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { failed <- conn.Call(ctx, wire.MethodTabsList, nil, nil) }()
		c := command(t, p)
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if err := conn.Call(ctx, wire.MethodTabsList, nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("with a canceled context: %v", err)
		}
		send(p, &wire.Result{ID: c.ID, Data: []byte("{}")})
		go func() {
			c := command(t, p) // the canceled call was not sent
			if c.Method != wire.MethodPing {
				t.Errorf("got command %s", c.Method)
			}
			send(p, &wire.Result{ID: c.ID, Data: []byte("{}")})
		}()
		if err := conn.Call(t.Context(), wire.MethodPing, nil, nil); err != nil {
			t.Error(err)
		}
	})
}

// TestEndRejectsAll checks that all calls end with the connection.
func TestEndRejectsAll(t *testing.T) {
	bubble(t, func(t *testing.T, conn *Conn, p *Peer) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := conn.Call(t.Context(), wire.MethodTabsList, nil, nil); !errors.Is(err, errs.ErrExtensionDisconnected) {
					t.Errorf("error %v", err)
				}
			})
		}
		queued := make(chan error, 1)
		if err := conn.Queue(t.Context(), wire.MethodTabsList, nil, func(_ json.RawMessage, err error) { queued <- err }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		p.Close()
		wg.Wait()
		<-conn.Done()
		if _, err := conn.Next(t.Context()); !errors.Is(err, errs.ErrExtensionDisconnected) {
			t.Errorf("Next: %v", err)
		}
		if err := <-queued; !errors.Is(err, errs.ErrExtensionDisconnected) {
			t.Errorf("queued: %v", err)
		}
	})
}

// TestOrder checks that responses to queued commands are ordered with the events.
func TestOrder(t *testing.T) {
	bubble(t, func(t *testing.T, conn *Conn, p *Peer) {
		var received []string
		var ids []string
		for n := range 3 {
			err := conn.Queue(t.Context(), wire.MethodCDP, nil, func(data json.RawMessage, err error) {
				received = append(received, fmt.Sprint("response ", n, string(data), err))
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
			e, err := conn.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			received = append(received, e.Name)
		}
		if got, want := strings.Join(received, ", "), "a, response 1{}<nil>, b, response 0[]<nil>, response 2taken, c"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := conn.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next: %v", err)
		}
	})
}

// TestBackpressure checks that the queue of an extension that does not read is limited.
func TestBackpressure(t *testing.T) {
	bubble(t, func(t *testing.T, conn *Conn, p *Peer) {
		params := wire.CDPCommand{Method: "Runtime.evaluate", Params: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}
		accepted := 0
		var err error
		for accepted < 100 {
			if err = conn.Queue(t.Context(), wire.MethodCDP, params, func(json.RawMessage, error) {}); err != nil {
				break
			}
			accepted++
			synctest.Wait() // the pipe buffers a few messages
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
		if err := conn.Queue(t.Context(), wire.MethodCDP, params, func(json.RawMessage, error) {}); err != nil {
			t.Errorf("after it has read: %v", err)
		}
		synctest.Wait()
		if conn.queued != 0 {
			t.Errorf("%d bytes are counted as queued", conn.queued)
		}
	})
}

// TestLargeCommands checks that a command of any size is accepted, one at a time, and that the commands
// that are queued before and after it are, too.
func TestLargeCommands(t *testing.T) {
	bubble(t, func(t *testing.T, conn *Conn, p *Peer) {
		queue := func(size int) error {
			params := wire.CDPCommand{Method: "Runtime.evaluate", Params: []byte(`"` + strings.Repeat("x", size) + `"`)}
			return conn.Queue(t.Context(), wire.MethodCDP, params, func(json.RawMessage, error) {})
		}
		for range cap(p.st.in) + 1 { // fill the pipe
			if err := queue(1); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for _, size := range []int{1, 5 * wire.MaxQueued, 1 << 20} {
			if err := queue(size); err != nil {
				t.Errorf("a command of %d bytes: %v", size, err)
			}
		}
		if err := queue(2 * wire.MaxQueued); !errors.Is(err, errs.ErrBackpressure) {
			t.Errorf("another large command: %v", err)
		}
		longest := 0
		for range cap(p.st.in) + 4 {
			data, err := p.st.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			longest = max(longest, len(data))
			synctest.Wait()
		}
		if longest < 5*wire.MaxQueued {
			t.Errorf("the longest command has %d bytes", longest)
		}
		if conn.queued != 0 {
			t.Errorf("%d bytes are counted as queued", conn.queued)
		}
	})
}

// TestHeartbeat checks that two pings without any message from the extension end the connection,
// and that one does not.
func TestHeartbeat(t *testing.T) {
	bubble(t, func(t *testing.T, conn *Conn, p *Peer) {
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
		<-conn.Done()
		// Ten pings are answered, the 11th and 12th are not, and the 13th tick ends the connection.
		if took := time.Since(began); took != 13*wire.Heartbeat {
			t.Errorf("ended after %v", took)
		}
		if err := conn.Err(); !errors.Is(err, errs.ErrExtensionDisconnected) || !strings.Contains(err.Error(), "2 pings") {
			t.Errorf("Err returns %v", err)
		}
	})
}

// TestPeerPings checks that the server answers pings of the extension.
func TestPeerPings(t *testing.T) {
	bubble(t, func(t *testing.T, conn *Conn, p *Peer) {
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
		s, err := New(&Options{ExtensionID: ourID, Policy: func() Policy { return Policy{Allow: []string{allow}} }})
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
