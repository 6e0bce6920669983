package outline_test

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// browser is a minimal protocol client for one Chromium over a pipe. These tests do not use our own
// client, so that they do not depend on it.
type browser struct {
	cmd *exec.Cmd
	in  *os.File

	mu      sync.Mutex
	next    int
	pending map[int]chan reply
	events  chan event
}

type reply struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

type event struct {
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	SessionID string          `json:"sessionId"`
}

// chromiumPath returns the path of the browser, or skips the test on a developer's machine without
// one.
func chromiumPath(t testing.TB) string {
	for _, name := range []string{os.Getenv("CHROME_MCP_TEST_BROWSER"), "chromium", "google-chrome", "chromium-browser"} {
		if name == "" {
			continue
		}
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("Chromium not found")
	}
	t.Skip("Chromium not found")
	return ""
}

func startBrowser(t testing.TB) *browser {
	t.Helper()
	tier.Browser(t)
	toR, toW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromR, fromW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(chromiumPath(t), "--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--remote-debugging-pipe", "--window-size=1280,720", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toR, fromW}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toR.Close()
	fromW.Close()
	b := &browser{cmd: cmd, in: toW, pending: map[int]chan reply{}, events: make(chan event, 1<<14)}
	var done sync.WaitGroup
	done.Go(func() { b.read(fromR) })
	t.Cleanup(func() {
		b.call("", "Browser.close", nil)
		cmd.Wait()
		toW.Close()
		done.Wait()
		fromR.Close()
	})
	return b
}

func (b *browser) read(from *os.File) {
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		msg, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			for id, ch := range b.pending {
				close(ch)
				delete(b.pending, id)
			}
			return
		}
		msg = msg[:len(msg)-1]
		var rep reply
		if json.Unmarshal(msg, &rep) == nil && rep.ID != 0 {
			b.mu.Lock()
			ch := b.pending[rep.ID]
			delete(b.pending, rep.ID)
			b.mu.Unlock()
			ch <- rep
			continue
		}
		var ev event
		if json.Unmarshal(msg, &ev) == nil {
			select {
			case b.events <- ev:
			default: // the buffer is large enough for all readers
			}
		}
	}
}

func (b *browser) call(session, method string, params any) (json.RawMessage, error) {
	b.mu.Lock()
	b.next++
	id := b.next
	ch := make(chan reply, 1)
	b.pending[id] = ch
	msg := map[string]any{"id": id, "method": method}
	if params != nil {
		msg["params"] = params
	}
	if session != "" {
		msg["sessionId"] = session
	}
	data, err := json.Marshal(msg)
	if err == nil {
		_, err = b.in.Write(append(data, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	rep, ok := <-ch
	if !ok {
		return nil, errors.New("browser exited")
	}
	if rep.Error != nil {
		return nil, fmt.Errorf("%s: %s", method, rep.Error.Message)
	}
	return rep.Result, nil
}

// A tab is one page with our scripts in an isolated world.
type tab struct {
	t       testing.TB
	b       *browser
	session string
	frame   string
	world   int
}

func (b *browser) newTab(t testing.TB, url string) *tab {
	t.Helper()
	p := &tab{t: t, b: b}
	var target struct{ TargetID string }
	p.browserCall("Target.createTarget", map[string]any{"url": "about:blank", "newWindow": true, "width": 1280, "height": 720}, &target)
	var att struct{ SessionID string }
	p.browserCall("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &att)
	p.session = att.SessionID
	p.frame = target.TargetID
	t.Cleanup(func() { b.call("", "Target.closeTarget", map[string]any{"targetId": target.TargetID}) })
	p.call("Page.enable", nil, nil)
	p.call("Runtime.enable", nil, nil)
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.call("Page.navigate", map[string]any{"url": url}, nil)
	p.waitLoad()
	var world struct{ ExecutionContextID int }
	p.call("Page.createIsolatedWorld", map[string]any{"frameId": p.frame, "worldName": "chrome-mcp"}, &world)
	p.world = world.ExecutionContextID
	var res struct {
		ExceptionDetails json.RawMessage
	}
	p.call("Runtime.evaluate", map[string]any{"expression": pageScripts, "contextId": p.world}, &res)
	if res.ExceptionDetails != nil {
		t.Fatalf("page scripts: %s", res.ExceptionDetails)
	}
	return p
}

func (t *tab) waitLoad() {
	for ev := range t.b.events {
		if ev.SessionID == t.session && ev.Method == "Page.loadEventFired" {
			return
		}
	}
}

func (t *tab) browserCall(method string, params, result any) {
	t.t.Helper()
	data, err := t.b.call("", method, params)
	if err != nil {
		t.t.Fatal(err)
	}
	if result != nil {
		if err := json.Unmarshal(data, result); err != nil {
			t.t.Fatal(err)
		}
	}
}

func (t *tab) call(method string, params, result any) {
	t.t.Helper()
	data, err := t.b.call(t.session, method, params)
	if err != nil {
		t.t.Fatal(err)
	}
	if result != nil {
		if err := json.Unmarshal(data, result); err != nil {
			t.t.Fatal(err)
		}
	}
}

// js calls a function of the page scripts, or an expression that evaluates to one, with args.
func (t *tab) js(function string, result any, args ...any) {
	t.t.Helper()
	type arg struct {
		Value any `json:"value"`
	}
	list := make([]arg, len(args))
	for i, a := range args {
		list[i] = arg{a}
	}
	if !strings.Contains(function, "=>") {
		function = "(...args) => globalThis.__cm." + function + "(...args)"
	}
	var res struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	t.call("Runtime.callFunctionOn", map[string]any{"functionDeclaration": function, "executionContextId": t.world,
		"arguments": list, "returnByValue": true, "awaitPromise": true}, &res)
	if res.ExceptionDetails != nil {
		t.t.Fatalf("%s: %s", function, res.ExceptionDetails)
	}
	if result == nil {
		return
	}
	if raw, ok := result.(*json.RawMessage); ok {
		*raw = res.Result.Value
		return
	}
	if err := json.Unmarshal(res.Result.Value, result); err != nil {
		t.t.Fatalf("%s: %v in %s", function, err, res.Result.Value)
	}
}

//go:generate go tool -modfile=../../tools/go.mod esbuild testdata/scripts/main.js --bundle --format=iife --target=chrome120 --charset=utf8 --minify-whitespace --legal-comments=none --log-level=warning --outfile=testdata/scripts/bundle.js

// pageScripts is the bundle of testdata/scripts/main.js.
//
//go:embed testdata/scripts/bundle.js
var pageScripts string
