package extension

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A fakeExtension replaces the extension in tests that control the order of events. It executes
// the commands of the bridge in a real Chromium over its debugging pipe, as the extension does with
// chrome.debugger and chrome.tabs. It can release and unshare tabs for any reason, and it answers
// permission prompts. It forwards the events of the browser in their order, and it sends a command
// to the browser without waiting for the response to the command before it.
type fakeExtension struct {
	t  testing.TB
	tr *chromedp.PipeConn
	wg sync.WaitGroup

	mu            sync.Mutex // guards the fields below, and the order of writes to peer and tr
	peer          *bridge.Peer
	lastID        int64
	replies       map[int64]func(*cdproto.Message)
	lastTab       int
	tabs          map[int]*fakeTab
	sessions      map[target.SessionID]*fakeTab // CDP sessions of tabs, frames and workers
	shareUserTabs bool                          // share tabs that no other tab opened
	consent       func(origin string) (granted, answered bool)
	promptAnswer  string // answer to permission prompts other than script consent
	commands      int    // number of CDP commands sent for the server
	closing       bool   // the connection is being closed
}

// A fakeTab is a shared tab of a fakeExtension.
type fakeTab struct {
	wire.Tab
	session    target.SessionID // CDP session; empty while detached
	onClosed   []func()         // replies to pending commands that close the tab
	onAttached []func(error)    // replies to pending commands that attach to it
}

// startFakeExtension starts a Chromium and a fakeExtension that is connected to server. It stops
// both when the test ends.
func startFakeExtension(t testing.TB, server *bridge.Server) *fakeExtension {
	t.Helper()
	path := cmp.Or(tier.Shell(), userbrowser.Find(t))
	dir := t.TempDir()
	fromUs, toBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	toUs, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", tier.FastWindows, "--hide-scrollbars", "--window-size=1280,863", "--user-data-dir="+filepath.Join(dir, "profile"), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{fromUs, fromBrowser}
	cmd.Env = append(os.Environ(), "HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromUs.Close()
	fromBrowser.Close()
	fake := &fakeExtension{
		t: t, tr: chromedp.NewPipeConn(toUs, toBrowser),
		replies: make(map[int64]func(*cdproto.Message)), tabs: make(map[int]*fakeTab), lastTab: 100,
		sessions: make(map[target.SessionID]*fakeTab),
		consent:  func(string) (bool, bool) { return true, true },
	}
	_, fake.peer = server.Pipe("fake")
	fake.wg.Go(fake.read)
	fake.serve(fake.peer)
	t.Cleanup(func() {
		fake.mu.Lock()
		fake.closing = true
		fake.send("", "Browser.close", nil, nil)
		fake.peer.Close()
		fake.mu.Unlock()
		exited := make(chan struct{})
		go func() { cmd.Wait(); close(exited) }()
		select {
		case <-exited:
		case <-time.After(await.HangLimit):
			cmd.Process.Kill()
			<-exited
		}
		fake.tr.Close()
		fake.wg.Wait()
	})
	fake.mu.Lock()
	fake.send("", "Target.setDiscoverTargets", map[string]any{"discover": true, "filter": []map[string]any{{"type": "page"}}}, nil)
	fake.mu.Unlock()
	return fake
}

// connect opens another connection to the server, like a restarted worker. The debugger stays
// attached.
func (fake *fakeExtension) connect(server *bridge.Server) {
	fake.mu.Lock()
	fake.closing = false
	_, fake.peer = server.Pipe("fake")
	p := fake.peer
	fake.mu.Unlock()
	fake.serve(p)
}

// disconnect closes the connection to the server.
func (fake *fakeExtension) disconnect() {
	fake.mu.Lock()
	p := fake.peer
	fake.closing = true
	fake.mu.Unlock()
	p.Close()
}

// serve handles the messages of the server until the connection closes.
func (fake *fakeExtension) serve(p *bridge.Peer) {
	t := fake.t
	fake.wg.Go(func() {
		for {
			f, err := receive(context.Background(), p)
			if err != nil {
				fake.mu.Lock()
				if !fake.closing && fake.peer == p { // connect did not replace the connection
					t.Errorf("receiving a message from the server: %v", err)
				}
				fake.mu.Unlock()
				return
			}
			switch f := f.(type) {
			case *wire.Command:
				fake.mu.Lock()
				fake.handleCommand(f)
				fake.mu.Unlock()
			case *wire.Ping:
				send(p, &wire.Pong{TS: f.TS})
			}
		}
	})
}

// send sends a CDP command to the browser. reply, if not nil, is called with the response, while
// fake.mu is held. fake.mu must be held.
func (fake *fakeExtension) send(session target.SessionID, method string, params any, reply func(*cdproto.Message)) {
	fake.lastID++
	if reply != nil {
		fake.replies[fake.lastID] = reply
	}
	msg := &cdproto.Message{ID: fake.lastID, SessionID: session, Method: cdproto.MethodType(method)}
	switch p := params.(type) {
	case nil:
	case json.RawMessage:
		msg.Params = jsonv2.Value(p)
	default:
		data, err := json.Marshal(params)
		if err != nil {
			panic(err)
		}
		msg.Params = data
	}
	fake.tr.Write(context.Background(), msg)
}

// read handles the messages of the browser until the pipe closes.
func (fake *fakeExtension) read() {
	for {
		msg := new(cdproto.Message)
		if fake.tr.Read(context.Background(), msg) != nil {
			return
		}
		fake.mu.Lock()
		if msg.ID != 0 {
			reply := fake.replies[msg.ID]
			delete(fake.replies, msg.ID)
			if reply != nil {
				reply(msg)
			}
		} else {
			fake.handleEvent(msg)
		}
		fake.mu.Unlock()
	}
}

// sendEvent sends an event to the server. fake.mu must be held.
func (fake *fakeExtension) sendEvent(event string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	send(fake.peer, &wire.Event{Event: event, Data: raw})
}

func (fake *fakeExtension) sendResult(id string, data any) {
	raw, ok := data.(json.RawMessage)
	if !ok {
		raw, _ = json.Marshal(data)
	}
	send(fake.peer, &wire.Result{ID: id, Data: raw})
}

func (fake *fakeExtension) sendFailure(id string, code executor.Code, format string, args ...any) {
	send(fake.peer, &wire.Failure{ID: id, Error: wire.Problem{Code: code, Message: fmt.Sprintf(format, args...)}})
}

// unsupportedCommands are CDP commands that chrome.debugger does not support.
var unsupportedCommands = []string{"Runtime.terminateExecution", "Target.getTargets", "Target.setDiscoverTargets", "Page.setDownloadBehavior"}

// handleCommand executes a command of the server. fake.mu must be held.
func (fake *fakeExtension) handleCommand(c *wire.Command) {
	var ref wire.TabRef
	json.Unmarshal(c.Params, &ref)
	t := fake.tabs[ref.TabID]
	switch c.Method {
	case wire.MethodTabClose, wire.MethodTabAttach, wire.MethodTabRelease, wire.MethodCDP:
		if t == nil {
			fake.sendFailure(c.ID, executor.ErrTabNotFound, "the tab is not shared")
			return
		}
	}
	switch c.Method {
	case wire.MethodPing:
		fake.sendResult(c.ID, wire.Empty{})
	case wire.MethodTabsList:
		list := wire.TabsList{Tabs: []wire.Tab{}}
		for _, t := range fake.tabs {
			list.Tabs = append(list.Tabs, t.Tab)
		}
		slices.SortFunc(list.Tabs, func(a, b wire.Tab) int { return a.TabID - b.TabID })
		fake.sendResult(c.ID, list)
	case wire.MethodOpenTargets:
		var asked wire.Targets
		json.Unmarshal(c.Params, &asked)
		fake.send("", "Target.getTargets", nil, func(m *cdproto.Message) {
			var open struct {
				Infos []target.Info `json:"targetInfos"`
			}
			json.Unmarshal(m.Result, &open)
			fake.sendResult(c.ID, wire.Targets{Targets: slices.DeleteFunc(asked.Targets, func(id string) bool {
				return !slices.ContainsFunc(open.Infos, func(info target.Info) bool { return string(info.TargetID) == id })
			})})
		})
	case wire.MethodTabNew:
		fake.send("", "Target.createTarget", map[string]any{"url": "about:blank", "background": true}, func(m *cdproto.Message) {
			var created struct {
				ID string `json:"targetId"`
			}
			if m.Error != nil || json.Unmarshal(m.Result, &created) != nil {
				fake.sendFailure(c.ID, executor.ErrInternal, "creating the tab failed")
				return
			}
			t := fake.share(wire.Tab{TargetID: created.ID, URL: "about:blank", Own: true})
			fake.attach(t, func(err error) {
				if err != nil {
					fake.sendFailure(c.ID, executor.ErrInternal, "%v", err)
					return
				}
				fake.sendResult(c.ID, t.Tab)
			})
		})
	case wire.MethodTabClose:
		if !t.Own {
			fake.sendResult(c.ID, wire.TabClosed{Released: true})
			fake.unshare(t, "user")
			return
		}
		t.onClosed = append(t.onClosed, func() { fake.sendResult(c.ID, wire.TabClosed{Closed: true}) })
		fake.send("", "Target.closeTarget", map[string]any{"targetId": t.TargetID}, nil)
	case wire.MethodTabAttach:
		fake.attach(t, func(err error) {
			if err != nil {
				fake.sendFailure(c.ID, executor.ErrTargetGone, "%v", err)
				return
			}
			fake.sendResult(c.ID, t.Tab)
		})
	case wire.MethodTabRelease:
		fake.release(t, "idle")
		fake.sendResult(c.ID, wire.Empty{})
	case wire.MethodConsent:
		var q wire.PromptParams
		json.Unmarshal(c.Params, &q)
		granted, answered := fake.consent(q.Origin)
		if !answered {
			fake.sendFailure(c.ID, executor.ErrConsentRequired, "the user has not answered")
			return
		}
		fake.sendResult(c.ID, wire.PromptResult{Granted: granted, Answer: fake.promptAnswer})
	case wire.MethodCDP:
		var cmd wire.CDPCommand
		json.Unmarshal(c.Params, &cmd)
		session := t.session
		if cmd.SessionID != "" {
			session = target.SessionID(cmd.SessionID)
		}
		if t.session == "" || fake.sessions[session] != t {
			fake.sendFailure(c.ID, executor.ErrDetached, "the debugger is not attached to the tab")
			return
		}
		if slices.Contains(unsupportedCommands, cmd.Method) {
			fake.sendFailure(c.ID, executor.ErrCDP, "Not allowed")
			return
		}
		fake.commands++
		var params any
		if len(cmd.Params) > 0 {
			params = cmd.Params
		}
		fake.send(session, cmd.Method, params, func(m *cdproto.Message) {
			if m.Error != nil {
				data, _ := json.Marshal(m.Error)
				send(fake.peer, &wire.Failure{ID: c.ID, Error: wire.Problem{Code: executor.ErrCDP, Message: m.Error.Message, Data: data}})
				return
			}
			fake.sendResult(c.ID, json.RawMessage(m.Result))
		})
	default:
		fake.sendFailure(c.ID, executor.ErrUnknownMethod, "%s", c.Method)
	}
}

// share returns the shared tab of info.TargetID. If the tab is not shared yet, share adds it and
// notifies the server. fake.mu must be held.
func (fake *fakeExtension) share(info wire.Tab) *fakeTab {
	for _, t := range fake.tabs {
		if t.TargetID == info.TargetID {
			if info.Own {
				t.Own = true
			}
			return t
		}
	}
	fake.lastTab++
	info.TabID, info.Index = fake.lastTab, fake.lastTab
	t := &fakeTab{Tab: info}
	fake.tabs[t.TabID] = t
	fake.sendEvent(wire.EventTabShared, t.Tab)
	return t
}

// unshare stops sharing a tab and notifies the server. fake.mu must be held.
func (fake *fakeExtension) unshare(t *fakeTab, reason string) {
	delete(fake.tabs, t.TabID)
	fake.detach(t)
	fake.sendEvent(wire.EventTabUnshared, wire.TabUnshared{TabID: t.TabID, Reason: reason})
}

// release detaches the debugger from a tab and notifies the server. fake.mu must be held.
func (fake *fakeExtension) release(t *fakeTab, reason string) {
	if t.session == "" {
		return
	}
	fake.detach(t)
	fake.sendEvent(wire.EventDetached, wire.Detached{TabID: t.TabID, Reason: reason})
}

// detach detaches the debugger from a tab, if it is attached. fake.mu must be held.
func (fake *fakeExtension) detach(t *fakeTab) {
	if t.session != "" {
		fake.send("", "Target.detachFromTarget", map[string]any{"sessionId": t.session}, nil)
	}
	t.session = ""
	for id, x := range fake.sessions {
		if x == t {
			delete(fake.sessions, id)
		}
	}
}

// attach attaches the debugger to a tab, and then calls done with the error. fake.mu must be held,
// and is held while done runs.
func (fake *fakeExtension) attach(t *fakeTab, done func(error)) {
	if t.session != "" {
		done(nil)
		return
	}
	t.onAttached = append(t.onAttached, done)
	if len(t.onAttached) > 1 {
		return
	}
	fake.send("", "Target.attachToTarget", map[string]any{"targetId": t.TargetID, "flatten": true}, func(m *cdproto.Message) {
		var res struct {
			ID target.SessionID `json:"sessionId"`
		}
		var err error
		if m.Error != nil {
			err = m.Error
		} else if json.Unmarshal(m.Result, &res) == nil {
			t.session = res.ID
			fake.sessions[res.ID] = t
		}
		callbacks := t.onAttached
		t.onAttached = nil
		for _, f := range callbacks {
			f(err)
		}
	})
}

// handleEvent handles an event of the browser as the extension does: it forwards the events of
// attached tabs to the server. fake.mu must be held.
func (fake *fakeExtension) handleEvent(m *cdproto.Message) {
	var p struct {
		SessionID target.SessionID `json:"sessionId"`
		TargetID  string           `json:"targetId"`
		Info      *target.Info     `json:"targetInfo"`
	}
	if err := jsonv2.Unmarshal(m.Params, &p, jsonv2.JoinOptions(jsonv2.DefaultOptionsV2(), jsonv2.AllowInvalidUTF8(true))); err != nil && m.SessionID == "" {
		return
	}
	if m.SessionID == "" {
		fake.handleBrowserEvent(string(m.Method), p.TargetID, p.SessionID, p.Info)
		return
	}
	t := fake.sessions[m.SessionID]
	if t == nil {
		return
	}
	switch m.Method {
	case "Target.attachedToTarget":
		fake.sessions[p.SessionID] = t
	case "Target.detachedFromTarget":
		defer delete(fake.sessions, p.SessionID)
	}
	e := wire.CDPEvent{TabID: t.TabID, Method: string(m.Method), Params: json.RawMessage(m.Params)}
	if m.SessionID != t.session {
		e.SessionID = string(m.SessionID)
	}
	fake.sendEvent(wire.EventCDP, e)
}

// handleBrowserEvent updates the shared tabs after a target was created, changed or destroyed.
// fake.mu must be held.
func (fake *fakeExtension) handleBrowserEvent(method, id string, session target.SessionID, info *target.Info) {
	switch method {
	case "Target.targetCreated":
		for _, t := range fake.tabs {
			if info.OpenerID != "" && t.TargetID == string(info.OpenerID) {
				fake.share(wire.Tab{TargetID: string(info.TargetID), URL: orBlank(info.URL), Own: t.Own, OpenerTabID: t.TabID})
				return
			}
		}
		if fake.shareUserTabs && strings.HasPrefix(info.URL, "http") {
			fake.share(wire.Tab{TargetID: string(info.TargetID), URL: info.URL, Title: info.Title})
		}
	case "Target.targetInfoChanged":
		for _, t := range fake.tabs {
			if t.TargetID == string(info.TargetID) {
				t.URL, t.Title = orBlank(info.URL), info.Title
				fake.sendEvent(wire.EventTabUpdated, t.Tab)
			}
		}
	case "Target.targetDestroyed":
		for _, t := range fake.tabs {
			if t.TargetID == id {
				callbacks := t.onClosed
				t.session = ""
				fake.unshare(t, "closed")
				for _, f := range callbacks {
					f()
				}
			}
		}
	}
}

func orBlank(url string) string {
	if url == "" {
		return "about:blank"
	}
	return url
}

// send sends a message to the server.
func send(p *bridge.Peer, m wire.Message) error {
	data, err := wire.Encode(m)
	if err != nil {
		return err
	}
	return p.Send(data)
}

// receive returns the next message of the server.
func receive(ctx context.Context, p *bridge.Peer) (wire.Message, error) {
	data, err := p.Receive(ctx)
	if err != nil {
		return nil, err
	}
	return wire.Decode(data)
}
