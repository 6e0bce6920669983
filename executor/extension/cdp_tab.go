package extension

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A cdpTab is a tab whose debugger tools and CDP clients share. hub.mu guards its fields.
type cdpTab struct {
	hub                *hub
	in                 *installation
	tab                *tab
	id                 int // of the chrome.tabs API
	clientTabID        executor.TabID
	info               wire.Tab
	attachedForTools   bool // the debugger is attached, or being attached, for tools
	attachedForClients bool // the debugger is attached, or being attached, for clients
	live               bool // the debugger is attached
	page               *cdpTarget
	targets            map[string]*cdpTarget // by the browser's session id
	emulation          cdpshare.Emulation[*cdpClient]
	screencast         *cdpSession // receives the frames of a screencast; nil if none does
	rendering          bool        // clients keep it rendering
	toolsRender        bool        // tools keep it rendering
}

// url returns the URL of the tab.
func (t *cdpTab) url() string { return cmp.Or(t.info.URL, "about:blank") }

// origin returns the origin of the tab, as the browser writes it in events.
func (t *cdpTab) origin() string {
	u, err := url.Parse(t.url())
	if err != nil || u.Host == "" {
		return "://"
	}
	return u.Scheme + "://" + u.Host
}

// reset forgets what is valid only while the debugger is attached. The page's sessions remain.
func (t *cdpTab) reset() {
	var sessions []*cdpSession
	if t.page != nil {
		sessions = t.page.sessions
	}
	*t = cdpTab{hub: t.hub, in: t.in, tab: t.tab, id: t.id, clientTabID: t.clientTabID, info: t.info}
	t.page = newTarget(t, "", cdpshare.PageTarget)
	t.page.sessions = sessions
	for _, s := range sessions {
		s.target = t.page
	}
	t.targets = map[string]*cdpTarget{"": t.page}
}

// queue sends a command to the extension of the tab. It calls done with the result, with hub.mu held.
// It returns an error, and does not call done, if the command cannot be sent. hub.mu must be held.
func (t *cdpTab) queue(ctx context.Context, method string, params any, done func(json.RawMessage, error)) error {
	conn, err := t.in.tr.connection()
	if conn == nil {
		return err
	}
	return conn.Queue(ctx, method, params, func(data json.RawMessage, err error) {
		t.hub.mu.Lock()
		defer t.hub.mu.Unlock()
		done(data, err)
	})
}

// attach attaches the debugger for s.
func (t *cdpTab) attach(s *cdpSession) {
	t.attachedForClients = true
	err := t.queue(context.Background(), wire.MethodTabAttach, wire.TabRef{TabID: t.id}, func(_ json.RawMessage, err error) {
		switch {
		case s.detached:
		case err != nil:
			s.setup.attachFailed(err)
			t.release(s.client)
		default:
			t.attached()
		}
	})
	if err != nil {
		s.setup.attachFailed(err)
		t.release(s.client)
	}
}

// attached lets all sessions of the page use the debugger, which is attached. A session that waited
// longer would miss events.
func (t *cdpTab) attached() {
	t.live = true
	for _, s := range slices.Clone(t.page.sessions) {
		if !s.ready && !s.setup.replaying {
			t.attachedForClients = true
			s.setup.replay()
		}
	}
}

// release detaches the debugger if neither tools nor clients need it, after c has left. It reports
// whether it did.
func (t *cdpTab) release(c *cdpClient) bool {
	if !t.attachedForClients {
		return false
	}
	for _, target := range t.targets {
		for _, s := range target.sessions {
			if s.usesDebugger() {
				return false
			}
		}
	}
	t.attachedForClients = false
	if t.attachedForTools {
		t.stopRendering()
		return false
	}
	t.reset()
	c.queueUndo(t, wire.MethodTabRelease, wire.TabRef{TabID: t.id})
	return true
}

// leave removes sessions of one client, and undoes what they changed.
func (t *cdpTab) leave(list []*cdpSession) {
	for _, s := range list {
		s.detached = true
		if s.target != nil {
			s.target.sessions = slices.DeleteFunc(s.target.sessions, func(x *cdpSession) bool { return x == s })
		}
	}
	c := list[0].client
	if !t.attachedForClients || t.release(c) {
		return
	}
	for _, s := range list {
		if s.target != nil && (s.ready || s.setup.replaying) {
			s.undo()
		}
	}
	if !slices.ContainsFunc(c.root.tree(), func(s *cdpSession) bool { return s.tab == t && !s.detached }) {
		for _, command := range t.emulation.End(c) {
			c.undo(t.page, command.Method, command.Params)
		}
	}
}

// keepRendering makes the tab render, and its page believe that it has the focus, even if it is in
// the background. Tools do the same.
func (t *cdpTab) keepRendering() {
	if t.rendering || t.screencast != nil || !t.attachedForClients {
		return
	}
	t.page.sendUnanswered("", "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true})
	t.startRendering()
}

// startRendering starts a screencast that sends no frames.
func (t *cdpTab) startRendering() {
	screencast := t.page.command("", "Page.startScreencast", map[string]any{
		"format": "jpeg", "quality": 1, "maxWidth": 1, "maxHeight": 1, "everyNthFrame": 1 << 30,
	})
	t.rendering = t.queue(context.Background(), wire.MethodCDP, screencast, func(_ json.RawMessage, err error) {
		t.rendering = t.rendering && err == nil
	}) == nil
}

// stopRendering ends keepRendering, unless tools need it.
func (t *cdpTab) stopRendering() {
	if t.rendering && !t.toolsRender && t.screencast == nil {
		t.page.sendUnanswered("", "Page.stopScreencast", nil)
	}
	t.rendering = false
}

// screencastEnded lets the tab render for others after the screencast of a client.
func (t *cdpTab) screencastEnded() {
	t.screencast, t.rendering = nil, false
	if t.attachedForClients {
		t.startRendering()
	} else if t.toolsRender {
		t.startRendering()
		t.rendering = false // tools end it
	}
}
