package userbrowser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// An Answer is the browser's response to one command.
type Answer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (b *Browser) read(out *os.File) {
	defer out.Close()
	for r := bufio.NewReader(out); ; {
		text, err := r.ReadBytes(0)
		b.mu.Lock()
		if err != nil {
			for _, ch := range b.pending {
				close(ch)
			}
			b.pending = nil
			b.mu.Unlock()
			return
		}
		var m Answer
		if json.Unmarshal(text[:len(text)-1], &m) == nil && b.pending[m.ID] != nil {
			b.pending[m.ID] <- m
			delete(b.pending, m.ID)
		}
		b.mu.Unlock()
	}
}

// Send sends a command to a CDP session, or to the browser if session is empty. If the browser
// exits, the channel is closed.
func (b *Browser) Send(session, method string, params any) <-chan Answer {
	ch := make(chan Answer, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending == nil {
		close(ch)
		return ch
	}
	b.lastID++
	m := map[string]any{"id": b.lastID, "method": method}
	if session != "" {
		m["sessionId"] = session
	}
	if params != nil {
		m["params"] = params
	}
	data, err := json.Marshal(m)
	if err == nil {
		_, err = b.in.Write(append(data, 0))
	}
	if err != nil {
		close(ch)
		return ch
	}
	b.pending[b.lastID] = ch
	return ch
}

// Call sends a command, waits for its response and decodes the result.
func (b *Browser) Call(t testing.TB, session, method string, params, result any) {
	t.Helper()
	m := await.Receive(t, "the response to "+method, b.Send(session, method, params))
	switch {
	case m.ID == 0:
		t.Fatalf("%s: the browser is gone", method)
	case m.Error != nil:
		t.Fatalf("%s: %s", method, m.Error.Message)
	case result != nil:
		if err := json.Unmarshal(m.Result, result); err != nil {
			t.Fatal(err)
		}
	}
}

// A Target is a CDP target, such as a page or a worker.
type Target struct {
	ID   string `json:"targetId"`
	Type string `json:"type"`
	URL  string `json:"url"`
}

// Targets lists all targets.
func (b *Browser) Targets(t testing.TB) []Target {
	t.Helper()
	var res struct {
		Infos []Target `json:"targetInfos"`
	}
	b.Call(t, "", "Target.getTargets", map[string]any{"filter": []map[string]any{{}}}, &res)
	return res.Infos
}

// Find waits for a target of a kind whose URL has a part.
func (b *Browser) Find(t testing.TB, kind, urlPart string) Target {
	t.Helper()
	var found Target
	await.Until(t, "a "+kind+" at "+urlPart, func() bool {
		for _, x := range b.Targets(t) {
			if x.Type == kind && strings.Contains(x.URL, urlPart) {
				found = x
				return true
			}
		}
		return false
	})
	return found
}

// WithSession calls work with the id of a CDP session of a target. The session ends with work, because
// it keeps a service worker alive.
func (b *Browser) WithSession(t testing.TB, target string, work func(session string)) {
	t.Helper()
	var res struct {
		SessionID string `json:"sessionId"`
	}
	b.Call(t, "", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}, &res)
	defer b.Send("", "Target.detachFromTarget", map[string]any{"sessionId": res.SessionID})
	work(res.SessionID)
}

// Eval runs an expression with a user gesture in the target of a session, and decodes the value
// that it resolves to.
func (b *Browser) Eval(t testing.TB, session, expression string, result any) {
	t.Helper()
	var res struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	b.Call(t, session, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}, &res)
	if res.Exception != nil {
		t.Fatalf("%s: %s", expression, res.Exception.Exception.Description)
	}
	if result != nil {
		if err := json.Unmarshal(res.Result.Value, result); err != nil {
			t.Fatalf("%s gave %s: %v", expression, res.Result.Value, err)
		}
	}
}

// EvalInTarget is like Eval, in a new session of a target.
func (b *Browser) EvalInTarget(t testing.TB, target, expression string, result any) {
	t.Helper()
	b.WithSession(t, target, func(session string) { b.Eval(t, session, expression, result) })
}

// GoTo opens a URL in a tab and waits until it is loaded.
func (b *Browser) GoTo(t testing.TB, target, url string) {
	t.Helper()
	b.WithSession(t, target, func(session string) {
		b.Call(t, session, "Page.navigate", map[string]any{"url": url}, nil)
		b.waitLoaded(t, session, url)
	})
}

// NewTab opens a URL in a new tab in the foreground, and waits until it is loaded.
func (b *Browser) NewTab(t testing.TB, url string) (target string) {
	t.Helper()
	var made struct {
		TargetID string `json:"targetId"`
	}
	b.Call(t, "", "Target.createTarget", map[string]any{"url": url}, &made)
	b.WithSession(t, made.TargetID, func(session string) { b.waitLoaded(t, session, url) })
	return made.TargetID
}

// waitLoaded waits until the page of a session is loaded from url. While the document is replaced,
// the browser rejects the command.
func (b *Browser) waitLoaded(t testing.TB, session, url string) {
	t.Helper()
	loaded := fmt.Sprintf("document.readyState === 'complete' && location.href === %q", url)
	await.Until(t, url, func() bool {
		m := await.Receive(t, "the state of "+url, b.Send(session, "Runtime.evaluate", map[string]any{"expression": loaded}))
		var res struct {
			Result struct {
				Value bool `json:"value"`
			} `json:"result"`
		}
		return m.Error == nil && json.Unmarshal(m.Result, &res) == nil && res.Result.Value
	})
}
