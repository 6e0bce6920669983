package shield

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/frametest"
)

// A testTab is a tab with a shield.
type testTab struct {
	*frametest.Tab
	shield *Shield
}

// attach returns a tab of the browser b.
func attach(t *testing.T, b *cdptest.FakeTransport) *testTab {
	t.Helper()
	tab := new(testTab)
	t.Cleanup(func() { tab.shield.WaitIdle() }) // after the tab is gone
	tab.Tab = frametest.Attach(t, b)
	tab.shield = New(tab.Tree)
	tab.OnDocument = tab.shield.DocumentCreated
	return tab
}

// deny returns a gate that denies the document at a URL.
func deny(url string) executor.Gate {
	return executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if a.URL == url {
			return executor.Errorf(executor.ErrPolicyDenied, "", "denied")
		}
		return nil
	})
}

// A recorder is a fake browser that records the commands that it receives. It is used in a bubble of
// package synctest.
type recorder struct {
	*cdptest.FakeTransport

	mu         sync.Mutex // guards the fields below
	sent       []string   // names
	held       string     // name of the commands that are not answered
	unanswered []*cdproto.Message
	values     map[string]string // results of functions, in JSON, by name
}

func newRecorder() *recorder {
	r := &recorder{values: map[string]string{
		"hideContent": "true", "waitHidden": "true", "showContent": "true", "callFunctionOn": "7", // the id of a frame element
	}}
	r.FakeTransport = cdptest.New(func(_ *cdptest.FakeTransport, cmd *cdproto.Message) {
		r.mu.Lock()
		defer r.mu.Unlock()
		name := frametest.CommandName(cmd)
		if name == "setAutoAttach" {
			name = fmt.Sprint("wait ", strings.Contains(string(cmd.Params), `"waitForDebuggerOnStart":true`))
		}
		r.sent = append(r.sent, name)
		if name == r.held {
			r.unanswered = append(r.unanswered, cmd)
			return
		}
		r.answer(cmd)
	})
	return r
}

// answer replies to a command.
func (r *recorder) answer(cmd *cdproto.Message) {
	switch cmd.Method {
	case "Runtime.callFunctionOn":
		r.Reply(cmd, fmt.Sprintf(`{"result":{"type":"object","value":%s}}`, cmp.Or(r.values[frametest.CommandName(cmd)], "null")))
	case "Page.addScriptToEvaluateOnNewDocument":
		r.Reply(cmd, `{"identifier":"1"}`)
	case "DOM.getFrameOwner":
		r.Reply(cmd, `{"backendNodeId":1}`)
	case "DOM.resolveNode":
		r.Reply(cmd, `{"object":{"type":"object","objectId":"1"}}`)
	default:
		r.Reply(cmd, "{}")
	}
}

// hold stops answering the commands with a name. hold("") answers those that were not answered.
func (r *recorder) hold(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cmd := range r.unanswered {
		r.answer(cmd)
	}
	r.held, r.unanswered = name, nil
}

// returns sets the result of a function.
func (r *recorder) returns(name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values[name] = value
}

// take waits until all goroutines wait, and returns the names of the commands that were sent since it
// was last called.
func (r *recorder) take() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := strings.Join(r.sent, " ")
	r.sent = nil
	return sent
}

// want checks what take returns.
func (r *recorder) want(t *testing.T, when, want string) {
	t.Helper()
	if got := r.take(); got != want {
		t.Errorf("%s, sent %q, want %q", when, got, want)
	}
}

// TestBlock checks that a call blocks input in all documents of the tab and in those that load during
// the call, and unblocks only those that it may act on.
func TestBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		tab := attach(t, r.FakeTransport)
		tab.Load(t, 1)
		tab.LoadChild(t, 2)
		c := tab.Client(deny("https://b.test/2"))
		b := tab.shield.Block(t.Context(), c)
		r.want(t, "at the start", "wait true addScriptToEvaluateOnNewDocument unblockInput")
		if tab.shield.Block(t.Context(), c) != b {
			t.Error("the call has two blockers")
		}
		tab.shield.Admit(t.Context(), tab.Load(t, 3))
		r.want(t, "for a document that the call admits", "unblockInput")
		if err := tab.shield.Unblock(t.Context(), tab.Client(executor.AllowAll)); err != nil {
			t.Fatal(err)
		}
		r.want(t, "for another client", "")
		if err := tab.shield.Unblock(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		r.want(t, "at the end", "wait false removeScriptToEvaluateOnNewDocument")
	})
}

// TestUnblockAtEnd checks that no document blocks the user's input after a call: neither a denied one
// nor one that loaded during the call and is reported later.
func TestUnblockAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		tab := attach(t, r.FakeTransport)
		tab.Load(t, 1)
		r.want(t, "before the call", "")
		tab.shield.Block(t.Context(), tab.Client(deny("https://a.test/1")))
		r.take()
		tab.shield.EndCall()
		if got := r.take(); !strings.Contains(got, "unblockInput") {
			t.Errorf("sent %q at the end of the call", got)
		}
		tab.Load(t, 2)
		r.want(t, "for a document after the call", "unblockInput")
	})
}

// TestInputWaitsForPage checks that no input is sent before the page has responded that it is unblocked.
// Its response arrives after that of the scripts that block the others.
func TestInputWaitsForPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		tab := attach(t, r.FakeTransport)
		tab.Load(t, 1)
		r.hold("unblockInput")
		b := tab.shield.Block(t.Context(), tab.Client(executor.AllowAll))
		_, err := b.Send(t.Context(), "Input.dispatchKeyEvent", nil)
		var e *executor.Error
		if !errors.As(err, &e) || e.Code != executor.ErrNotActionable || !e.Retryable {
			t.Errorf("error %v", err)
		}
		if got := r.take(); strings.Contains(got, "dispatchKeyEvent") {
			t.Errorf("sent %q", got)
		}
		r.hold("")
		if _, err := b.Send(t.Context(), "Input.dispatchKeyEvent", nil); err != nil {
			t.Error(err)
		}
		if got := r.take(); !strings.Contains(got, "dispatchKeyEvent") {
			t.Errorf("sent %q when the page has responded", got)
		}
		tab.shield.EndCall()
	})
}

// TestPreventScrolling checks that PreventScrolling prevents scrolling in denied documents, and waits until they are drawn.
func TestPreventScrolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		tab := attach(t, r.FakeTransport)
		tab.Load(t, 1)
		tab.LoadChild(t, 2)
		b := tab.shield.Block(t.Context(), tab.Client(deny("https://b.test/2")))
		r.take()
		r.hold("lockScrolling")
		locked := make(chan struct{})
		go func() {
			b.PreventScrolling(t.Context())
			close(locked)
		}()
		r.want(t, "to lock", "addScriptToEvaluateOnNewDocument lockScrolling")
		select {
		case <-locked:
			t.Error("PreventScrolling does not wait for the denied document")
		default:
		}
		r.hold("")
		<-locked
		tab.shield.EndCall()
	})
}

// TestAttachFrames checks that new out-of-process iframes wait for us only while a call sends input, and
// that input is then blocked in them.
func TestAttachFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		tab := attach(t, r.FakeTransport)
		tab.Load(t, 1)
		sess := tab.Session()
		attachFrames := func() {
			if _, err := tab.shield.AttachFrames(t.Context(), sess); err != nil {
				t.Fatal(err)
			}
		}
		attachFrames()
		tab.shield.BlockTarget(t.Context(), sess)
		r.want(t, "before a call", "wait false")
		if tab.shield.HasPaused(sess) {
			t.Error("frames had to wait before a call")
		}
		tab.shield.Block(t.Context(), tab.Client(executor.AllowAll))
		r.take()
		attachFrames()
		r.want(t, "during a call", "wait true")
		r.Attach("T", "F", "iframe")
		synctest.Wait()
		frame := tab.Sessions()[1]
		tab.shield.BlockTarget(t.Context(), frame)
		r.want(t, "for a new frame", "wait true addScriptToEvaluateOnNewDocument")
		tab.shield.EndCall()
		r.take()
		for _, s := range tab.Sessions() {
			if !tab.shield.HasPaused(s) {
				t.Error("it is forgotten that frames had to wait")
			}
			if tab.shield.Forget(s); tab.shield.HasPaused(s) {
				t.Error("a session is not forgotten")
			}
		}
	})
}

// TestProgressIsNotRetryable checks that an error that reports what a call has done does not ask
// for the same call again, which would do it twice.
func TestProgressIsNotRetryable(t *testing.T) {
	err := &executor.Error{Code: executor.ErrNotActionable, Retryable: true, Err: errors.New("the page did not receive the key")}
	got, ok := errors.AsType[*executor.Error](WithProgress(err, "the text was typed"))
	if !ok || got.Retryable || got.Message() != "the page did not receive the key; the text was typed" {
		t.Errorf("got %+v", got)
	}
	if WithProgress(err, "") != error(err) || !err.Retryable {
		t.Errorf("an error without progress is changed: %+v", err)
	}
}
