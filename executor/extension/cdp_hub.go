package extension

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A hub shares the debugger of each tab between tools and CDP clients. Chrome has one CDP session
// for each tab, and one for each of its frames and workers; each client has its own ids for them.
type hub struct {
	backend *Backend

	mu      sync.Mutex // guards all state of clients; may be locked while installation.mu is held, but not the reverse
	clients []*cdpClient
	tabs    []*cdpTab // in the order in which they appeared
	lastID  int
	closed  bool
}

// connect returns the connection of a new client. chrome is the version of Chrome, and name may be
// empty, see executor.CDPOptions.
func (h *hub) connect(chrome, name string) (executor.CDPConn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, session.ErrClosed()
	}
	h.lastID++
	c := &cdpClient{
		hub: h, id: fmt.Sprintf("cdp-%d", h.lastID), name: name, shown: name != "", chrome: chrome,
		messages: notify.NewQueue[executor.CDPMessage](0), sessions: make(map[string]*cdpSession),
		undone: make(chan struct{}),
	}
	if !c.shown {
		c.name = fmt.Sprintf("CDP client %d", h.lastID)
	}
	c.root = &cdpSession{client: c, kind: cdpshare.BrowserTarget}
	c.sessions[""] = c.root
	h.clients = append(h.clients, c)
	if c.shown {
		h.announce()
	}
	return c, nil
}

// announce sends the list of clients to all extensions. h.mu must be held.
func (h *hub) announce() {
	h.backend.mu.Lock()
	installations := slices.Clone(h.backend.installations)
	h.backend.mu.Unlock()
	for _, in := range installations {
		if conn, _ := in.tr.connection(); conn != nil {
			h.announceTo(conn)
		}
	}
}

// announceTo sends the list of clients to an extension. h.mu must be held.
func (h *hub) announceTo(conn *bridge.Conn) {
	list := wire.CDPClients{Clients: []wire.CDPClient{}}
	for _, c := range h.clients {
		if c.shown {
			list.Clients = append(list.Clients, wire.CDPClient{ID: c.id, Name: c.name})
		}
	}
	failed := func(_ json.RawMessage, err error) {
		if err != nil {
			h.backend.log.Debug("showing the CDP clients failed", "error", err)
		}
	}
	if err := conn.Queue(context.Background(), wire.MethodCDPClients, list, failed); err != nil {
		failed(nil, err)
	}
}

// connected shows the clients to an extension that has connected. It is called with in.mu held.
func (h *hub) connected(conn *bridge.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.clients, func(c *cdpClient) bool { return c.shown }) {
		h.announceTo(conn)
	}
}

// stopClient ends the connection of a client, because the user wants it.
func (h *hub) stopClient(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range slices.Clone(h.clients) {
		if c.id == id {
			c.end(unsharedError("stopped"))
		}
	}
}

// tabOf returns a tab by Chrome's id, or nil. h.mu must be held.
func (h *hub) tabOf(in *installation, id int) *cdpTab {
	for _, t := range h.tabs {
		if t.in == in && t.id == id {
			return t
		}
	}
	return nil
}

// findTarget returns the tab with a target, and the kind of the target. h.mu must be held.
func (h *hub) findTarget(id string) (*cdpTab, string) {
	for _, t := range h.tabs {
		switch id {
		case t.info.TargetID:
			return t, cdpshare.PageTarget
		case tabTargetID(t.info.TargetID):
			return t, cdpshare.TabTarget
		}
	}
	return nil, ""
}

// findChild returns the frame or worker with an id, of those that the debugger is attached to, or
// nil. h.mu must be held.
func (h *hub) findChild(id string) *cdpTarget {
	for _, t := range h.tabs {
		for _, x := range t.targets {
			if x.id == id && x.id != "" {
				return x
			}
		}
	}
	return nil
}

// updateTab adds a tab, or updates it. It is called with in.mu held.
func (h *hub) updateTab(in *installation, x *tab) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tabOf(in, x.info.TabID); t != nil {
		before := t.info
		t.info = x.info
		if before.URL == t.info.URL && before.Title == t.info.Title {
			return
		}
		for _, c := range slices.Clone(h.clients) {
			for _, s := range c.root.tree() {
				s.report("Target.targetInfoChanged", t)
				if s.target == t.page {
					s.setup.navigated(before.URL)
				}
			}
		}
		return
	}
	t := &cdpTab{hub: h, in: in, tab: x, id: x.info.TabID, clientTabID: in.tabID(x), info: x.info}
	t.reset()
	h.tabs = append(h.tabs, t)
	for _, c := range slices.Clone(h.clients) {
		for _, s := range c.root.tree() {
			s.report("Target.targetCreated", t)
			if s.kind == cdpshare.BrowserTarget {
				s.autoAttach(t)
			}
		}
	}
}

// removeTab removes a tab. If the user stopped sharing it, the clients that drove it are
// disconnected. It is called with in.mu held.
func (h *hub) removeTab(in *installation, x *tab, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tabOf(in, x.info.TabID)
	if t == nil {
		return
	}
	h.tabs = slices.DeleteFunc(h.tabs, func(o *cdpTab) bool { return o == t })
	t.attachedForClients = false // nothing remains to be undone
	stopped := reason == "user" || reason == "debugger"
	for _, c := range slices.Clone(h.clients) {
		drove := slices.ContainsFunc(c.root.tree(), func(s *cdpSession) bool { return s.tab == t && s.drives })
		for _, s := range c.root.tree() {
			if s.tab == t && (s.parent.tab != t) {
				s.drop()
			}
		}
		for _, s := range c.root.tree() {
			for _, kind := range slices.Backward(s.discovers()) {
				s.event("Target.targetDestroyed", map[string]any{"targetId": c.infoOf(t, kind).TargetID})
			}
		}
		if stopped && drove {
			c.end(unsharedError(reason))
		}
	}
}

// debuggerDetached handles that the debugger was detached from a tab. To a client it is as if the
// page had been closed, and another one opened. It is called with in.mu held.
func (h *hub) debuggerDetached(in *installation, x *tab) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tabOf(in, x.info.TabID)
	if t == nil {
		return
	}
	var lost []*cdpSession
	for _, s := range t.page.sessions {
		if s.usesDebugger() {
			lost = append(lost, s)
		}
	}
	for _, target := range t.targets {
		for _, s := range target.sessions {
			if s.kind != cdpshare.PageTarget && s.parent.tab != t {
				lost = append(lost, s)
			}
		}
	}
	t.reset()
	for _, s := range lost {
		parent := s.parent
		s.drop()
		parent.autoAttach(t)
	}
}

// event passes an event of the browser to the clients. It reports whether tools receive it too. It
// is called with in.mu held.
func (h *hub) event(in *installation, e *wire.CDPEvent) (forTools bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tabOf(in, e.TabID)
	if t == nil {
		return true
	}
	target := t.targets[e.SessionID]
	if target == nil {
		return true
	}
	forTools = (t.attachedForTools || !t.attachedForClients) && e.Method != "Page.screencastFrame"
	hidden := target.log.Record(e)
	if strings.HasPrefix(e.Method, "Page.download") {
		h.download(t, e)
	}
	if !target.fetchEvent(e) {
		for _, s := range slices.Clone(target.sessions) {
			s.deliver(e, hidden)
		}
	}
	switch e.Method {
	case "Target.attachedToTarget":
		if child := target.addChild(e); child != nil && t.attachedForClients {
			forTools = forTools && child.kind == "iframe" && target.tool.auto
		}
	case "Target.detachedFromTarget":
		target.removeChild(e)
	}
	return forTools
}

// download reports a download to the browser sessions of clients that are attached to its tab. The
// file is in the user's download directory.
func (h *hub) download(t *cdpTab, e *wire.CDPEvent) {
	for _, c := range slices.Clone(h.clients) {
		if !slices.ContainsFunc(t.page.sessions, func(s *cdpSession) bool { return s.client == c }) {
			continue
		}
		for _, s := range c.root.tree() {
			if s.downloads {
				s.event("Browser."+strings.TrimPrefix(e.Method, "Page."), e.Params)
			}
		}
	}
}

// logFailure logs the error of a command that no client waits for, if err is not nil.
func (h *hub) logFailure(err error) {
	if err != nil {
		h.backend.log.Debug("a command for CDP clients failed", "error", err)
	}
}

// stop ends the connections of all clients. hub.mu must not be held.
func (h *hub) stop(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range slices.Clone(h.clients) {
		c.end(err)
	}
}

// close ends the connections of all clients, permanently.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop(session.ErrClosed())
}
