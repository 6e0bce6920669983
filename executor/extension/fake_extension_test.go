package extension

import (
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
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A double plays the extension where a test has to say when what happens: it
// answers the bridge's commands by driving a real Chromium over its debugging
// pipe, as the extension does with chrome.debugger and chrome.tabs, lets tabs go
// for any reason and answers for the user. It keeps the order of
// what the browser tells, and waits for no answer before it passes the next
// command on.
type double struct {
	t  testing.TB
	tr *chromedp.PipeConn
	wg sync.WaitGroup

	mu        sync.Mutex // guards what follows, and the order of what is written either way
	peer      *bridge.Peer
	lastID    int64
	replies   map[int64]func(*cdproto.Message)
	lastTab   int
	tabs      map[int]*doubleTab
	sessions  map[target.SessionID]*doubleTab // of tabs, frames and workers
	shareUser bool                            // tabs that nobody of ours opened are shared
	consent   func(origin string) (granted, answered bool)
	answer    string // to a question other than for scripts
	commands  int    // that were passed on
	ending    bool   // the connection is being closed
}

type doubleTab struct {
	wire.Tab
	session  target.SessionID // empty while not attached
	closing  []func()
	attached []func(error)
}

// startDouble starts a Chromium, and the double over it, connected to server.
func startDouble(t testing.TB, server *bridge.Server) *double {
	t.Helper()
	path := userbrowser.Find(t)
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
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=1280,863", "--user-data-dir="+filepath.Join(dir, "profile"), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{fromUs, fromBrowser}
	cmd.Env = append(os.Environ(), "HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromUs.Close()
	fromBrowser.Close()
	d := &double{
		t: t, tr: chromedp.NewPipeConn(toUs, toBrowser),
		replies: make(map[int64]func(*cdproto.Message)), tabs: make(map[int]*doubleTab), lastTab: 100,
		sessions: make(map[target.SessionID]*doubleTab),
		consent:  func(string) (bool, bool) { return true, true },
	}
	_, d.peer = server.Pipe("double")
	d.wg.Go(d.read)
	d.serve(d.peer)
	t.Cleanup(func() {
		d.mu.Lock()
		d.ending = true
		d.send("", "Browser.close", nil, nil)
		d.peer.Close()
		d.mu.Unlock()
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
		d.tr.Close()
		d.wg.Wait()
	})
	d.mu.Lock()
	d.send("", "Target.setDiscoverTargets", map[string]any{"discover": true, "filter": []map[string]any{{"type": "page"}}}, nil)
	d.mu.Unlock()
	return d
}

// connect makes another connection to the server, as a worker does that was
// started again. The debugger stays where it is.
func (d *double) connect(server *bridge.Server) {
	d.mu.Lock()
	d.ending = false
	_, d.peer = server.Pipe("double")
	p := d.peer
	d.mu.Unlock()
	d.serve(p)
}

// disconnect ends the connection to the server.
func (d *double) disconnect() {
	d.mu.Lock()
	p := d.peer
	d.ending = true
	d.mu.Unlock()
	p.Close()
}

// serve takes the commands of the server.
func (d *double) serve(p *bridge.Peer) {
	t := d.t
	d.wg.Go(func() {
		for {
			f, err := receive(context.Background(), p)
			if err != nil {
				d.mu.Lock()
				if !d.ending && d.peer == p { // not what was closed for another one
					t.Errorf("the server sent what the extension does not take: %v", err)
				}
				d.mu.Unlock()
				return
			}
			switch f := f.(type) {
			case *wire.Command:
				d.mu.Lock()
				d.command(f)
				d.mu.Unlock()
			case *wire.Ping:
				send(p, &wire.Pong{TS: f.TS})
			}
		}
	})
}

// send passes a command to the browser. d.mu must be held.
func (d *double) send(session target.SessionID, method string, params any, reply func(*cdproto.Message)) {
	d.lastID++
	if reply != nil {
		d.replies[d.lastID] = reply
	}
	msg := &cdproto.Message{ID: d.lastID, SessionID: session, Method: cdproto.MethodType(method)}
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
	d.tr.Write(context.Background(), msg)
}

// read takes what the browser says.
func (d *double) read() {
	for {
		msg := new(cdproto.Message)
		if d.tr.Read(context.Background(), msg) != nil {
			return
		}
		d.mu.Lock()
		if msg.ID != 0 {
			reply := d.replies[msg.ID]
			delete(d.replies, msg.ID)
			if reply != nil {
				reply(msg)
			}
		} else {
			d.event(msg)
		}
		d.mu.Unlock()
	}
}

// tell sends an event to the server. d.mu must be held.
func (d *double) tell(event string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	send(d.peer, &wire.Event{Event: event, Data: raw})
}

func (d *double) result(id string, data any) {
	raw, ok := data.(json.RawMessage)
	if !ok {
		raw, _ = json.Marshal(data)
	}
	send(d.peer, &wire.Result{ID: id, Data: raw})
}

func (d *double) fail(id string, code executor.Code, format string, args ...any) {
	send(d.peer, &wire.Failure{ID: id, Error: wire.Problem{Code: code, Message: fmt.Sprintf(format, args...)}})
}

// refused are commands that chrome.debugger does not have.
var refused = []string{"Runtime.terminateExecution", "Target.getTargets", "Target.setDiscoverTargets", "Page.setDownloadBehavior"}

// command does what the server asks for. d.mu must be held.
func (d *double) command(c *wire.Command) {
	var ref wire.TabRef
	json.Unmarshal(c.Params, &ref)
	t := d.tabs[ref.TabID]
	switch c.Method {
	case wire.MethodTabClose, wire.MethodTabAttach, wire.MethodTabRelease, wire.MethodCDP:
		if t == nil {
			d.fail(c.ID, executor.ErrTabNotFound, "tab %d is not shared", ref.TabID)
			return
		}
	}
	switch c.Method {
	case wire.MethodPing:
		d.result(c.ID, wire.Empty{})
	case wire.MethodTabsList:
		list := wire.TabsList{Tabs: []wire.Tab{}}
		for _, t := range d.tabs {
			list.Tabs = append(list.Tabs, t.Tab)
		}
		slices.SortFunc(list.Tabs, func(a, b wire.Tab) int { return a.TabID - b.TabID })
		d.result(c.ID, list)
	case wire.MethodTabNew:
		d.send("", "Target.createTarget", map[string]any{"url": "about:blank", "background": true}, func(m *cdproto.Message) {
			var made struct {
				ID string `json:"targetId"`
			}
			if m.Error != nil || json.Unmarshal(m.Result, &made) != nil {
				d.fail(c.ID, executor.ErrInternal, "no tab was made")
				return
			}
			t := d.share(wire.Tab{TargetID: made.ID, URL: "about:blank", Own: true})
			d.attach(t, func(err error) {
				if err != nil {
					d.fail(c.ID, executor.ErrInternal, "%v", err)
					return
				}
				d.result(c.ID, t.Tab)
			})
		})
	case wire.MethodTabClose:
		if !t.Own {
			d.result(c.ID, wire.TabClosed{Released: true})
			d.unshare(t, "user")
			return
		}
		t.closing = append(t.closing, func() { d.result(c.ID, wire.TabClosed{Closed: true}) })
		d.send("", "Target.closeTarget", map[string]any{"targetId": t.TargetID}, nil)
	case wire.MethodTabAttach:
		d.attach(t, func(err error) {
			if err != nil {
				d.fail(c.ID, executor.ErrTargetGone, "%v", err)
				return
			}
			d.result(c.ID, t.Tab)
		})
	case wire.MethodTabRelease:
		d.release(t, "idle")
		d.result(c.ID, wire.Empty{})
	case wire.MethodConsent:
		var q wire.PromptParams
		json.Unmarshal(c.Params, &q)
		granted, answered := d.consent(q.Origin)
		if !answered {
			d.fail(c.ID, executor.ErrConsentRequired, "the user has not answered")
			return
		}
		d.result(c.ID, wire.PromptResult{Granted: granted, Answer: d.answer})
	case wire.MethodCDP:
		var cmd wire.CDPCommand
		json.Unmarshal(c.Params, &cmd)
		session := t.session
		if cmd.SessionID != "" {
			session = target.SessionID(cmd.SessionID)
		}
		if t.session == "" || d.sessions[session] != t {
			d.fail(c.ID, executor.ErrDetached, "debugger is not attached to tab %d", t.TabID)
			return
		}
		if slices.Contains(refused, cmd.Method) {
			d.fail(c.ID, executor.ErrCDP, "Not allowed")
			return
		}
		d.commands++
		var params any
		if len(cmd.Params) > 0 {
			params = cmd.Params
		}
		d.send(session, cmd.Method, params, func(m *cdproto.Message) {
			if m.Error != nil {
				data, _ := json.Marshal(m.Error)
				send(d.peer, &wire.Failure{ID: c.ID, Error: wire.Problem{Code: executor.ErrCDP, Message: m.Error.Message, Data: data}})
				return
			}
			d.result(c.ID, json.RawMessage(m.Result))
		})
	default:
		d.fail(c.ID, executor.ErrUnknownMethod, "%s", c.Method)
	}
}

// share makes a tab of a target, unless it is one, and tells of it. d.mu must
// be held.
func (d *double) share(info wire.Tab) *doubleTab {
	for _, t := range d.tabs {
		if t.TargetID == info.TargetID {
			if info.Own {
				t.Own = true
			}
			return t
		}
	}
	d.lastTab++
	info.TabID, info.Index = d.lastTab, d.lastTab
	t := &doubleTab{Tab: info}
	d.tabs[t.TabID] = t
	d.tell(wire.EventTabShared, t.Tab)
	return t
}

// unshare lets a tab go. d.mu must be held.
func (d *double) unshare(t *doubleTab, reason string) {
	delete(d.tabs, t.TabID)
	d.drop(t)
	d.tell(wire.EventTabUnshared, wire.TabUnshared{TabID: t.TabID, Reason: reason})
}

// release takes the debugger away from a tab. d.mu must be held.
func (d *double) release(t *doubleTab, reason string) {
	if t.session == "" {
		return
	}
	d.drop(t)
	d.tell(wire.EventDetached, wire.Detached{TabID: t.TabID, Reason: reason})
}

func (d *double) drop(t *doubleTab) {
	if t.session != "" {
		d.send("", "Target.detachFromTarget", map[string]any{"sessionId": t.session}, nil)
	}
	t.session = ""
	for id, x := range d.sessions {
		if x == t {
			delete(d.sessions, id)
		}
	}
}

// attach attaches the debugger to a tab. d.mu must be held.
func (d *double) attach(t *doubleTab, done func(error)) {
	if t.session != "" {
		done(nil)
		return
	}
	t.attached = append(t.attached, done)
	if len(t.attached) > 1 {
		return
	}
	d.send("", "Target.attachToTarget", map[string]any{"targetId": t.TargetID, "flatten": true}, func(m *cdproto.Message) {
		var res struct {
			ID target.SessionID `json:"sessionId"`
		}
		var err error
		if m.Error != nil {
			err = m.Error
		} else if json.Unmarshal(m.Result, &res) == nil {
			t.session = res.ID
			d.sessions[res.ID] = t
		}
		waiting := t.attached
		t.attached = nil
		for _, f := range waiting {
			f(err)
		}
	})
}

// event does what the extension does with what the browser tells. d.mu must
// be held.
func (d *double) event(m *cdproto.Message) {
	var p struct {
		SessionID target.SessionID `json:"sessionId"`
		TargetID  string           `json:"targetId"`
		Info      *target.Info     `json:"targetInfo"`
	}
	if err := jsonv2.Unmarshal(m.Params, &p, jsonv2.JoinOptions(jsonv2.DefaultOptionsV2(), jsonv2.AllowInvalidUTF8(true))); err != nil && m.SessionID == "" {
		return
	}
	if m.SessionID == "" {
		d.browserEvent(string(m.Method), p.TargetID, p.SessionID, p.Info)
		return
	}
	t := d.sessions[m.SessionID]
	if t == nil {
		return
	}
	switch m.Method {
	case "Target.attachedToTarget":
		d.sessions[p.SessionID] = t
	case "Target.detachedFromTarget":
		defer delete(d.sessions, p.SessionID)
	}
	e := wire.CDPEvent{TabID: t.TabID, Method: string(m.Method), Params: json.RawMessage(m.Params)}
	if m.SessionID != t.session {
		e.SessionID = string(m.SessionID)
	}
	d.tell(wire.EventCDP, e)
}

func (d *double) browserEvent(method, id string, session target.SessionID, info *target.Info) {
	switch method {
	case "Target.targetCreated":
		for _, t := range d.tabs {
			if info.OpenerID != "" && t.TargetID == string(info.OpenerID) {
				d.share(wire.Tab{TargetID: string(info.TargetID), URL: orBlank(info.URL), Own: t.Own, OpenerTabID: t.TabID})
				return
			}
		}
		if d.shareUser && strings.HasPrefix(info.URL, "http") {
			d.share(wire.Tab{TargetID: string(info.TargetID), URL: info.URL, Title: info.Title})
		}
	case "Target.targetInfoChanged":
		for _, t := range d.tabs {
			if t.TargetID == string(info.TargetID) {
				t.URL, t.Title = orBlank(info.URL), info.Title
				d.tell(wire.EventTabUpdated, t.Tab)
			}
		}
	case "Target.targetDestroyed":
		for _, t := range d.tabs {
			if t.TargetID == id {
				closing := t.closing
				t.session = ""
				d.unshare(t, "closed")
				for _, f := range closing {
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

// send sends a message from the extension.
func send(p *bridge.Peer, m wire.Message) error {
	data, err := wire.Encode(m)
	if err != nil {
		return err
	}
	return p.Send(data)
}

// receive returns the next message to the extension.
func receive(ctx context.Context, p *bridge.Peer) (wire.Message, error) {
	data, err := p.Receive(ctx)
	if err != nil {
		return nil, err
	}
	return wire.Decode(data)
}
